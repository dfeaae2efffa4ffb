"""How layer, group, instance and RMS norm were called: their groups of entries, and what follows by weight and bias."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from netpact.network.rounding.tolerance import NoRuleError

_ARGUMENTS = {
    "layer_norm": ("normalized_shape", "weight", "bias", "eps"),
    "rms_norm": ("normalized_shape", "weight", "eps"),
    "group_norm": ("num_groups", "weight", "bias", "eps"),
    "instance_norm": ("running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps"),
}
NORM_NAMES = tuple(_ARGUMENTS)


@dataclass(frozen=True)
class NormCall:
    """groups: of a row's channels; 0 where the last `axes` axes are one group. terms: entries of a group."""

    groups: int
    axes: int
    terms: int
    centred: bool
    eps: float
    weight: Any
    bias: Any

    def split(self, values: Tensor) -> Tensor:
        """(rows, groups, terms)"""
        return values.reshape(len(values), -1, self.terms)


def read_norm_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], shape: tuple[int, ...]) -> NormCall:
    """args: those behind the input, which has the shape."""
    told = dict(zip(_ARGUMENTS[name], args, strict=False)) | kwargs
    eps = told.get("eps", None if name == "rms_norm" else 1e-5)
    if eps is None:  # then it is another number in every precision
        raise NoRuleError("without eps")
    if name == "instance_norm" and (not told.get("use_input_stats", True) or len(shape) < 3):
        raise NoRuleError("of one sample or with running statistics")
    by_channels = name in ("group_norm", "instance_norm")
    groups = int(told.get("num_groups", shape[1])) if by_channels else 0
    axes = 0 if by_channels else len(tuple(told["normalized_shape"]))
    if not by_channels and len(shape) <= axes:
        raise NoRuleError("over the samples' axis")
    terms = math.prod(shape[1:]) // groups if by_channels else math.prod(shape[-axes:])
    return NormCall(groups, axes, terms, name != "rms_norm", eps, told.get("weight"), told.get("bias"))
