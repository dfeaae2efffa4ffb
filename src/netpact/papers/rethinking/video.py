"""Figure 4 (2): a 3D ResNet-18 with blocks of expansion ratio t added before the average pooling, for video.

The paper counts what is added: the four blocks and the linear layer behind them. Its numbers for t = 4, 8, 16 come out
if the first added block, whose input has 512 channels, has no shortcut; that for t = 1 does not.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial

import torch
from torch import Tensor, nn

from netpact.core.checks import check_integer
from netpact.layers import Bottleneck, Residual
from netpact.layers.blocks.making import make_chain
from netpact.layers.blocks.outline import ConvStep, outline_projection

ACTIONS = 101  # classes of UCF101
ADDED, RANK = 4, 256  # "insert 4 stacks of Block B with R = 256"
_BASE, _GROUPS, _BLOCKS = 64, 4, 2  # of ResNet-18


class BasicBlock(Residual):
    """Two 3x3x3 convolutions and a shortcut (He et al. 2016), then a ReLU."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        outline = (
            ConvStep("conv1", inputs, outputs, 3, stride),
            ConvStep("conv2", outputs, outputs, 3, relu=False),
        )
        past = outline_projection(inputs, outputs, stride=stride) if stride > 1 or inputs != outputs else ()
        super().__init__(make_chain(outline, dimensions=3), make_chain(past, dimensions=3))

    def forward(self, images: Tensor) -> Tensor:
        return torch.relu(super().forward(images))


def build_resnet3d_18(
    ratio: int = 4, *, classes: int = ACTIONS, rank: int = RANK, added: int = ADDED, base: int = _BASE
) -> nn.Sequential:
    """For clips (3, frames, height, width), of 3 x 16 x 112 x 112 in Hara et al. 2018. Weights as torch draws them.

    ratio  t of the added blocks; rank: their R; added: how many; base: channels of the first group
    """
    for name, size in (("ratio", ratio), ("classes", classes), ("rank", rank), ("added", added), ("base", base)):
        check_integer(size, where=name, least=1)
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        stem=nn.Conv3d(3, base, 7, stride=(1, 2, 2), padding=3, bias=False),
        stem_norm=nn.BatchNorm3d(base),
        stem_relu=nn.ReLU(),
        stem_pool=nn.MaxPool3d(3, stride=2, padding=1),
    )
    channels = base
    for group in range(_GROUPS):
        for block in range(_BLOCKS):
            outputs, stride = base << group, 2 if group and not block else 1
            layers[f"block{group + 1}_{block + 1}"] = BasicBlock(channels, outputs, stride=stride)
            channels = outputs
    for number in range(1, added + 1):
        shortcut = "none" if number == 1 else "identity"
        layers[f"added{number}"] = Bottleneck(channels, rank, ratio * rank, shortcut=shortcut, dimensions=3)
        channels = ratio * rank
    layers |= {"average": nn.AdaptiveAvgPool3d(1), "flatten": nn.Flatten(), "fc": nn.Linear(channels, classes)}
    return nn.Sequential(layers)


# By name, for `netpact design netpact.papers.rethinking.video:resnet3d_18_t4 --input 3x16x112x112 --classes 101`.
resnet3d_18_t1 = partial(build_resnet3d_18, 1)
resnet3d_18_t4 = partial(build_resnet3d_18, 4)
resnet3d_18_t8 = partial(build_resnet3d_18, 8)
resnet3d_18_t16 = partial(build_resnet3d_18, 16)
