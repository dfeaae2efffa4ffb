"""The record of an experiment that was run: its networks, and what they say about the paper's findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netpact.experiments.findings import Finding
from netpact.experiments.study import BaseStudy


@dataclass(frozen=True, kw_only=True)
class Experiment:
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

    def __str__(self) -> str:
        lines = [f"{self.name}, preset {self.preset}, {self.data}, seeds {', '.join(map(str, self.seeds))}"]
        lines += [str(one) for one in self.studies]
        lines += [f"{finding.verdict}: {finding.claim}" for finding in self.findings]
        return "\n".join(lines)
