"""The components of a weight layer: its own where it is in CP form, else a decomposition of its weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from netpact.algebra import (
    ALSOptions,
    ConvolutionOptions,
    CPDecomposition,
    convolution_norm,
    cp_decompose,
    matrix_norm,
    polyadic_form,
)
from netpact.algebra.component_norms import component_gains
from netpact.algebra.cp_als import unit_columns
from netpact.algebra.cp_within import RankSearch, cp_within
from netpact.algebra.outward import length_up
from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers import Chain, CPLinear
from netpact.layers.components import CPChain
from netpact.layers.ranks import largest_rank, square_sides
from netpact.measurements.tensors.layer_tensor import LARGEST, ROOT, SUM

_UNIT = 2.0**-52
_RESOLUTION = 1 / 8  # of the rank that an error asks for
_ROUNDING = 1e-10  # a relative error that is rounding alone is not worth an operator norm
_ORTHONORMAL = 1e-6  # |G - I|_F of the Gram matrix G: what is left enters the gains
_NORM_UP_TO = 1 << 20  # weights of a layer whose residual's operator norm is computed; the Frobenius norm bounds others


@dataclass(frozen=True)
class TensorOptions:
    """How layers that are not in CP form are decomposed, and on how many samples the network is measured.

    With none of rank, share and error the form is exact: Proposition 4.1 of Li et al. 2020 for a convolution, the
    singular values for a linear layer. With one of them it is the best that alternating least squares finds, of a
    convolution as (out, in, kx*ky), of a linear layer as a tensor of order 4.

    rank     components, at most as many as the exact form has
    share    of the layer's weights, that the numbers of a CP layer may be
    error    relative, in the Frobenius norm: the smallest rank that reaches it, to within an eighth
    samples  at most so many, drawn; default: all
    """

    rank: int | None = None
    share: float | None = None
    error: float | None = None
    als: ALSOptions = field(default_factory=lambda: ALSOptions(sweeps=100, starts=1))
    samples: int | None = None
    seed: Seed = field(default_factory=lambda: Seed(0))

    def __post_init__(self) -> None:
        given = [name for name in ("rank", "share", "error") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PactError(f"give one of rank, share and error, got {' and '.join(given)}", where="options")
        if self.rank is not None:
            check_integer(self.rank, where="rank", least=1)
        if self.share is not None:
            check_number(self.share, where="share", above=0)
        if self.error is not None:
            check_number(self.error, where="error", above=0, below=1)
        if self.samples is not None:
            check_integer(self.samples, where="samples", least=1)
        check_instance(self.als, ALSOptions, where="als")
        check_instance(self.seed, Seed, where="seed")

    def __str__(self) -> str:
        for name in ("rank", "share", "error"):
            if getattr(self, name) is not None:
                return f"{name} {getattr(self, name):g}"
        return "exact"


class LayerForm(NamedTuple):
    """What is known of a layer from its weights alone, as LayerTensor has it; in_shape of a linear layer's matrices."""

    kind: str
    components: CPDecomposition
    gains: Tensor
    residual: float
    frobenius: float
    adding: str
    in_shape: tuple[int, int] | None


@torch.no_grad()
def decompose_layer(name: str, layer: nn.Module, options: TensorOptions) -> LayerForm:
    """One layer's weights are in float64 at a time."""
    own = layer.components() if isinstance(layer, CPChain) else None
    dense = layer.dense() if isinstance(layer, Chain) else layer
    if isinstance(dense, nn.Conv2d):
        return _of_convolution(name, dense, own, options)
    assert isinstance(dense, nn.Linear)
    # Of higher order a factor is a matrix from inputs to outputs: nothing is known but that its norm is at most 1.
    of_vectors = own is None or isinstance(layer, CPLinear)
    return _of_linear(name, dense, own, options, of_vectors=of_vectors)


def _of_convolution(name: str, layer: nn.Conv2d, own: CPDecomposition | None, options: TensorOptions) -> LayerForm:
    if layer.groups != 1:
        raise PactError(f"a convolution of {layer.groups} groups has no CP form here", where=f"layer {name}")
    weight = layer.weight.detach()
    moved = ConvolutionOptions(layer.stride, layer.padding, layer.dilation, 1, layer.padding_mode)
    found = own
    if found is None:
        exact = str(options) == "exact"
        found = _units(polyadic_form(weight) if exact else _fit(name, weight.flatten(2), options, shape=weight.shape))
    residual = 0.0 if own is not None else _bound_residual(weight, found, moved)
    # The kernels are the last factor, in CP forms of any order.
    gains = component_gains(found.factors[-1].T.reshape(found.rank, *layer.kernel_size), moved)
    return LayerForm("conv2d", found, gains, residual, length_up(weight.double()), SUM, None)


