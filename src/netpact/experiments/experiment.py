"""The record of an experiment: its networks, what they say about the paper's findings, and the page that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netpact.experiments.findings import Finding
from netpact.experiments.records import Study
from netpact.runs import JsonValue


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """fingerprints: of the training samples, by the number of them; note: what a reader should know of the setting."""

    name: str
    preset: str
    version: str
    seeds: tuple[int, ...]
    data: str
    note: str
    studies: tuple[Study, ...]
    findings: tuple[Finding, ...]
    command: str
    page: Path

    @property
    def fingerprints(self) -> dict[str, str]:
        return {f"{one.study}, seed {one.seed}": one.fingerprint for one in self.studies}

    def chosen(self, study: str) -> tuple[Study, ...]:
        """The networks of one kind, by seed."""
        return tuple(one for one in self.studies if one.study == study)

    def to_json(self) -> dict[str, object]:
        networks: list[dict[str, JsonValue]] = [one.summary() for one in self.studies]
        return {
            "experiment": self.name,
            "preset": self.preset,
            "version": self.version,
            "seeds": list(self.seeds),
            "data": self.data,
            "note": self.note,
            "findings": [finding.to_json() for finding in self.findings],
            "networks": networks,
            "command": self.command,
            "page": str(self.page),
        }

    def __str__(self) -> str:
        lines = [f"{self.name}, preset {self.preset}, {self.data}, seeds {', '.join(map(str, self.seeds))}"]
        lines += [describe_accuracy(one) for one in self.studies]
        lines += [f"{finding.verdict}: {finding.claim}" for finding in self.findings]
        return "\n".join(lines)


def describe_accuracy(study: Study) -> str:
    low = "" if study.fits else f", below the {study.least:.0%} that findings need"
    return (
        f"{study.study}, seed {study.seed} ({study.model}, {study.samples:,} samples): "
        f"training accuracy {study.train_accuracy:.1%}{low}, test accuracy {study.test_accuracy:.1%}"
    )


def describe_numbers(finding: Finding) -> str:
    return ", ".join("not finite" if number is None else f"{number:.3g}" for number in finding.numbers)
