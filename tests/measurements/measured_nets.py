"""Small networks of every supported kind, and samples for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from netpact.datasets import ArraySamples
from netpact.layers import DenseStep, Residual, ZeroPaddedShortcut


def image_samples(count: int = 6, *, channels: int = 2, side: int = 6, classes: int = 3) -> ArraySamples:
    random = np.random.default_rng(3)
    inputs = random.standard_normal((count, channels, side, side)).astype(np.float32)
    return ArraySamples(inputs, np.arange(count) % classes, "noise images", classes)


def vector_samples(rows: list[list[float]], *, classes: int) -> ArraySamples:
    inputs = np.array(rows, dtype=np.float32)
    return ArraySamples(inputs, np.arange(len(rows)) % classes, "vectors", classes)


class Branches(nn.Module):
    """Two convolutions side by side: there is no way from one to the other."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(2, 3, 1)
        self.head = nn.Linear(3 * 36, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.left(x) + self.right(x)).flatten(1))


def _chain() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, 3, padding=1, groups=2, bias=False),
        nn.LeakyReLU(0.1),
        nn.Flatten(),
        nn.Linear(54, 5),
        nn.Tanh(),
        nn.Linear(5, 3),
    )


def _pooled() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 5, 2),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(5, 3),
    )


def _normed() -> nn.Module:
    module = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(3),
        nn.BatchNorm2d(4),
        nn.Flatten(),
        nn.Linear(16, 3),
    )
    module.train()
    with torch.no_grad():
        module(torch.randn(64, 2, 6, 6) * 2 + 1)
    return module.eval()


def _residual() -> nn.Module:
    body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1),
        nn.ReLU(),
        Residual(body, ZeroPaddedShortcut(inputs=3, outputs=4, stride=2)),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(36, 3),
    )


def _dense() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1),
        DenseStep(nn.Sequential(nn.ReLU(), nn.Conv2d(3, 2, 3, padding=1))),
        nn.ReLU(),
        nn.AvgPool2d(6),
        nn.Flatten(),
        nn.Linear(5, 3),
    )


def _pooled_output() -> nn.Module:
    """The logits are averages over the last convolution's pixels: they are not its output."""
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 1), nn.AvgPool2d(4), nn.Flatten())


KINDS: dict[str, Callable[[], nn.Module]] = {
    "stride, groups, in place": _chain,
    "pooling": _pooled,
    "batch norm": _normed,
    "residual": _residual,
    "dense": _dense,
    "branches": Branches,
    "pooled output": _pooled_output,
}


def make(kind: str) -> nn.Module:
    torch.manual_seed(11)
    return KINDS[kind]()
