"""One measured number: the worst over the samples, how it is spread over them, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_choice, check_number
from netpact.core.errors import PactError
from netpact.core.json import finite

Numbers = NDArray[np.float64]
Probed = tuple[Numbers, "Numbers | None"]  # each sample's number, and the standard error that probes left in it

SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
LEAST, MOST = "least", "most"
SIDES = (LEAST, MOST)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number that a definition asks for.

    value      the least or the most over the samples, as `side` says; for a property of the weights the number itself
    exact      it is what the definition asks for: of every sample, and nothing in it comes from random probes
    stderr     the standard error that random probes leave in `value`, or the numbers that a law was fitted to; None
               where there are none in it
    side       "least" or "most": which end of the samples is the worst
    samples    the number of each sample, in their order; None for a property of the weights

    A sample on which the definition asks for nothing (a cushion where a layer receives 0) has an infinite number on
    the side that does not matter, so that it never decides.
    """

    value: float
    exact: bool
    stderr: float | None = None
    side: str = LEAST
    samples: Numbers | None = None

    def __post_init__(self) -> None:
        check_choice(self.side, SIDES, where="side")
        if self.samples is not None:
            if self.samples.ndim != 1 or not len(self.samples) or bool(np.isnan(self.samples).any()):
                raise PactError("samples must be one number per sample, none of them NaN", where="quantity")
            self.samples.flags.writeable = False

    @property
    def count(self) -> int | None:
        return None if self.samples is None else len(self.samples)

    @property
    def quantiles(self) -> dict[float, float]:
        """Over the samples, at 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1; each is the number of some sample."""
        if self.samples is None:
            return {}
        ordered = np.sort(self.samples)
        return {share: float(ordered[round(share * (len(ordered) - 1))]) for share in SHARES}

    def zeta_value(self, zeta: float) -> float:
        """The worst number once the worst zeta share of the samples is left out (Arora et al. 2018, Cor. A.1)."""
        check_zeta(zeta)
        if self.samples is None:
            return self.value
        # Tiny tolerance: 0.29 * 100 is 28.999999999999996 in floating point, and means 29 samples.
        left_out = math.floor(zeta * len(self.samples) + 1e-9)
        ordered = np.sort(self.samples)
        return float(ordered[left_out] if self.side == LEAST else ordered[len(ordered) - 1 - left_out])

    @property
    def relative_error(self) -> float:
        """What probes leave in the value, as a share of it; 0 where there are none."""
        if self.stderr is None or not math.isfinite(self.value) or self.value == 0:
            return 0.0
        return self.stderr / abs(self.value)

    def to_json(self, *, with_samples: bool = False) -> dict[str, object]:
        """Infinite numbers become null: JSON has none."""
        record: dict[str, object] = {"value": finite(self.value), "exact": self.exact, "stderr": self.stderr}
        if self.samples is not None:
            record["side"] = self.side
            record["count"] = len(self.samples)
            record["quantiles"] = {f"{share:g}": finite(number) for share, number in self.quantiles.items()}
            if with_samples:
                record["samples"] = [finite(number) for number in self.samples.tolist()]
        return record

    def __str__(self) -> str:
        text = f"{self.value:.4g}"
        if self.stderr is not None:
            text += f" +- {self.stderr:.2g}"
        return text if self.exact else f"{text} (estimate)"


def check_zeta(zeta: float) -> None:
    check_number(zeta, where="zeta", least=0, below=1)


def of_weights(value: float) -> Quantity:
    """A number that needs no samples."""
    return Quantity(value, exact=True)


def over_samples(numbers: Numbers, *, side: str, complete: bool, errors: Numbers | None = None) -> Quantity:
    """The worst of the samples' numbers. complete: these are all samples; errors: what probes left in each number."""
    place = int(numbers.argmin() if side == LEAST else numbers.argmax())
    stderr = None if errors is None else float(errors[place])
    return Quantity(float(numbers[place]), complete and errors is None, stderr, side, numbers)


def worst_of(entries: Sequence[Probed], *, side: str) -> Probed:
    """For each sample the worst of the entries, and the error of that entry."""
    numbers = np.stack([entry[0] for entry in entries])
    errors = np.stack([np.zeros_like(entry[0]) if entry[1] is None else entry[1] for entry in entries])
    place = (numbers.argmin(axis=0) if side == LEAST else numbers.argmax(axis=0))[None]
    worst = np.take_along_axis(numbers, place, axis=0)[0]
    if all(entry[1] is None for entry in entries):
        return worst, None
    return worst, np.take_along_axis(errors, place, axis=0)[0]


def divide(above: Numbers, below: Numbers, *, side: str) -> Numbers:
    """above / below for each sample; 0 / 0 asks for nothing: infinity for the least, 0 for the most."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = above / below
    nothing = math.inf if side == LEAST else 0.0
    return np.where((above == 0) & (below == 0), nothing, quotient)
