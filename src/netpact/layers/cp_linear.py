"""A linear layer in CP form: inputs and outputs as matrices, the weight as a tensor of order 4."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.algebra.cp import sorted_components
from netpact.algebra.cp_als import unit_columns
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers.components import init_uniform, spread_weights
from netpact.layers.factored import Chain
from netpact.layers.shift import Shift

_OPTIONS = ALSOptions()
_SEED = Seed(0)
Sides = tuple[int, int]


class CPLinear(Chain):
    """Y = sum_r lambda_r (a_r' X b_r) c_r (x) d_r for inputs X of in_shape, outputs Y of out_shape (appendix E).

    It is run as four convolutions, so that each factor is the weight of an ordinary layer: in_rows has the rows a_r,
    in_columns b_r, out_columns d_r, out_rows the columns c_r. lambda_r is the product of their norms.
    """

    in_rows: nn.Conv2d
    in_columns: nn.Conv2d
    out_columns: nn.Conv2d
    out_rows: nn.Conv2d
    shift: Shift | nn.Identity

    def __init__(
        self,
        in_features: int,
        out_features: int,
        rank: int,
        *,
        in_shape: Sides | None = None,
        out_shape: Sides | None = None,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """in_shape, out_shape: two factors of the widths; default: those nearest to a square."""
        rows, columns = _sides(in_features, in_shape, where="in_shape")
        above, beside = _sides(out_features, out_shape, where="out_shape")
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(
            OrderedDict(
                in_rows=nn.Conv2d(rows, rank, 1, bias=False, **where),
                in_columns=nn.Conv2d(rank, rank, (1, columns), groups=rank, bias=False, **where),
                out_columns=nn.Conv2d(rank, rank * beside, 1, groups=rank, bias=False, **where),
                out_rows=nn.Conv2d(rank, above, 1, bias=False, **where),
                shift=Shift(out_features, **where) if bias else nn.Identity(),
            )
        )
        self.in_features, self.out_features = in_features, out_features
        self.in_shape, self.out_shape = (rows, columns), (above, beside)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """The composed weight gets the variance that torch gives to the dense one, 1 / (3 in)."""
        init_uniform(self.in_rows.weight, 1 / self.in_shape[0])
        init_uniform(self.in_columns.weight, 1 / self.in_shape[1])
        init_uniform(self.out_columns.weight, 1.0)
        init_uniform(self.out_rows.weight, 1 / (3 * self.rank))
        if isinstance(self.shift, Shift):
            bound = 1 / math.sqrt(self.in_features)
            self.shift.bias.uniform_(-bound, bound)

    @property
    def rank(self) -> int:
        return self.in_columns.out_channels

    def forward(self, inputs: Tensor) -> Tensor:
        """The last axis has the features; the axes between it and the samples' are kept, as nn.Linear does."""
        samples, between = len(inputs), inputs.shape[1:-1]
        places = math.prod(between)
        maps = inputs.reshape(samples, places, *self.in_shape).transpose(1, 2)
        numbers = self.out_columns(self.in_columns(self.in_rows(maps)))
        spread = numbers.reshape(samples, self.rank, self.out_shape[1], places).transpose(2, 3)
        outputs = self.out_rows(spread).transpose(1, 2)
        made: Tensor = self.shift(outputs.reshape(samples, *between, self.out_features))
        return made

    @classmethod
    def from_dense(
        cls,
        layer: nn.Linear,
        rank: int,
        *,
        in_shape: Sides | None = None,
        out_shape: Sides | None = None,
        options: ALSOptions = _OPTIONS,
        seed: Seed = _SEED,
    ) -> CPLinear:
        """The CP layer nearest to a linear layer that alternating least squares finds."""
        if type(layer) is not nn.Linear:
            raise PactError(f"needs an nn.Linear, got {layer}", where="layer")
        made = cls.like(layer, rank, in_shape=in_shape, out_shape=out_shape)
        tensor = layer.weight.detach().reshape(*made.out_shape, *made.in_shape)
        made.set_components(cp_decompose(tensor, rank, options=options, seed=seed))
        return made

    @classmethod
    def like(
        cls, layer: nn.Linear, rank: int, *, in_shape: Sides | None = None, out_shape: Sides | None = None
    ) -> CPLinear:
        """With the bias of a linear layer; the factors are not set."""
        made = cls(
            layer.in_features,
            layer.out_features,
            rank,
            in_shape=in_shape,
            out_shape=out_shape,
            bias=layer.bias is not None,
            device="meta",
            dtype=layer.weight.dtype,
        )
        made = made.to_empty(device=layer.weight.device).train(layer.training)
        if isinstance(made.shift, Shift):
            made.shift.bias.data.copy_(layer.bias.detach())
        return made

    @torch.no_grad()
    def set_components(self, found: CPDecomposition) -> None:
        """The factors of a tensor (out_shape, in_shape), each with an equal share of the weights."""
        above, beside, rows, columns = spread_weights(found, self.rank)
        self.in_rows.weight.copy_(rows.T.reshape(self.in_rows.weight.shape))
        self.in_columns.weight.copy_(columns.T.reshape(self.in_columns.weight.shape))
        self.out_columns.weight.copy_(beside.T.reshape(self.out_columns.weight.shape))
        self.out_rows.weight.copy_(above.reshape(self.out_rows.weight.shape))

    @torch.no_grad()
    def components(self) -> CPDecomposition:
        """Unit factors and the positive, descending spectrum of what the layer computes, in float64."""
        units, norms = zip(*(unit_columns(side) for side in self._sides()), strict=True)
        weights, factors = sorted_components(torch.stack(norms).prod(dim=0), units)
        return CPDecomposition(weights, factors, (*self.out_shape, *self.in_shape), 0.0)

    def spectrum(self) -> Tensor:
        """lambda, largest first; components of weight 0 are left out."""
        return self.components().weights

    def _sides(self) -> list[Tensor]:
        """Above, beside, rows, columns: each (side, R)."""
        parts = (self.out_rows.weight, self.out_columns.weight, self.in_rows.weight, self.in_columns.weight)
        above, *rest = (part.detach().double() for part in parts)
        return [above.flatten(1), *(part.reshape(self.rank, -1).T for part in rest)]

    @torch.no_grad()
    def dense(self) -> nn.Linear:
        biased = isinstance(self.shift, Shift)
        made = nn.Linear(self.in_features, self.out_features, bias=biased, device="meta", dtype=torch.float64)
        made = made.to_empty(device=self.in_rows.weight.device)
        made.weight.copy_(torch.einsum("ar,br,cr,dr->abcd", *self._sides()).reshape(made.weight.shape))
        if isinstance(self.shift, Shift):
            made.bias.copy_(self.shift.bias)
        return made.train(self.training)


def square_sides(width: int) -> Sides:
    """The two factors of a width that are nearest to each other, the smaller one first."""
    side = next(side for side in range(math.isqrt(width), 0, -1) if width % side == 0)
    return side, width // side


def _sides(width: int, given: Sides | None, *, where: str) -> Sides:
    if given is None:
        return square_sides(width)
    if len(given) != 2 or min(given) < 1 or math.prod(given) != width:
        raise PactError(f"must be two factors of {width}, got {given}", where=where)
    return given[0], given[1]
