"""Networks for the rounding tests: every supported operation occurs in at least one of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.layers import ChannelAffine
from netpact.network import ToleranceRun
from netpact.network.rounding.counting import Logits


class Residual(nn.Module):
    """Skips, changes in place, concatenation, slices."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(8, 3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.first(x))
        y = self.norm(self.second(x))
        y += x
        y = functional.relu_(y)
        both = torch.cat([y, x + 0.3], dim=1).mean(dim=(2, 3))
        return self.head(both)


class Numbers(nn.Module):
    """Numbers of the program, differences, sums over axes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(20, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = (self.first(x) * 0.3 - 0.1).clamp(-0.7, 0.9)
        y = (1 - x.abs()) / 1.7 - x
        return self.second(-y + functional.leaky_relu(x, 1.3)) - y.sum(dim=1, keepdim=True) / 12


class Moves(nn.Module):
    """Entries that change places, are copied, or compared."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 4, 3, padding=1)
        self.second, self.head = nn.Conv2d(4, 8, 1), nn.Linear(24, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(functional.pixel_unshuffle(x, 2))
        x = functional.interpolate(functional.channel_shuffle(x, 2), scale_factor=2).flip(3)
        left, right = self.second(x).relu().roll(1, dims=2).chunk(2, dim=1)
        both = torch.stack([left, right.swapaxes(2, 3)], dim=2).movedim(2, 1).flatten(1, 2)
        lines = functional.max_pool1d(both.flatten(2), 3, 2).narrow(2, 0, 4).sum(dim=2)
        return self.head(torch.cat([both.amax(dim=(2, 3)), -both.amin(dim=(2, 3)), lines], dim=1))


def spread_norms(module: nn.Module) -> nn.Module:
    """Running statistics and affine parameters that are not 0 and 1."""
    for part in module.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            for tensor, low, high in ((part.running_mean, -2, 2), (part.running_var, 0.01, 3), (part.weight, -2, 2)):
                assert tensor is not None
                nn.init.uniform_(tensor, low, high)
            nn.init.uniform_(part.bias, -2, 2)
        if isinstance(part, ChannelAffine):
            nn.init.uniform_(part.weight, -2, 2)
            nn.init.uniform_(part.bias, -2, 2)
    return module.eval()


NETS: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "linear": ((30,), lambda: nn.Linear(30, 4)),
    "mlp": (
        (20,),
        lambda: nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 8), nn.Linear(8, 3)),
    ),
    "smooth": (
        (20,),
        lambda: nn.Sequential(
            nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 8), nn.Sigmoid(), nn.BatchNorm1d(8), nn.Linear(8, 3)
        ),
    ),
    "leaky": (
        (20,),
        lambda: nn.Sequential(nn.Linear(20, 16), nn.LeakyReLU(0.2, inplace=True), nn.ReLU6(), nn.Linear(16, 3)),
    ),
    "conv": (
        (2, 8, 8),
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.Conv2d(4, 4, 3, padding=1, groups=2, padding_mode="circular"),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
    ),
    "pools": (
        (2, 9, 9),
        lambda: nn.Sequential(
            nn.Conv2d(2, 6, 3, bias=False, padding=2, dilation=2, padding_mode="reflect"),
            nn.AvgPool2d(3, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Dropout2d(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(24, 3),
        ),
    ),
    "residual": ((2, 6, 6), Residual),
    "gates": (
        (20,),
        lambda: nn.Sequential(
            nn.Linear(20, 16), nn.GELU(), nn.Linear(16, 8), nn.SiLU(), nn.GELU(approximate="tanh"), nn.Linear(8, 3)
        ),
    ),
    "bends": (
        (20,),
        lambda: nn.Sequential(
            nn.Linear(20, 16),
            nn.ELU(1.5),
            nn.Softplus(2),
            nn.Linear(16, 8),
            nn.Hardswish(),
            nn.Hardsigmoid(),
            nn.Linear(8, 3),
        ),
    ),
    "affine": (
        (2, 8, 8),
        lambda: nn.Sequential(
            ChannelAffine(2),
            nn.Conv2d(2, 4, 3, padding=1),
            nn.MaxPool2d(3, stride=2),
            ChannelAffine(4),
            nn.ELU(),
            nn.AdaptiveMaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
    ),
    "numbers": ((20,), Numbers),
    "moves": ((2, 8, 8), Moves),
}


def make_net(name: str) -> nn.Module:
    return spread_norms(NETS[name][1]())


def make_inputs(name: str, *, scale: float, count: int = 16, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((count, *NETS[name][0]))
    return (drawn * scale).astype(np.float32)


def run_with_spread(module: nn.Module, inputs: np.ndarray, *, arithmetic: str = "float32") -> Logits:
    return ToleranceRun(module, arithmetic)(inputs)


def excess(measured: Tensor | np.ndarray, logits: Logits) -> float:
    """The largest ratio of measured difference to spread, over all entries; at most 1 if the bound is true."""
    difference = (torch.as_tensor(measured).double() - logits.values).abs()
    return float((difference / logits.spread).max())
