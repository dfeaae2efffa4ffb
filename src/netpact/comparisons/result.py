"""The record of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netpact.comparisons.recommending import Recommendation
from netpact.core.display import Displayed
from netpact.reports.rows import Provenance, Row, find_best


@dataclass(frozen=True)
class LeftOut:
    """A method, or a method with options, of which there is no row; and why."""

    name: str
    reason: str

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "reason": self.reason}


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Displayed):
    """rows            the original network first, then one for each file
    left_out        methods that do not apply to this network, and settings that gave no file of their own
    recommendation  which file for which purpose, in words
    page            the report
    """

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...]
    recommendation: Recommendation
    provenance: Provenance
    page: Path

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def shortlist(self) -> tuple[Row, ...]:
        """The original, what is recommended or certified, and files that no other beats in both size and error."""
        named = {choice.row for choice in self.recommendation.choices}
        least, best = 2.0, set()
        for row in sorted(self.rows[1:], key=lambda row: (row.message_bytes, row.train_error or 0.0)):
            if row.train_error is not None and row.train_error < least:
                least = row.train_error
                best.add(row.name)
        known = named | best
        return tuple(row for row in self.rows if row.original or row.bound is not None or row.name in known)

    def display_text(self) -> str:
        return str(self.recommendation)

    def display_facts(self) -> dict[str, object]:
        best = find_best(self.rows)
        proven = None if best is None else f"{best.name}: {best.proven:.3f}"
        found = {choice.goal: choice.row for choice in self.recommendation.choices if choice.row}
        return {"files": len(self.rows) - 1, "lowest_bound": proven, **found, "page": str(self.page)}

    def display_rows(self) -> list[dict[str, object]]:
        names = ("name", "message_bytes", "parameters", "flops", "samples_per_second", "train_error", "test_error")
        more = ("fidelity", "deviation", "bound", "expected_bound")
        return [{name: getattr(row, name) for name in (*names, *more)} for row in self.rows]

    def to_json(self) -> dict[str, object]:
        return {
            "rows": [row.to_json() for row in self.rows],
            "left_out": [one.to_json() for one in self.left_out],
            "recommendation": self.recommendation.to_json(),
            "provenance": self.provenance.to_json(),
            "page": str(self.page),
        }
