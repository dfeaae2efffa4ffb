"""A layer in CP form in the place of a dense one, or of one of higher rank."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, TypeGuard

from torch import nn

from netpact.core.errors import PactError
from netpact.layers.cp_conv import CPConv2d
from netpact.layers.cp_linear import CPLinear
from netpact.layers.factored import Chain
from netpact.layers.rewrites.low_rank import can_factor
from netpact.layers.rewrites.rewrite import find_part, refuse_layer, replace_part
from netpact.layers.shift import Shift

_NEEDED = "a Linear, a Conv2d without groups, a CPLinear or a CPConv2d"


@dataclass(frozen=True)
class CPLayer:
    """A linear layer becomes CPLinear, a convolution without groups CPConv2d; a CP layer keeps `rank` components.

    The rank is at most the product of all modes of the weight but the longest (Li et al. 2020, Proposition 4.1: then
    there is an exact form), and of a CP layer at most its own.

    in_rows, out_rows  of a linear layer: the first of the two factors of its widths; 0 for all others
    """

    rank: int
    in_rows: int
    out_rows: int
    code: ClassVar[int] = 3
    name: ClassVar[str] = "cp"
    since: ClassVar[int] = 3
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"rank": 1, "in_rows": 0, "out_rows": 0})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        return replace_part(module, old, self._make(old))

    def _make(self, old: nn.Module) -> Chain:
        if type(old) is nn.Linear:
            sides = self._sides(old)
            self._check_rank(highest_rank((*sides["out_shape"], *sides["in_shape"])))
            return CPLinear.like(old, self.rank, **sides)
        if self.in_rows or self.out_rows:
            raise PactError(f"only a Linear has rows, got {self.in_rows} and {self.out_rows} for {type(old).__name__}")
        if is_cp(old):
            self._check_rank(old.rank)
            return resized_cp(old, self.rank)
        if not can_factor(old):
            raise refuse_layer(old, _NEEDED)
        assert isinstance(old, nn.Conv2d)
        self._check_rank(highest_rank((old.out_channels, old.in_channels, math.prod(old.kernel_size))))
        return CPConv2d.like(old, self.rank)

    def _sides(self, old: nn.Linear) -> dict[str, tuple[int, int]]:
        sides = {}
        widths = (("in_shape", self.in_rows, old.in_features), ("out_shape", self.out_rows, old.out_features))
        for name, rows, width in widths:
            if rows < 1 or width % rows:
                raise PactError(f"the rows must be a factor of {width}, got {rows}")
            sides[name] = rows, width // rows
        return sides

    def _check_rank(self, most: int) -> None:
        if not 1 <= self.rank <= most:
            raise PactError(f"the rank must be an integer from 1 to {most}, got {self.rank}")

    def dense(self, layer: nn.Module) -> nn.Module:
        assert isinstance(layer, Chain)
        return layer.dense()


def highest_rank(modes: tuple[int, ...]) -> int:
    """No tensor needs more components than the product of its modes but the longest."""
    return math.prod(modes) // max(modes, default=1) if min(modes, default=0) else 0


def is_cp(layer: nn.Module) -> TypeGuard[CPConv2d | CPLinear]:
    """A CP layer as its class makes it: no rewrite has changed a layer within it."""
    if type(layer) not in (CPConv2d, CPLinear):
        return False
    assert isinstance(layer, (CPConv2d, CPLinear))
    *factors, last = layer
    kinds = (Shift, nn.Identity) if isinstance(layer, CPLinear) else (nn.Conv2d,)
    if any(type(part) is not nn.Conv2d for part in factors) or type(last) not in kinds:
        return False
    return _shapes(resized_cp(layer, layer.rank)) == _shapes(layer)


def resized_cp(layer: CPConv2d | CPLinear, rank: int) -> CPConv2d | CPLinear:
    """A CP layer like this one of another rank, on the same device; its factors are not set."""
    if isinstance(layer, CPConv2d):
        return CPConv2d.like(layer, rank)
    return CPLinear.like(layer, rank, in_shape=layer.in_shape, out_shape=layer.out_shape)


def _shapes(layer: nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(tensor.shape)) for name, tensor in layer.named_parameters()]
