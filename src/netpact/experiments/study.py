"""One network or simulation of an experiment: its setting, and what was found in it. Both survive in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from netpact.core.percent import percent
from netpact.experiments.presets import Case
from netpact.runs import JsonValue

StudyT = TypeVar("StudyT", bound="BaseStudy")


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

    @property
    def used(self) -> str:
        """Where the samples come from, in a word."""
        return Path(self.data).stem

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "case": self.case.to_json()}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Setting:
        return Setting(**{**record, "case": Case(**record["case"])})


@dataclass(frozen=True, kw_only=True)
class SimulationSetting:
    """What the task of a simulation is given. case: a record of the plan's own, as plain JSON."""

    study: str
    case: Mapping[str, Any]
    seed: int
    out: str

    @property
    def used(self) -> str:
        return "drawn by the program"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "case": dict(self.case)}

    @staticmethod
    def read(record: Mapping[str, Any]) -> SimulationSetting:
        return SimulationSetting(**record)


@dataclass(frozen=True, kw_only=True)
class BaseStudy:
    """What one task of an experiment found. A simulation extends this record, a trained network extends Study."""

    things: ClassVar[str] = "simulations"
    study: str
    seed: int

    @property
    def fits(self) -> bool:
        """Findings about it can be judged."""
        return True

    @property
    def accuracy(self) -> float | None:
        """On the training samples; None where nothing is trained on data."""
        return None

    @property
    def source(self) -> str | None:
        """The fingerprint of its data; None where samples are drawn."""
        return None

    def to_json(self) -> dict[str, JsonValue]:
        return asdict(self)

    def summary(self) -> dict[str, JsonValue]:
        """What goes into the record of the experiment: all of it, unless a study has long tables to leave out."""
        return self.to_json()

    @classmethod
    def read(cls: type[StudyT], record: Mapping[str, Any]) -> StudyT:
        """The inverse of to_json; the record comes from our own store, which has checked whose it is."""
        return cls(**record)


@dataclass(frozen=True, kw_only=True)
class Study(BaseStudy):
    """What every trained network tells. An experiment extends it by a field for each thing that it finds.

    least  training accuracy that it must reach, or findings about it are not judged
    """

    things: ClassVar[str] = "networks"
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

    @property
    def accuracy(self) -> float:
        return self.train_accuracy

    @property
    def source(self) -> str:
        return self.fingerprint

    def facts(self) -> dict[str, Any]:
        """The fields that all studies have: `MyStudy(**trained.study.facts(), found=...)`."""
        return {field.name: getattr(self, field.name) for field in fields(Study)}

    def __str__(self) -> str:
        low = "" if self.fits else f", below the {percent(self.least, places=0)} that findings need"
        return (
            f"{self.study}, seed {self.seed} ({self.model}, {self.samples:,} samples): "
            f"training accuracy {percent(self.train_accuracy)}{low}, test accuracy {percent(self.test_accuracy)}"
        )
