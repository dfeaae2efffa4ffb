"""A layer of low rank as two layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import nn

from netpact.core.errors import PactError
from netpact.layers.factored import Factored, resized
from netpact.layers.rewrites.rewrite import find_part, refuse_layer, replace_part


@dataclass(frozen=True)
class LowRankLayer:
    """A linear layer, or a convolution without groups, becomes Factored: `rank` channels stand between its two layers.

    The weight, a matrix of outputs against inputs (times taps), is then a product of two and has at most this rank.
    """

    rank: int
    code: ClassVar[int] = 0
    name: ClassVar[str] = "low-rank"
    since: ClassVar[int] = 2
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"rank": 1})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        if not can_factor(old):
            raise refuse_layer(old, "a Linear or a Conv2d without groups")
        assert isinstance(old, (nn.Linear, nn.Conv2d))
        outputs = len(old.weight)
        most = min(outputs, old.weight[0].numel())
        if not 1 <= self.rank <= most:
            raise PactError(f"the rank must be an integer from 1 to {most}, got {self.rank}")
        first = resized(old, outputs=self.rank, bias=False)
        if isinstance(old, nn.Linear):
            second: nn.Module = resized(old, outputs=outputs, inputs=self.rank)
        else:
            biased = old.bias is not None
            second = nn.Conv2d(self.rank, outputs, 1, bias=biased, device="meta", dtype=old.weight.dtype)
            second = second.to_empty(device=old.weight.device)
        return replace_part(module, old, Factored(first, second))

    def dense(self, layer: nn.Module) -> nn.Module:
        assert isinstance(layer, Factored)
        return layer.dense()


def can_factor(layer: nn.Module) -> bool:
    """Exactly these types: a subclass may compute anything."""
    return type(layer) is nn.Linear or (type(layer) is nn.Conv2d and layer.groups == 1)
