"""Blocks that stand for a kernel in CP form ("Rethinking compressed CNNs" 2021, section 3: C1, C2)."""

from __future__ import annotations

from torch import Tensor, nn

from netpact.layers.blocks.making import Shortcut, check_sizes, make_chain
from netpact.layers.blocks.outline import outline_separable, outline_three


class DepthwiseSeparable(nn.Module):
    """3x3 depthwise, 1x1 to K, a ReLU behind each (Howard et al. 2017). R is the number of inputs."""

    def __init__(self, inputs: int, K: int, *, stride: int = 1, dimensions: int = 2) -> None:
        super().__init__()
        check_sizes(inputs=inputs, K=K, stride=stride)
        self.body = make_chain(outline_separable(inputs, K, stride=stride), dimensions=dimensions)

    def forward(self, images: Tensor) -> Tensor:
        made: Tensor = self.body(images)
        return made


class InvertedResidual(Shortcut):
    """1x1 to R channels, 3x3 depthwise, 1x1 to K with no activation (Sandler et al. 2018, MobileNetV2).

    The input is added where it has the shape of the output. Activations are ReLU6.
    """

    def __init__(self, inputs: int, R: int, K: int, *, stride: int = 1, dimensions: int = 2) -> None:
        check_sizes(inputs=inputs, R=R, K=K, stride=stride)
        body = make_chain(
            outline_three(inputs, R, K, stride=stride, groups=R), dimensions=dimensions, activation=nn.ReLU6
        )
        super().__init__(body, nn.Sequential() if stride == 1 and inputs == K else None, relu=False)
