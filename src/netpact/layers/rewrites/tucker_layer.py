"""A convolution in Tucker form in the place of a dense one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import nn

from netpact.core.errors import PactError
from netpact.layers.factored import Chain
from netpact.layers.rewrites.low_rank import can_factor
from netpact.layers.rewrites.rewrite import find_part, refuse_layer, replace_part
from netpact.layers.tucker_conv import TuckerConv2d


@dataclass(frozen=True)
class TuckerLayer:
    """A convolution without groups becomes TuckerConv2d: `in_rank` channels before its core, `out_rank` behind it."""

    out_rank: int
    in_rank: int
    code: ClassVar[int] = 4
    name: ClassVar[str] = "tucker"
    since: ClassVar[int] = 3
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"out_rank": 1, "in_rank": 1})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        if not (can_factor(old) and isinstance(old, nn.Conv2d)):
            raise refuse_layer(old, "a Conv2d without groups")
        taps = math.prod(old.kernel_size)
        # A rank above what the other sides of the core allow would be numbers that say nothing.
        for name, rank, most in (
            ("out_rank", self.out_rank, min(old.out_channels, self.in_rank * taps)),
            ("in_rank", self.in_rank, min(old.in_channels, self.out_rank * taps)),
        ):
            if not 1 <= rank <= most:
                raise PactError(f"{name} must be an integer from 1 to {most}, got {rank}")
        return replace_part(module, old, TuckerConv2d.like(old, (self.out_rank, self.in_rank)))

    def dense(self, layer: nn.Module) -> nn.Module:
        assert isinstance(layer, Chain)
        return layer.dense()
