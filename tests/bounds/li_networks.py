"""Small random networks in CP form, and what Li et al. 2020 measure on them, once more: slowly, by the definitions."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from netpact.algebra import CPDecomposition
from netpact.datasets import ArraySamples
from netpact.layers import CPConv2d, CPLinear, Residual
from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound

CPLayer = CPConv2d | CPLinear
_FINE = 96  # frequencies along an axis: the largest one of so many is within 0.2 % of all
_SLOPES = {"MaxPool2d(2, 2)": 1.0, "MaxPool2d(3, 2)": 2.0, "AvgPool2d(2, 2)": 0.5}


@dataclass(frozen=True)
class Drawn:
    """A network, samples for it, and for each of its weight layers how many components a compressed one keeps."""

    network: nn.Sequential
    inputs: Tensor
    ranks: tuple[int, ...]

    @property
    def samples(self) -> ArraySamples:
        with torch.no_grad():
            classes = self.network(self.inputs[:1]).shape[1]
        return ArraySamples(self.inputs.numpy(), np.arange(len(self.inputs)) % classes, "noise", classes)

    def compressed(self, ranks: Sequence[int] | None = None) -> nn.Sequential:
        """CNN-Project and TNN-Project: the largest components of every layer, in float64."""
        other = copy.deepcopy(self.network).double()
        for layer, rank in zip(cp_layers(other), self.ranks if ranks is None else ranks, strict=True):
            layer.set_components(truncated(layer.components(), rank))
        return other

    def measured(self, ranks: Sequence[int] | None = None) -> float:
        """max |f - f^| / |f| over the samples, in float64."""
        with torch.no_grad():
            one, other = (module(self.inputs.double()) for module in self._both(ranks))
        return float(((one - other).flatten(1).norm(dim=1) / one.flatten(1).norm(dim=1)).max())

    def _both(self, ranks: Sequence[int] | None) -> tuple[nn.Module, nn.Module]:
        return copy.deepcopy(self.network).double(), self.compressed(ranks)


def truncated(found: CPDecomposition, rank: int) -> CPDecomposition:
    return CPDecomposition(found.weights[:rank], tuple(f[:, :rank] for f in found.factors), found.shape, 0.0)


def with_decay(drawn: Drawn, factor: float = 0.2) -> Drawn:
    """The r-th component times factor^r: a spectrum of which few components matter."""
    network = copy.deepcopy(drawn.network)
    for layer in cp_layers(network):
        found = layer.components()
        weights = found.weights * factor ** torch.arange(found.rank, dtype=torch.float64)
        layer.set_components(CPDecomposition(weights, found.factors, found.shape, 0.0))
    return replace(drawn, network=network)


def cp_layers(network: nn.Module) -> list[CPLayer]:
    return [part for part in network.modules() if isinstance(part, (CPConv2d, CPLinear))]


def draw_cnn(seed: int, *, plain: bool = False) -> Drawn:
    """Three convolutions and a linear layer, with stride, pooling and biases; plain: convolutions alone."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    pool = [nn.MaxPool2d(2, 2), nn.MaxPool2d(3, 2), nn.AvgPool2d(2, 2), nn.Identity()][random.integers(4)]
    widths = [int(width) for width in random.integers(3, 7, 3)]
    convs = [
        CPConv2d(2, widths[0], 3, int(random.integers(4, 9)), padding=1, bias=not plain),
        CPConv2d(widths[0], widths[1], 3, 8, padding=1, stride=1 if plain else 2, bias=not plain),
        CPConv2d(widths[1], widths[2], 3, 6, padding=1, bias=not plain),
    ]
    if plain:
        network = nn.Sequential(convs[0], nn.ReLU(), convs[1], nn.ReLU(), convs[2], nn.Flatten())
    else:
        body = nn.Sequential(convs[0], nn.ReLU(), pool, convs[1], nn.ReLU(), convs[2], nn.ReLU(), nn.Flatten())
        features = body(torch.zeros(1, 2, 8, 8)).numel()
        network = nn.Sequential(*body, CPLinear(features, 4, 12))
    return _finish(network, torch.rand(12, 2, 8, 8) + 0.1, random)


def draw_fc(seed: int, *, scale: float = 1.0, bias: bool = True) -> Drawn:
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    layers = [CPLinear(16, 36, 10, bias=bias), CPLinear(36, 16, 12, bias=bias), CPLinear(16, 4, 6, bias=bias)]
    with torch.no_grad():
        for layer in layers:
            layer.in_rows.weight.mul_(scale)
    network = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
    return _finish(network, torch.rand(12, 16) + 0.1, random)


