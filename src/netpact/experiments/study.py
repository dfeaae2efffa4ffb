"""One network of an experiment: the setting in which it is trained, and what was found in it. Both survive in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from netpact.core.percent import percent
from netpact.experiments.presets import Case
from netpact.runs import JsonValue

StudyT = TypeVar("StudyT", bound="Study")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a task is given: `Plan.task` takes it as plain JSON, `Setting.read` makes it a record again.

    study        name of the network; experiments that use one name for one case mean one network, and share it
    data         name or file of the data set
    fingerprint  of the training samples, before anything is done to them
    tested       how many test samples there are at most
    out          folder for checkpoints
    """

    study: str
    data: str
    fingerprint: str
    tested: int
    case: Case
    seed: int
    out: str

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "case": self.case.to_json()}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Setting:
        return Setting(**{**record, "case": Case(**record["case"])})


@dataclass(frozen=True, kw_only=True)
class Study:
    """What every trained network tells. An experiment extends it by a field for each thing that it finds.

    least  training accuracy that it must reach, or findings about it are not judged
    """

    study: str
    seed: int
    model: str
    parameters: int
    data: str
    fingerprint: str
    samples: int
    train_accuracy: float
    test_accuracy: float
    least: float

    @property
    def fits(self) -> bool:
        return self.train_accuracy >= self.least

    def facts(self) -> dict[str, Any]:
        """The fields that all studies have: `MyStudy(**trained.study.facts(), found=...)`."""
        return {field.name: getattr(self, field.name) for field in fields(Study)}

    def to_json(self) -> dict[str, JsonValue]:
        return asdict(self)

    def summary(self) -> dict[str, JsonValue]:
        """What goes into the record of the experiment: all of it, unless a study has long tables to leave out."""
        return self.to_json()

    @classmethod
    def read(cls: type[StudyT], record: Mapping[str, Any]) -> StudyT:
        """The inverse of to_json; the record comes from our own store, which has checked whose it is."""
        return cls(**record)

    def __str__(self) -> str:
        low = "" if self.fits else f", below the {percent(self.least, places=0)} that findings need"
        return (
            f"{self.study}, seed {self.seed} ({self.model}, {self.samples:,} samples): "
            f"training accuracy {percent(self.train_accuracy)}{low}, test accuracy {percent(self.test_accuracy)}"
        )
