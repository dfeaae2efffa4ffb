"""The record of all estimates of one network, and the effective parameters of its layers."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.bounds.bound import BOUNDS
from netpact.bounds.estimate import Estimate
from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import power_text
from netpact.core.display import Displayed
from netpact.core.errors import one_of
from netpact.core.percent import percent


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimates(Displayed):
    """All estimates of one network, the smallest capacity first. Each stands by itself; none is proven.

    gammas  the margins that were tried: one, or those of a declared grid
    losses  L_gamma of each, on the training samples
    layers  effective parameters by the first bound that states them; `budgets` has those of all
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

    @property
    def budgets(self) -> dict[tuple[str, ...], tuple[LayerBudget, ...]]:
        """Effective parameters by layer, for the names of the bounds that state the same."""
        found: dict[tuple[LayerBudget, ...], list[str]] = {}
        for row in self.rows:
            if row.layers:
                found.setdefault(row.layers, []).append(row.name)
        return {tuple(sorted(names)): layers for layers, names in found.items()}

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

    def display_text(self) -> str:
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
        for names, layers in self.budgets.items():
            lines += [f"  effective parameters by {', '.join(names)}", *(f"    {layer}" for layer in layers)]
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
