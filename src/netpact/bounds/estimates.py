"""The record of all estimates of one network, and the effective parameters of its layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netpact.bounds.bound import BOUNDS
from netpact.bounds.estimate import Estimate
from netpact.bounds.logs import power_text
from netpact.core.display import Displayed
from netpact.core.errors import one_of
from netpact.core.json import finite
from netpact.core.percent import percent

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


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimates(Displayed):
    """All estimates of one network, the smallest capacity first. Each stands by itself; none is proven.

    gammas  the margins that were tried: one, or those of a declared grid
    losses  L_gamma of each, on the training samples
    layers  effective parameters, where a bound states them
    skipped name of each bound that does not apply to this network, and why
    """

    rows: tuple[Estimate, ...]
    gammas: tuple[float, ...]
    losses: tuple[float, ...]
    network: str
    data_name: str
    samples: int
    layers: tuple[LayerBudget, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        return "estimate"

    def __getitem__(self, name: str) -> Estimate:
        """By the name of the bound, also by its former one."""
        found = {row.name: row for row in self.rows}
        current = BOUNDS[name].name if name in BOUNDS else name
        if current not in found:
            raise one_of(name, found, option="estimate")
        return found[current]

    def display_facts(self) -> dict[str, object]:
        least = min(self.rows, key=lambda row: row.log10, default=None)
        told = {} if least is None else {"lowest": f"{least.name}, capacity {power_text(least.log10)}"}
        about = {"network": self.network, "data_name": self.data_name, "samples": self.samples}
        return {"estimates": len(self.rows), **told, **about, "proven": "nothing"}

    def display_rows(self) -> list[dict[str, object]]:
        """One row an estimate."""
        return [
            {
                "name": row.name,
                "kind": row.kind,
                "log10_capacity": row.log10,
                "value": row.value,
                "gamma": row.gamma,
                "margin_loss": row.margin_loss,
                "samples": row.samples,
                "premises_failing": len(row.failing),
                "theorem": row.theorem,
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        margins = ", ".join(
            f"L_gamma = {percent(loss, places=2)} at gamma = {gamma:.4g}"
            for gamma, loss in zip(self.gammas, self.losses, strict=True)
        )
        width = max(len(row.name) for row in self.rows)
        lines = [f"estimates for {self.network} on {self.samples:,} samples of {self.data_name}; {margins}"]
        lines += [
            f"  {row.name:<{width}}  capacity {power_text(row.log10):<9}  {row.theorem}"
            + (f"  ({len(row.failing)} premises fail)" if row.failing else "")
            for row in self.rows
        ]
        lines += [f"  {layer}" for layer in self.layers]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "network": self.network,
            "data": self.data_name,
            "samples": self.samples,
            "gammas": list(self.gammas),
            "margin_losses": list(self.losses),
            "estimates": [row.to_json() for row in self.rows],
            "layers": [layer.to_json() for layer in self.layers],
            "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped],
        }
