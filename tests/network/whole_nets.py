"""Small networks that become whole numbers: skips, pools, groups, strides, clamps, whatever stands between layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import netpact
from netpact.coding.format import Compressed
from netpact.datasets import ArraySamples

CLASSES = 4


class Drawn(nn.Module):
    """A network drawn from a seed: every second block has a skip, every third one is pooled, some are depthwise."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(seed)

        def pick(*choices: object) -> object:
            return choices[int(torch.randint(len(choices), (1,), generator=drawn))]

        width = int(pick(4, 6, 8))  # type: ignore[call-overload]
        mode: Any = pick("zeros", "reflect", "circular")
        self.stem = nn.Conv2d(2, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.ModuleList()
        self.skips = []
        for _ in range(int(pick(1, 2, 3))):  # type: ignore[call-overload]
            groups = int(pick(1, 2, width))  # type: ignore[call-overload]
            conv = nn.Conv2d(width, width, 3, padding=1, groups=groups, padding_mode=mode)
            act = pick(nn.ReLU(), nn.ReLU6(), nn.Hardtanh(-0.4, 0.7), nn.Identity(), nn.ReLU(inplace=True))
            assert isinstance(act, nn.Module)
            self.blocks.append(nn.Sequential(conv, nn.BatchNorm2d(width), act))
            self.skips.append(bool(pick(True, False)))
        pool = pick(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AvgPool2d(3, stride=2, padding=1), nn.Identity())
        self.pool = pool if isinstance(pool, nn.Module) else nn.Identity()
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.late = nn.BatchNorm2d(2 * width)  # nothing before it takes it in: both relu and the sum read the layer
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(2 * width, CLASSES)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(
                    torch.randn(parameter.shape, generator=drawn) * (2.0 / max(1, parameter[0].numel())) ** 0.5
                )
            for part in self.modules():
                if isinstance(part, nn.BatchNorm2d):
                    part.running_mean = torch.randn(part.num_features, generator=drawn) / 4
                    part.running_var = 0.5 + torch.rand(part.num_features, generator=drawn)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.stem(x)))
        for block, skip in zip(self.blocks, self.skips, strict=True):
            x = block(x) + x if skip else block(x)
        x = self.down(self.pool(x))
        x = torch.relu(self.late(x)) + torch.relu(x)
        x = torch.cat(x.chunk(2, dim=1)[::-1], dim=1)
        return self.head(self.average(x).flatten(1))


def samples(count: int = 12, *, seed: int = 0, size: int = 9) -> ArraySamples:
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randint(256, (count, 2, size, size), generator=drawn).float() / 255
    return ArraySamples(x.numpy(), torch.arange(count).remainder(CLASSES).numpy(), "drawn", CLASSES)


def whole(seed: int, *, bits: int = 8) -> tuple[Drawn, Compressed]:
    module, data = Drawn(seed), samples()
    return module, netpact.compress(netpact.trace(module, data), netpact.WholeNumber(bits=bits), samples=data)
