"""Networks on 8 x 8 images for methods that factor layers: dense ones, and ones with CP layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.datasets import Data
from netpact.layers import to_cp
from netpact.network import Network, trace
from netpact.training import TrainOptions, train


def make_dense() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.Conv2d(8, 12, 3, stride=2),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48, 24, bias=False),
        nn.ReLU(),
        nn.Linear(24, 10),
    )


def make_cp() -> nn.Module:
    """The same with CP layers of as many numbers, drawn anew."""
    return to_cp(make_dense(), start="random")


def trained(module: nn.Module, data: Data, *, epochs: int = 6) -> Network:
    return trace(train(module, data.train, TrainOptions(epochs=epochs, learning_rate=0.01)).module, data)


class Tied(nn.Module):
    """One kernel in two layers, one that forward uses itself, and one layer that runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.a, self.b = nn.Conv2d(1, 9, 3), nn.Conv2d(9, 9, 3), nn.Conv2d(9, 9, 3)
        self.b.weight = self.a.weight
        self.stray, self.twice = nn.Conv2d(9, 9, 3, padding=1), nn.Conv2d(9, 9, 3, padding=1)
        self.flat, self.last = nn.Flatten(), nn.Linear(144, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.start(x))
        x = torch.relu(self.a(x) + self.b(x))
        x = self.stray(x) + functional.conv2d(x, self.stray.weight, padding=1)
        return self.last(self.flat(self.twice(torch.relu(self.twice(x)))))
