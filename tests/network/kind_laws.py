"""What every kind of layer must satisfy. The reference is dumb: the layer run on all unit vectors is its matrix."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from network.layer_samples import LAYERS, Dense, Scale, prepared
from torch import Tensor, nn

from netpact.network import fold_batch_norm
from netpact.network.kinds import LayerKind, LayerSize
from netpact.network.rounding.constants import Constants
from netpact.network.rounding.tolerance import make_spread, rounding, value_of

Shape = tuple[int, ...]
# A run in float64 of what the laws compare, and a norm of a matrix of a few hundred entries.
TINY = 1e-11

CASES: dict[str, tuple[Shape, Any]] = {**LAYERS, "scale": ((3, 5), Scale()), "dense": ((3, 5), Dense(5, 4))}


def pair(name: str) -> tuple[Any, Any, Shape]:
    generator = torch.Generator().manual_seed(len(name))
    return prepared(name, generator, CASES), prepared(name, generator, CASES), CASES[name][0]


@torch.no_grad()
def dense(layer: Any, shape: Shape) -> tuple[Tensor, Tensor]:
    """M and b with layer(x) = M x + b, from runs of unit vectors."""
    b = layer(torch.zeros(1, *shape, dtype=torch.float64)).flatten()
    units = torch.eye(math.prod(shape), dtype=torch.float64).reshape(-1, *shape)
    return (layer(units).flatten(1) - b).T, b


def norm_of(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix, 2))


def root_of_places(size: LayerSize, b: Tensor) -> float:
    assert len(b) % size.biases == 0
    return math.sqrt(len(b) // size.biases)


def norm_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """norm encloses that of the matrix; its upper end is for every shape."""
    true = norm_of(dense(layer, shape)[0])
    lower, upper = kind.norm(layer, (1, *shape))
    assert lower is not None
    assert upper is not None
    assert lower * (1 - TINY) <= true <= upper * (1 + TINY)
    assert kind.norm(layer, None)[1] == upper


def size_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """gain, roughness, offset, terms and biases of a layer, whose matrix is known entry by entry."""
    size, (matrix, b) = kind.size(layer), dense(layer, shape)
    assert norm_of(matrix) <= size.gain * (1 + TINY)
    assert norm_of(matrix.abs()) <= size.roughness * kind.copies(layer, (1, *shape)) * (1 + TINY)
    assert float(b.norm()) <= size.offset * root_of_places(size, b) * (1 + TINY)
    assert int((matrix.abs() > TINY).sum(dim=1).max()) < size.terms


def distance_law(kind: LayerKind, layer: Any, other: Any, shape: Shape) -> None:
    """weights and shift enclose the difference of two; what is known of one bounds the other by way of them."""
    found, (one, b), (two, c) = kind.distance(layer, other), dense(layer, shape), dense(other, shape)
    size, reached = kind.size(layer), kind.size(other)
    assert norm_of(one - two) <= found.weights * (1 + TINY)
    assert float((b - c).norm()) <= found.shift * root_of_places(size, b) * (1 + TINY)
    assert norm_of(two.abs()) <= (size.roughness + size.spill * found.weights) * kind.copies(layer, (1, *shape))
    assert reached.offset <= (size.offset + found.shift) * (1 + TINY)
    assert reached.mean <= (size.mean + found.shift) * (1 + TINY)


@torch.no_grad()
def difference_law(kind: LayerKind, layer: Any, other: Any, shape: Shape) -> None:
    """The difference is a layer of the same kind that computes the difference of the outputs."""
    difference = kind.difference(layer, other)
    x = torch.randn(4, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert type(difference) is type(layer)
    torch.testing.assert_close(difference(x), layer(x) - other(x), rtol=1e-10, atol=1e-10)


def shift_law(kind: LayerKind, layer: Any, other: Any, shape: Shape) -> None:
    """Where a kind says that there is no shift, there is none."""
    assert kind.shifts(layer) or not bool(dense(layer, shape)[1].any())
    assert kind.shifts(layer) == kind.shifts(other)


@torch.no_grad()
def axes_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """Samples are never mixed."""
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert x.dim() in kind.types[type(layer)]
    assert torch.equal(layer(x)[1], layer(torch.stack([x[0] + 1, x[1]]))[1])


@torch.no_grad()
def rounding_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """A run in float32 is within gamma (roughness |x| + offset sqrt(places)), and within the rounding rules' spread."""
    size, generator = kind.size(layer), torch.Generator().manual_seed(3)
    single = copy.deepcopy(layer).float()
    for scale in (1e-3, 1.0, 1e3):
        x = scale * torch.randn(8, *shape, generator=generator)
        start = make_spread(x.double(), torch.zeros_like(x).double())
        with rounding("float32", collect=True) as r, Constants(layer):
            followed = layer(start)
        assert not r.unknown
        apart = (single(x).double() - layer(x.double())).abs()
        assert bool((apart <= followed.spread).all())
        torch.testing.assert_close(value_of(followed), layer(x.double()))
        reach = size.roughness * x.double().flatten(1).norm(dim=1) * kind.copies(layer, (1, *shape))
        offset = size.offset * root_of_places(size, apart[0].flatten())
        assert bool((apart.flatten(1).norm(dim=1) <= r.gamma(size.terms) * (reach + offset) + 1e-30).all())


