"""The record of an experiment that was run: its networks, and what they say about the paper's findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netpact.core.display import Displayed, Row
from netpact.experiments.findings import Finding
from netpact.experiments.study import BaseStudy


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(Displayed):
    """note: what a reader should know of the setting; fingerprints: of each network's training samples."""

    name: str
    preset: str
    version: str
    seeds: tuple[int, ...]
    data: str
    note: str
    studies: tuple[BaseStudy, ...]
    findings: tuple[Finding, ...]
    command: str
    page: Path

    @property
    def fingerprints(self) -> dict[str, str]:
        return {f"{one.study}, seed {one.seed}": one.source for one in self.studies if one.source is not None}

    @property
    def things(self) -> str:
        """networks or simulations"""
        return self.studies[0].things

    def chosen(self, study: str) -> tuple[Any, ...]:
        """The networks of one name, by seed, each of the type that the plan names."""
        return tuple(one for one in self.studies if one.study == study)

    def display_facts(self) -> Row:
        verdicts = [finding.verdict for finding in self.findings]
        counted = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        return {
            "name": self.name,
            "preset": self.preset,
            "findings": ", ".join(f"{count} {verdict}" for verdict, count in counted.items()),
            "data": self.data,
            "seeds": len(self.seeds),
            "page": str(self.page),
        }

    def display_rows(self) -> list[Row]:
        """One row a finding."""
        return [
            {"verdict": one.verdict, "claim": one.claim, "rule": one.rule, "published": one.published}
            for one in self.findings
        ]

    def to_json(self) -> dict[str, object]:
        return {
            "experiment": self.name,
            "preset": self.preset,
            "version": self.version,
            "seeds": list(self.seeds),
            "data": self.data,
            "note": self.note,
            "findings": [finding.to_json() for finding in self.findings],
            self.things: [one.summary() for one in self.studies],
            "command": self.command,
            "page": str(self.page),
        }

    def display_text(self) -> str:
        lines = [f"{self.name}, preset {self.preset}, {self.data}, seeds {', '.join(map(str, self.seeds))}"]
        lines += [str(one) for one in self.studies]
        lines += [f"{finding.verdict}: {finding.claim}" for finding in self.findings]
        return "\n".join(lines)
