"""The record of a deviation bound: how far the compressed network's logits can be from the original's, by sample."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError

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
    """

    bounds: Numbers
    measured: Numbers
    layers: tuple[LayerPart, ...]
    data_name: str

    def __post_init__(self) -> None:
        if self.bounds.shape != self.measured.shape or self.bounds.ndim != 1 or not len(self.bounds):
            raise PactError(
                f"must have one bound and one measured number for each sample, got shapes {self.bounds.shape} "
                f"and {self.measured.shape}",
                where="deviation bound",
            )
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
    def looseness(self) -> float:
        """The median over the samples of bound / measured; infinite where both networks compute the same."""
        with np.errstate(divide="ignore"):
            return float(np.median(self.bounds / self.measured))

    def quantiles(self) -> dict[str, float]:
        """Of the bounds: least, quarter, median, three quarters, most. Never below the true quantile."""
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
        }

    def display_rows(self) -> list[Row]:
        """One row a layer: what it adds to the bound."""
        return [asdict(part) for part in self.layers]

    def display_text(self) -> str:
        found, seen = self.quantiles(), _quantiles(self.measured)
        width = max(len("layer"), *(len(part.name) for part in self.layers))
        rows = [
            f"  {part.name:<{width}}  {part.norm:>10.4g}  {part.change:>10.4g}  {part.shift:>10.4g}"
            for part in self.layers
        ]
        return "\n".join(
            [
                f"deviation bound: on these {self.samples:,} samples of {self.data_name} the logits differ by at most "
                f"{found['most']:.4g} (median {found['median']:.4g}) in the l2 norm",
                f"  measured: at most {seen['most']:.4g} (median {seen['median']:.4g})",
                f"  {'layer':<{width}}  {'|W^|':>10}  {'|W - W^|':>10}  {'|b - b^|':>10}",
                *rows,
            ]
        )

    def to_json(self) -> dict[str, object]:
        looseness = self.looseness
        return {
            "kind": self.kind,
            "data": self.data_name,
            "samples": self.samples,
            "promised": self.quantiles(),
            "measured": _quantiles(self.measured),
            "looseness": looseness if np.isfinite(looseness) else None,
            "layers": [asdict(part) for part in self.layers],
        }


def _quantiles(numbers: Numbers) -> dict[str, float]:
    return {name: float(np.quantile(numbers, share, method="higher")) for name, share in _QUANTILES.items()}


Promise = DeviationBound  # its former name
