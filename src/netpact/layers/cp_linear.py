"""A linear layer in CP form: inputs and outputs as matrices, the weight as a tensor of order 4."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from netpact.core.checks import check_flag, check_integer
from netpact.layers.components import init_uniform
from netpact.layers.linear_chain import CPLinearChain, check_factors
from netpact.layers.ranks import Sides, square_sides
from netpact.layers.shift import Shift


class CPLinear(CPLinearChain):
    """Y = sum_r lambda_r (a_r' X b_r) c_r (x) d_r for inputs X of in_shape, outputs Y of out_shape (appendix E).

    It is run as four convolutions, so that each factor is the weight of an ordinary layer: in_rows has the rows a_r,
    in_columns b_r, out_columns d_r, out_rows the columns c_r. lambda_r is the product of their norms.
    """

    in_rows: nn.Conv2d
    in_columns: nn.Conv2d
    out_columns: nn.Conv2d
    out_rows: nn.Conv2d

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
        check_integer(in_features, where="in_features", least=1)
        check_integer(out_features, where="out_features", least=1)
        check_integer(rank, where="rank", least=1)
        rows, columns = self._factors_of(in_features, in_shape, where="in_shape")
        above, beside = self._factors_of(out_features, out_shape, where="out_shape")
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(
            OrderedDict(
                in_rows=nn.Conv2d(rows, rank, 1, bias=False, **place),
                in_columns=nn.Conv2d(rank, rank, (1, columns), groups=rank, bias=False, **place),
                out_columns=nn.Conv2d(rank, rank * beside, 1, groups=rank, bias=False, **place),
                out_rows=nn.Conv2d(rank, above, 1, bias=False, **place),
                shift=Shift(out_features, **place) if check_flag(bias, where="bias") else nn.Identity(),
            )
        )
        self.in_shape, self.out_shape = (rows, columns), (above, beside)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The composed weight and the bias get the variance that torch gives to dense ones, 1 / (3 in)."""
        init_uniform(self.in_rows.weight, 1 / self.in_shape[0], generator)
        init_uniform(self.in_columns.weight, 1 / self.in_shape[1], generator)
        init_uniform(self.out_columns.weight, 1.0, generator)
        init_uniform(self.out_rows.weight, 1 / (3 * self.rank), generator)
        self._reset_bias(generator)

    @property
    def rank(self) -> int:
        return self.in_columns.out_channels

    @property
    def modes(self) -> tuple[int, ...]:
        return *self.out_shape, *self.in_shape

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
    def _shaped(cls, in_shape: Sequence[int], out_shape: Sequence[int], rank: int, **settings: Any) -> CPLinear:
        sides: dict[str, Any] = {"in_shape": in_shape, "out_shape": out_shape}
        return cls(math.prod(in_shape), math.prod(out_shape), rank, **sides, **settings)

    @staticmethod
    def _factors_of(width: int, given: Sequence[int] | None, *, where: str) -> tuple[int, ...]:
        return square_sides(width) if given is None else check_factors(width, given, where=where, count=2)

    def _parts(self) -> tuple[nn.Conv2d, ...]:
        return self.out_rows, self.out_columns, self.in_rows, self.in_columns

    def _last(self) -> nn.Conv2d:
        return self.out_rows

    def tensor_of(self, weight: Tensor) -> Tensor:
        return weight.reshape(self.modes)

    def weight_of(self, tensor: Tensor) -> Tensor:
        return tensor.reshape(self.out_features, self.in_features)
