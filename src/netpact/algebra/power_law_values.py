"""Positive numbers as power-law fits take them: checked, sorted, each distinct one with how often it occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.core.errors import PactError, wrong_kind

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """values ascending, and at_least[i] = how many numbers are >= values[i], with a last 0 behind the largest."""

    values: Floats
    at_least: Floats

    @property
    def counts(self) -> Floats:
        return self.at_least[:-1] - self.at_least[1:]

    @property
    def total(self) -> int:
        return int(self.at_least[0])

    def tail(self, xmin: float) -> DistinctValues:
        """Those >= xmin."""
        first = int(np.searchsorted(self.values, xmin))
        return DistinctValues(self.values[first:], self.at_least[first:])


def sort_values(values: Tensor | NDArray[np.number]) -> DistinctValues:
    numbers = np.sort(as_numbers(values), axis=None)
    _check_range(numbers)
    first = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    at_least = np.append(numbers.size - first, 0).astype(np.float64)
    return DistinctValues(numbers[first].astype(np.float64), at_least)


def log_ratio(larger: Floats | float, smaller: Floats | float) -> Floats:
    """log(larger / smaller) >= 0 with nearly all of its digits, however near or far the two are."""
    upper, lower = np.broadcast_arrays(larger, smaller)
    found: Floats = upper - lower
    with np.errstate(over="ignore"):
        found /= lower
    np.log1p(found, out=found)
    # A quotient beyond all floats: nothing is lost by the difference of two logarithms then.
    beyond = np.isinf(found)
    found[beyond] = np.log(upper[beyond]) - np.log(lower[beyond])
    return found


def as_numbers(values: Tensor | NDArray[np.number]) -> NDArray[np.number]:
    found: object = values
    if isinstance(values, Tensor):
        if values.layout != torch.strided or values.is_meta:
            raise PactError("must be a dense tensor with values", where="values", hint="use .to_dense()")
        if not (values.is_complex() or values.is_quantized):
            plain = values.detach().cpu()
            half = plain.is_floating_point() and plain.element_size() < 4  # numpy has no bfloat16
            found = (plain.float() if half else plain).numpy()
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise wrong_kind(values, needed="a torch tensor or numpy array of real numbers", where="values")
    if not found.size:
        raise PactError("must have at least two numbers, got none", where="values")
    return found


def _check_range(ascending: NDArray[np.number]) -> None:
    """Positive and finite; NaN is sorted behind everything else."""
    bad = {
        "NaN or infinite": ascending.size - int(np.searchsorted(ascending, np.inf)),
        "negative": int(np.searchsorted(ascending, 0)),
    }
    bad["zero"] = int(np.searchsorted(ascending, 0, side="right")) - bad["negative"]
    if any(bad.values()):
        found = ", ".join(f"{number:,} {name}" for name, number in bad.items() if number)
        hint = "take magnitudes and leave out zeros: values[values != 0].abs()"
        raise PactError(f"must be positive and finite, got {found} of {ascending.size:,}", where="values", hint=hint)
