"""The record of a deviation bound: how far the compressed network's logits can be from the original's, by sample."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.json import finite

_QUANTILES = {"least": 0.0, "quarter": 0.25, "median": 0.5, "three quarters": 0.75, "most": 1.0}

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class LayerPart:
    """What one layer contributes: norm >= |W^|_op enlarges what is there, change >= |W - W^|_op and shift >= |b - b^|_2
    add to it."""

    name: str
    norm: float
    change: float
    shift: float


@dataclass(frozen=True, eq=False, repr=False)
class DeviationBound(Displayed):
    """A proven bound on |compressed logits - original logits|_2 for each of the samples, in their order.

    It holds for any run of either network in its stated precision, and for both in real arithmetic. It says nothing
    about other samples, and involves no probability. measured has the differences of one run.

    bounds   infinite where there is none: an activation may overflow its precision, or a divisor may vanish
    unruled  operations for which no rule is known: where there are any, no bound is finite
    """

    bounds: Numbers
    measured: Numbers
    layers: tuple[LayerPart, ...]
    data_name: str
    unruled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.bounds.shape != self.measured.shape or self.bounds.ndim != 1 or not len(self.bounds):
            raise PactError(
                f"must have one bound and one measured number for each sample, got shapes {self.bounds.shape} "
                f"and {self.measured.shape}",
                where="deviation bound",
            )
        if self.unruled and np.isfinite(self.bounds).any():
            raise PactError("operations without a rule leave no bound", where="deviation bound")
        for numbers in (self.bounds, self.measured):
            numbers.flags.writeable = False

    @property
    def kind(self) -> str:
        return "promise"

    @property
    def promised(self) -> Numbers:
        """The former name of `bounds`, which is still that of its quantiles in JSON."""
        return self.bounds

    @property
    def samples(self) -> int:
        return len(self.bounds)

    @property
    def unbounded(self) -> int:
        """How many samples have no bound."""
        return int(np.isinf(self.bounds).sum())

    @property
    def looseness(self) -> float:
        """The median over the samples of bound / measured; infinite where both compute the same, or have no bound."""
        with np.errstate(divide="ignore"):
            return float(np.median(self.bounds / self.measured))

    def quantiles(self) -> dict[str, float]:
        """Of the bounds: least, quarter, median, three quarters, most. Never below the true quantile; may be inf."""
        return _quantiles(self.bounds)

    def display_facts(self) -> Row:
        found, seen = self.quantiles(), _quantiles(self.measured)
        return {
            "largest_bound": found["most"],
            "median_bound": found["median"],
            "largest_measured": seen["most"],
            "median_measured": seen["median"],
            "samples": self.samples,
            "data_name": self.data_name,
            **({"without_bound": self.unbounded, "why": self.note} if self.unbounded else {}),
        }

    def display_rows(self) -> list[Row]:
        """One row a layer: what it adds to the bound."""
        return [asdict(part) for part in self.layers]

    def display_text(self) -> str:
        seen = _quantiles(self.measured)
        width = max(len("layer"), *(len(part.name) for part in self.layers), 0)
        rows = [
            f"  {part.name:<{width}}  {part.norm:>10.4g}  {part.change:>10.4g}  {part.shift:>10.4g}"
            for part in self.layers
        ]
        return "\n".join(
            [
                *self._sentences(),
                f"  measured: at most {seen['most']:.4g} (median {seen['median']:.4g})",
                f"  {'layer':<{width}}  {'|W^|':>10}  {'|W - W^|':>10}  {'|b - b^|':>10}",
                *rows,
            ]
        )

    @property
    def note(self) -> str:
        """Why some samples, or all, have no bound; "" where all have one."""
        if self.unruled:
            return f"no rule is known for {'; '.join(self.unruled)}"
        return "an activation may overflow its precision, or a divisor may vanish" if self.unbounded else ""

    def _sentences(self) -> list[str]:
        where = f"these {self.samples:,} samples of {self.data_name}"
        if self.unbounded == self.samples:
            return [f"no deviation bound on {where}: {self.note}"]
        found = _quantiles(self.bounds[np.isfinite(self.bounds)])
        limits = f"the logits differ by at most {found['most']:.4g} (median {found['median']:.4g}) in the l2 norm"
        if not self.unbounded:
            return [f"deviation bound: on {where} {limits}"]
        some = f"{self.samples - self.unbounded:,} of {where}"
        return [f"deviation bound: on {some} {limits}", f"  no bound for {self.unbounded:,} samples: {self.note}"]

    def to_json(self) -> dict[str, object]:
        looseness = self.looseness
        return {
            "kind": self.kind,
            "data": self.data_name,
            "samples": self.samples,
            "promised": {name: finite(number) for name, number in self.quantiles().items()},
            "measured": _quantiles(self.measured),
            "looseness": finite(looseness),
            "layers": [asdict(part) for part in self.layers],
            "unbounded": self.unbounded,
            "unruled": list(self.unruled),
        }


def _quantiles(numbers: Numbers) -> dict[str, float]:
    return {name: float(np.quantile(numbers, share, method="higher")) for name, share in _QUANTILES.items()}


Promise = DeviationBound  # its former name