@torch.no_grad()
def theory_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """The stated weight reproduces the layer; units, cover and fan-in are those of the matrix."""
    if kind.measured is None:
        return
    x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    weight, output = layer.weight.detach(), layer(x)
    sides = [1] * output.dim()
    sides[kind.measured.axis] = -1
    bias = torch.zeros(1) if getattr(layer, "bias", None) is None else layer.bias
    torch.testing.assert_close(kind.measured.run(layer, weight, x) + bias.view(sides), output)
    units = output.shape[kind.measured.axis]
    assert len(weight) == units
    matrix = dense(layer, shape)[0].reshape(*output.shape[1:], -1).movedim(sides.index(-1) - 1, 0)
    touched = (matrix.reshape(units, -1, math.prod(shape)).abs() > TINY).any(dim=0)
    assert int((matrix.reshape(-1, math.prod(shape)).abs() > TINY).sum(dim=1).max()) <= weight[0].numel()
    if kind.copies(layer, (1, *shape)) == 1:
        assert int(touched.sum(dim=0).max()) <= kind.measured.cover(layer)


@torch.no_grad()
def folding_law(kind: LayerKind, layer: Any, _: Any, shape: Shape) -> None:
    """A batch norm behind goes into the layer exactly where the kind says so; the logits stay."""
    output = layer(torch.zeros(1, *shape, dtype=torch.float64)).shape[1:]
    if len(output) > 3:
        return
    norm = (nn.BatchNorm2d if len(output) == 3 else nn.BatchNorm1d)(output[0])
    is_image = len(shape) == 2  # as samples are read: of one channel
    start = nn.Flatten(1, 2) if is_image else nn.Identity()
    module = nn.Sequential(start, copy.deepcopy(layer), norm, nn.Flatten(), nn.Linear(output.numel(), 3)).float().eval()
    norm.running_mean.normal_(generator=torch.Generator().manual_seed(5))  # type: ignore[union-attr]
    x = np.random.default_rng(0).random((6, *(1,) * is_image, *shape), dtype=np.float32)
    folded = fold_batch_norm(module, (x, np.arange(6) % 3))
    assert isinstance(folded, nn.Sequential)
    assert isinstance(folded[2], nn.Identity) == (kind.norm_axes == len(output))
    torch.testing.assert_close(folded(torch.from_numpy(x)), module(torch.from_numpy(x)), rtol=1e-4, atol=1e-4)


Law = Callable[[LayerKind, Any, Any, Shape], None]
LAWS: tuple[Law, ...] = (
    *(norm_law, size_law, distance_law, difference_law, shift_law),
    *(axes_law, rounding_law, theory_law, folding_law),
)
