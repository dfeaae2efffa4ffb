"""Batch norm goes into the layer before it, or becomes one scale and one shift for each channel."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.affine import ChannelAffine
from netpact.layers.rewrites.rewrite import list_parts, pick_part, refuse_layer, replace_part


@dataclass(frozen=True)
class Fold:
    """Batch norm becomes nn.Identity and the layer before it gets a bias; without such a layer, a ChannelAffine.

    A place that was folded already stays as it is: whoever decodes may supply the folded module as well.

    back  by how many numbers the layer that takes the norm in stands before the norm; 0 for a ChannelAffine
    """

    back: int
    code: ClassVar[int] = 1
    name: ClassVar[str] = "fold"
    since: ClassVar[int] = 2
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"back": None})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        parts = list_parts(module)  # once: a deep network has a fold behind every layer
        norm = pick_part(parts, layer)
        if not self.back:
            return self._alone(module, norm)
        host = pick_part(parts, layer - self.back)
        if type(host) not in (nn.Linear, nn.Conv2d):
            raise refuse_layer(host, "a Linear or Conv2d")
        assert isinstance(host, (nn.Linear, nn.Conv2d))
        if type(norm) is not nn.Identity:
            _refuse_other(norm, channels=len(host.weight))
            module = replace_part(module, norm, nn.Identity(), parts)
        if host.bias is None:
            host.bias = nn.Parameter(host.weight.new_zeros(len(host.weight)))
        return module

    def _alone(self, module: nn.Module, norm: nn.Module) -> nn.Module:
        if type(norm) is ChannelAffine:
            return module
        _refuse_other(norm)
        assert isinstance(norm.running_mean, Tensor)
        mean = norm.running_mean
        return replace_part(module, norm, ChannelAffine(len(mean), device=mean.device, dtype=mean.dtype))

    def dense(self, layer: nn.Module) -> nn.Module:
        """An ordinary layer stands there already."""
        return copy.deepcopy(layer).double()


def _refuse_other(norm: nn.Module, *, channels: int | None = None) -> None:
    if type(norm) not in (nn.BatchNorm1d, nn.BatchNorm2d) or norm.running_mean is None:
        raise refuse_layer(norm, "batch norm with running statistics")
    if channels is not None and norm.num_features != channels:
        raise PactError(f"batch norm of {norm.num_features} channels behind a layer of {channels}")
