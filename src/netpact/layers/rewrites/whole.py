"""Integer layers in the place of ordinary ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import nn

from netpact.core.errors import PactError
from netpact.layers.affine import ChannelAffine
from netpact.layers.rewrites.rewrite import find_part, refuse_layer, replace_part
from netpact.layers.whole.between import WholeClip, WholePool
from netpact.layers.whole.grid import WholeGrid
from netpact.layers.whole.layers import WholeAffine, WholeConv2d, WholeLinear


@dataclass(frozen=True)
class ToWhole(WholeGrid):
    """A linear layer, a convolution or a ChannelAffine becomes WholeLinear, WholeConv2d or WholeAffine."""

    code: ClassVar[int] = 5
    name: ClassVar[str] = "whole"
    since: ClassVar[int] = 4
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType(
        {"levels": 0, "low": None, "high": 0, "gain": 1, "divide": 0, "shift": 0, "reach": 0}
    )

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        return replace_part(module, old, self._make(old))

    def _make(self, old: nn.Module) -> nn.Module:
        # Exactly these types: a subclass may compute anything.
        if type(old) is nn.Linear:
            return WholeLinear.like(old, self._grid)
        if type(old) is nn.Conv2d:
            return WholeConv2d.like(old, self._grid)
        if type(old) is ChannelAffine:
            return WholeAffine.like(old, self._grid)
        raise refuse_layer(old, "a Linear, a Conv2d or a ChannelAffine")

    @property
    def _grid(self) -> WholeGrid:
        return WholeGrid(**{name: getattr(self, name) for name in self.least})

    def dense(self, layer: nn.Module) -> nn.Module:
        raise no_linear_map(layer)


@dataclass(frozen=True)
class ToWholePool:
    """AvgPool2d, or AdaptiveAvgPool2d to one pixel, becomes WholePool."""

    multiplier: int
    shift: int
    code: ClassVar[int] = 6
    name: ClassVar[str] = "whole-pool"
    since: ClassVar[int] = 4
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"multiplier": 1, "shift": 0})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        return replace_part(module, old, WholePool.like(old, self.multiplier, self.shift))

    def dense(self, layer: nn.Module) -> nn.Module:
        raise no_linear_map(layer)


@dataclass(frozen=True)
class ToWholeClip:
    """ReLU6 or Hardtanh becomes WholeClip."""

    low: int
    high: int
    code: ClassVar[int] = 7
    name: ClassVar[str] = "whole-clip"
    since: ClassVar[int] = 4
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"low": None, "high": 1})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        if type(old) not in (nn.ReLU6, nn.Hardtanh):
            raise refuse_layer(old, "a ReLU6 or a Hardtanh")
        return replace_part(module, old, WholeClip(self.low, self.high))

    def dense(self, layer: nn.Module) -> nn.Module:
        raise no_linear_map(layer)


def no_linear_map(layer: nn.Module) -> PactError:
    return PactError(
        f"{type(layer).__name__} rounds and clamps: it is no linear map",
        hint="compare the network in the file with the original one by samples",
    )