def draw_residual(seed: int) -> Drawn:
    """An identity around every layer, as in section F."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    parts: list[nn.Module] = []
    for _ in range(3):
        parts += [Residual(CPConv2d(4, 4, 3, 7, padding=1), nn.Sequential()), nn.ReLU()]
    return _finish(nn.Sequential(*parts[:-1], nn.Flatten()), torch.rand(12, 4, 6, 6) + 0.1, random)


def _finish(network: nn.Sequential, inputs: Tensor, random: np.random.Generator) -> Drawn:
    sizes = [len(layer.components().weights) for layer in cp_layers(network)]
    return Drawn(network.eval(), inputs, tuple(int(random.integers(size // 2, size + 1)) for size in sizes))


def terms_by_definition(drawn: Drawn, *, printed: bool = False, ranks: Sequence[int] | None = None) -> LemmaBound:
    """t, xi, zeta and rho of every layer, each from its definition: fine grids of frequencies, loops over samples."""
    network, x = copy.deepcopy(drawn.network).double(), drawn.inputs.double()
    kept = list(drawn.ranks if ranks is None else ranks)
    connected = all(isinstance(layer, CPLinear) for layer in cp_layers(network))
    found: list[LayerTerm] = []
    waiting: tuple[CPLayer, bool, Tensor, float] | None = None
    with torch.no_grad():
        for part in network:
            layer, skip = (part.body, True) if isinstance(part, Residual) else (part, False)
            if isinstance(layer, (CPConv2d, CPLinear)):
                if waiting is not None:
                    found.append(_term(*waiting, x, kept[len(found)], printed, connected))
                waiting = (layer, skip, x, 1.0)
            elif isinstance(part, (nn.MaxPool2d, nn.AvgPool2d)):
                assert waiting is not None
                slope = _SLOPES[f"{type(part).__name__}({part.kernel_size}, {part.stride})"]
                waiting = (*waiting[:3], waiting[3] * slope)
            x = part(x)
    assert waiting is not None
    found.append(_term(*waiting, x, kept[-1], printed, connected))
    skips = any(isinstance(part, Residual) for part in network)
    return LemmaBound(name="E.8" if connected else "F.3" if skips else "D.4", printed=printed, layers=tuple(found))


def _term(
    layer: CPLayer, skip: bool, x: Tensor, slope: float, after: Tensor, rank: int, printed: bool, connected: bool
) -> LayerTerm:
    components = layer.components()
    dense = layer.dense()
    rho, gains, root = 1.0, torch.ones(components.rank, dtype=torch.float64), 1.0
    if isinstance(layer, CPLinear):
        rho = 1.0 if printed and not connected else max(_reshaping(row, layer.in_shape) for row in x if row.any())
    else:
        sides = x.shape[2:] if printed else (_FINE, _FINE)
        root = math.sqrt(x.shape[2] * x.shape[3]) if printed else 1.0
        squares = _symbol(components.kernels, *sides).abs().square()
        stride = 1 if printed else layer.depthwise.stride[0]
        # A stride adds up the frequencies that it cannot tell apart, and keeps one pixel in stride^2.
        split = squares.reshape(len(squares), stride, sides[0] // stride, stride, sides[1] // stride)
        gains = (split.mean(dim=(1, 3)).amax(dim=(1, 2))).sqrt() / root
    frobenius = float(dense.weight.detach().norm())
    zeta = min(float(b.norm() / (frobenius * a.norm())) for a, b in zip(x, after, strict=True) if a.any()) * root
    sizes = components.weights * gains
    between = 1.0 if printed else slope
    gain = between * float(sizes[:rank].sum()) + skip
    # As printed, E.8 divides xi by zeta |A|_F and t by zeta alone: gain |A|_F stands for that here.
    return LayerTerm(
        name="",
        rank=rank,
        components=components.rank,
        noise=between * rho * float(sizes[rank:].sum()),
        gain=gain * frobenius if printed and connected else gain,
        signal=zeta * frobenius,
    )


def _symbol(kernels: Tensor, height: int, width: int) -> Tensor:
    """sum over the taps of C e^(-i theta tap) at the frequencies of an image, which a kernel may exceed."""
    rows, columns = (
        torch.exp(-2j * math.pi * torch.outer(torch.arange(side), torch.arange(taps)).double() / side)
        for side, taps in zip((height, width), kernels.shape[1:], strict=True)
    )
    return torch.einsum("fx,gy,rxy->rfg", rows, columns, kernels.to(rows.dtype))


def _reshaping(row: Tensor, shape: tuple[int, ...]) -> float:
    return float(torch.linalg.matrix_norm(row.reshape(shape), 2) / row.norm())
