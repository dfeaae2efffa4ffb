"""A linear layer in CP form of any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from netpact.core.checks import check_flag, check_integer
from netpact.layers.higher_order import (
    check_shapes,
    core_modes,
    make_cores,
    pair_modes,
    part_modes,
    reset_cores,
    run_cores,
)
from netpact.layers.linear_chain import CPLinearChain, check_factors
from netpact.layers.ranks import cube_sides
from netpact.layers.shift import Shift


class HigherOrderCPLinear(CPLinearChain):
    """M = sum_r lambda_r K^1_r (x) ... (x) K^m_r, with K^l_r a matrix of out_shape[l] rows and in_shape[l] columns.

    Definition C.4 of Li et al. 2020: R (t_1 s_1 + ... + t_m s_m) numbers. core_l has the matrices K^l_r, lambda_r is
    the product of their Frobenius norms.
    """

    def __init__(
        self,
        in_shape: Sequence[int],
        out_shape: Sequence[int],
        rank: int,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """in_shape, out_shape: m sizes each, whose products are in_features and out_features; m is at least 2."""
        inputs, outputs = check_shapes(in_shape, out_shape)
        check_integer(rank, where="rank", least=1)
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        parts = make_cores(inputs, outputs, rank, place)
        features = math.prod(outputs)
        parts["shift"] = Shift(features, **place) if check_flag(bias, where="bias") else nn.Identity()
        super().__init__(parts)
        self.in_shape, self.out_shape = inputs, outputs
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The composed weight and the bias get the variance that torch gives to dense ones, 1 / (3 in)."""
        reset_cores(self._parts(), self.in_shape, self.rank, generator)
        self._reset_bias(generator)

    @property
    def rank(self) -> int:
        return self._parts()[0].out_channels // self.out_shape[0]

    @property
    def modes(self) -> tuple[int, ...]:
        return core_modes(self.in_shape, self.out_shape)

    def forward(self, inputs: Tensor) -> Tensor:
        """The last axis has the features; the axes between it and the samples' are kept, as nn.Linear does."""
        samples, between = len(inputs), inputs.shape[1:-1]
        places = inputs.reshape(samples, math.prod(between), self.in_features).transpose(1, 2)
        made = run_cores(self._parts(), places, (self.in_shape, self.out_shape)).transpose(1, 2)
        shifted: Tensor = self.shift(made.reshape(samples, *between, self.out_features))
        return shifted

    @classmethod
    def _shaped(
        cls, in_shape: Sequence[int], out_shape: Sequence[int], rank: int, **settings: Any
    ) -> HigherOrderCPLinear:
        return cls(in_shape, out_shape, rank, **settings)

    @staticmethod
    def _factors_of(width: int, given: Sequence[int] | None, *, where: str) -> tuple[int, ...]:
        return cube_sides(width) if given is None else check_factors(width, given, where=where)

    def _parts(self) -> tuple[nn.Conv2d, ...]:
        return tuple(part for part in self.children() if isinstance(part, nn.Conv2d))

    def _last(self) -> nn.Conv2d:
        return self._parts()[-1]

    def tensor_of(self, weight: Tensor) -> Tensor:
        return pair_modes(weight, self.in_shape, self.out_shape)

    def weight_of(self, tensor: Tensor) -> Tensor:
        return part_modes(tensor, self.in_shape, self.out_shape)
