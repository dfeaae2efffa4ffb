"""The effective number of parameters of one layer, by a bound that states it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netpact.bounds.logs import power_text
from netpact.core.json import finite

_BEYOND = 1e12  # a percentage that nobody reads digit by digit any more


@dataclass(frozen=True)
class LayerBudget:
    """The effective number of parameters of one layer, beside the number of its weights."""

    name: str
    log10_effective: float
    weights: int

    @property
    def effective(self) -> float:
        return 10.0**self.log10_effective if self.log10_effective < 300 else math.inf

    @property
    def percent(self) -> float:
        return 100.0 * self.effective / self.weights

    def __str__(self) -> str:
        if not self.percent < _BEYOND:
            return f"{self.name}: {power_text(self.log10_effective)} of {self.weights:,}"
        return f"{self.name}: {self.effective:,.1f} of {self.weights:,} ({self.percent:.4g} %)"

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "effective": finite(self.effective),
            "log10": finite(self.log10_effective),
            "weights": self.weights,
            "percent": finite(self.percent),
        }