def _of_linear(
    name: str, layer: nn.Linear, own: CPDecomposition | None, options: TensorOptions, *, of_vectors: bool
) -> LayerForm:
    weight = layer.weight.detach()
    found = own
    if found is None and str(options) == "exact":
        found = _units(polyadic_form(weight))
    elif found is None:
        shape = (*square_sides(layer.out_features), *square_sides(layer.in_features))
        found = _units(_fit(name, weight.reshape(shape), options, shape=shape))
    residual = 0.0 if own is not None else _bound_residual(weight, found, None)
    adding, gain = _ways_of_adding(found) if of_vectors else (SUM, 1.0)
    in_shape = (found.shape[2], found.shape[3]) if of_vectors and len(found.factors) == 4 else None
    gains = torch.full_like(found.weights, gain)
    return LayerForm("linear", found, gains, residual, length_up(weight.double()), adding, in_shape)


def _fit(name: str, tensor: Tensor, options: TensorOptions, *, shape: tuple[int, ...]) -> CPDecomposition:
    """By alternating least squares, never of a higher rank than the tensor can have."""
    seed, sides = options.seed.child("tensors", name), tensor.shape
    most = math.prod(sides) // max(sides)

    def fit(rank: int) -> CPDecomposition:
        found = cp_decompose(tensor, rank, options=options.als, seed=seed)
        return replace(found, shape=tuple(shape))

    if options.rank is not None:
        return fit(min(options.rank, most))
    if options.share is not None:
        return fit(min(most, largest_rank(sides, options.share)))
    assert options.error is not None
    ranks = RankSearch(most=most, resolution=_RESOLUTION)
    found = cp_within(tensor, options.error, ranks, options=options.als, seed=seed)
    # Not reached: the error of the highest rank is in the record, and in the residual.
    return fit(most) if found is None else replace(found, shape=tuple(shape))


def _units(found: CPDecomposition) -> CPDecomposition:
    """In float64, the columns of norm 1 to its precision."""
    units, norms = zip(*(unit_columns(factor.double()) for factor in found.factors), strict=True)
    weights = found.weights.double() * torch.stack(norms).prod(dim=0)
    order = torch.argsort(weights, descending=True, stable=True)
    factors = tuple(factor[:, order] for factor in units)
    return CPDecomposition(weights[order], factors, found.shape, found.relative_error)


def _bound_residual(weight: Tensor, found: CPDecomposition, moved: ConvolutionOptions | None) -> float:
    """At least |W - sum of components|_op. Of a convolution, by the symbol or by

        sup_f |E(f)|_2 <= sum over the taps |E_tap|_F <= sqrt(taps) |E|_F

    What adding up R products in float64 can lose is at most gamma_R sum_r lambda_r in the Frobenius norm.
    """
    rest = weight.double() - found.to_dense().reshape(weight.shape)
    lost = (found.rank + 8) * _UNIT * float(found.weights.sum())
    if moved is None:
        small = rest.numel() <= _NORM_UP_TO and found.relative_error > _ROUNDING
        return (matrix_norm(rest).upper if small else length_up(rest)) + lost
    gain = math.prod(moved.gain_by(axis) for axis in moved.along_axes(tuple(weight.shape[2:])))
    taps = math.sqrt(rest[0, 0].numel()) * gain * (1 + 8 * _UNIT)
    size = taps * length_up(rest)
    if rest.numel() <= _NORM_UP_TO and found.relative_error > _ROUNDING:
        size = min(size, convolution_norm(rest, moved).upper)
    return size + taps * lost


def _ways_of_adding(found: CPDecomposition) -> tuple[str, float]:
    """How the norms of a linear layer's components add up, and the factor for what orthonormality is missing.

    With outputs u_r of Gram matrix G, and s_r the inputs' products with the components, |s_r| <= |X|_2,

        |sum_r lambda_r s_r u_r|^2 <= |G|_2 sum_r lambda_r^2 s_r^2,   |G|_2 <= 1 + |G - I|_F,
        sum_r s_r^2 <= |G_in|_2 |X|_F^2
    """
    half = len(found.factors) // 2
    outputs = _not_orthonormal(found.factors[:half])
    if outputs is None:
        return SUM, 1.0
    inputs = _not_orthonormal(found.factors[half:]) if half == 1 else None
    if inputs is None:
        return ROOT, math.sqrt(1 + outputs)
    return LARGEST, math.sqrt((1 + outputs) * (1 + inputs))


def _not_orthonormal(factors: tuple[Tensor, ...]) -> float | None:
    """|G - I|_F of the Khatri-Rao product's columns, from above; None where it is not small."""
    rank = factors[0].shape[1]
    if rank > math.prod(len(factor) for factor in factors):
        return None
    gram = torch.ones(rank, rank, dtype=torch.float64)
    for factor in factors:
        gram *= factor.T @ factor
    rounding = 4 * _UNIT * sum(len(factor) for factor in factors) * rank
    missing = length_up(gram - torch.eye(rank, dtype=torch.float64)) + rounding
    return missing if missing <= _ORTHONORMAL else None
