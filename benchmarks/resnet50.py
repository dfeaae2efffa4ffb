"""ResNet-50 for images of 224 x 224 (He et al. 2016, strides at the 3 x 3 convolutions), as a module of one's own.

The weights are drawn: what a pass costs does not depend on them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

SHAPE, CLASSES = (3, 224, 224), 1000
_GROUPS = ((64, 3), (128, 4), (256, 6), (512, 3))  # channels within the blocks, and how many there are


class Block(nn.Module):
    def __init__(self, channels: int, inner: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_conv(channels, inner, 1),
            nn.ReLU(),
            *_conv(inner, inner, 3, stride),
            nn.ReLU(),
            *_conv(inner, 4 * inner, 1),
        )
        same = stride == 1 and channels == 4 * inner
        self.past = nn.Identity() if same else nn.Sequential(*_conv(channels, 4 * inner, 1, stride))
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.relu(self.body(x) + self.past(x))
        return made


def _conv(channels: int, made: int, size: int, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(channels, made, size, stride, size // 2, bias=False), nn.BatchNorm2d(made)


def resnet50() -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = [*_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for group, (inner, count) in enumerate(_GROUPS):
        for block in range(count):
            layers.append(Block(channels, inner, 2 if group and not block else 1))
            channels = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)).eval()
