"""MobileNetV2 (Sandler et al. 2018) with the names of torchvision's published weights, and a new head for CIFAR-10.

A user's own module, as one would write it: netpact knows nothing about it. The head reads the 1,000 ImageNet logits,
not the 1,280 features before them: a class of CIFAR-10 is like a few classes of ImageNet, so few signs tell it.
"""

import torch
from torch import Tensor, nn

import netpact

# expansion, channels, blocks, stride: table 2 of the paper
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def cifar10() -> nn.Module:
    """Images of 32 x 32 in [0, 1], enlarged to 160 x 160 in ImageNet's units; ten logits."""
    return netpact.with_head(
        MobileNetV2(), features=1000, classes=10, size=160, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
    )


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [convolution(3, 32, stride=2)]
        width = 32
        for expansion, channels, blocks, stride in STAGES:
            for number in range(blocks):
                layers.append(Block(width, channels, stride=stride if number == 0 else 1, expansion=expansion))
                width = channels
        self.features = nn.Sequential(*layers, convolution(width, 1280, kernel=1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, images: Tensor) -> Tensor:
        # Channels last, and few images at a time, so that their maps stay in the processor's cache: twice as fast.
        parts = images.contiguous(memory_format=torch.channels_last).split(8)
        logits: Tensor = self.classifier(torch.cat([self.features(part).mean((2, 3)) for part in parts]))
        return logits


class Block(nn.Module):
    """Wider, through a filter for each channel, narrower again; added to its input where the shapes agree."""

    def __init__(self, channels: int, channels_out: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        wide = channels * expansion
        layers: list[nn.Module] = [] if expansion == 1 else [convolution(channels, wide, kernel=1)]
        layers.append(convolution(wide, wide, stride=stride, groups=wide))
        self.conv = nn.Sequential(*layers, nn.Conv2d(wide, channels_out, 1, bias=False), nn.BatchNorm2d(channels_out))
        self.adds = stride == 1 and channels == channels_out

    def forward(self, maps: Tensor) -> Tensor:
        found: Tensor = self.conv(maps)
        return maps + found if self.adds else found


def convolution(channels: int, channels_out: int, *, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Module:
    layer = nn.Conv2d(channels, channels_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(channels_out), nn.ReLU6())
