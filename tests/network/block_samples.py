"""Small modules with blocks of every kind, and some that only look like them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SIDE = 8


def conv(inputs: int, outputs: int, kernel: int = 1, *, groups: int = 1, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)


class Three(nn.Module):
    """1x1, 3x3, 1x1 with batch norm and ReLU; the input is added where it has as many channels."""

    def __init__(self, inputs: int, rank: int, outputs: int, *, groups: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.reduce, self.reduce_norm = conv(inputs, rank), nn.BatchNorm2d(rank)
        self.core, self.core_norm = conv(rank, rank, 3, groups=groups, stride=stride), nn.BatchNorm2d(rank)
        self.expand, self.expand_norm = conv(rank, outputs), nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else conv(inputs, outputs, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.reduce_norm(self.reduce(x)))
        y = torch.relu(self.core_norm(self.core(y)))
        return torch.relu(self.expand_norm(self.expand(y)) + self.shortcut(x))


class PreThree(nn.Module):
    """Batch norm and ReLU before each convolution."""

    def __init__(self, channels: int, rank: int) -> None:
        super().__init__()
        layers = [(channels, rank, 1), (rank, rank, 3), (rank, channels, 1)]
        self.layers = nn.ModuleList(conv(*sizes) for sizes in layers)
        self.norms = nn.ModuleList(nn.BatchNorm2d(inputs) for inputs, _, _ in layers)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for norm, layer in zip(self.norms, self.layers, strict=True):
            y = layer(torch.relu(norm(y)))
        return x + y


class Shuffled(nn.Module):
    """ShuffleNet v2: one half of the channels goes through the block, then all are shuffled."""

    def __init__(self, channels: int, rank: int) -> None:
        super().__init__()
        half = channels // 2
        self.body = nn.Sequential(
            conv(half, rank),
            nn.BatchNorm2d(rank),
            nn.ReLU(),
            conv(rank, rank, 3, groups=rank),
            nn.BatchNorm2d(rank),
            conv(rank, half),
            nn.BatchNorm2d(half),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, dim=1)
        y = torch.cat([kept, self.body(changed)], dim=1)
        samples, channels, rows, columns = y.shape
        return y.view(samples, 2, channels // 2, rows, columns).transpose(1, 2).reshape(y.shape)


class Fire(nn.Module):
    """SqueezeNet: the narrow layer has two readers, so no one kernel stands behind it."""

    def __init__(self, inputs: int, rank: int, outputs: int) -> None:
        super().__init__()
        self.squeeze, self.left, self.right = conv(inputs, rank), conv(rank, outputs), conv(rank, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.left(y), self.right(y)], dim=1))


class Turned(Fire):
    """The same with the wide kernel first."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.right(y), self.left(y)], dim=1))


class Tapped(nn.Module):
    """The narrow layer is read by a convolution, and by a mean."""

    def __init__(self, inputs: int, rank: int) -> None:
        super().__init__()
        self.narrow, self.core = conv(inputs, rank), conv(rank, inputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.narrow(x))
        return torch.relu(self.core(y)) + y.mean(dim=1, keepdim=True)


class Twice(nn.Module):
    """One layer at two places."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.narrow, self.core = conv(channels, channels), conv(channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.narrow(torch.relu(self.core(torch.relu(self.narrow(x))))))


def classifier(*blocks: nn.Module, channels: int, first: int = 16) -> nn.Sequential:
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 4)]
    return nn.Sequential(conv(3, first, 3), nn.ReLU(), *blocks, *head).eval()


def images(count: int = 4, channels: int = 3) -> tuple[object, object]:
    drawn = torch.Generator().manual_seed(5)
    return torch.rand(count, channels, SIDE, SIDE, generator=drawn).numpy(), (torch.arange(count) % 4).numpy()
