"""The settings of an experiment: which networks, on which data, trained how long, measured how closely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netpact.datasets.catalogue import data_folders


@dataclass(frozen=True, kw_only=True)
class Case:
    """One network and how it is trained.

    limit       the first so many training samples; 0 for all
    recipe      name of a paper's recipe, out of netpact.training.PAPER_RECIPES, which brings optimizer, batch size,
                learning rate and weight decay along; empty for these and a cosine
    least       training accuracy that it must reach, or findings about it are not judged
    every       look at the bound at each so many-th epoch; 0 for never
    jacobians   at how many samples Jacobians and noise are looked at
    data        name of a data set of its own; empty for that of the preset
    """

    model: str
    limit: int
    epochs: int
    recipe: str = ""
    batch_size: int = 128
    learning_rate: float = 0.001
    optimizer: str = "adam"
    weight_decay: float = 0.0
    least: float
    every: int = 0
    jacobians: int = 20
    data: str = ""

    def to_json(self) -> dict[str, object]:
        """Without an empty `data`: records of networks trained before there was one stay valid."""
        told = asdict(self)
        return told if self.data else {name: value for name, value in told.items() if name != "data"}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """data: the first of these that is on this machine is used; tested: how many test samples there are at most.

    cases  the networks by the names of the studies; an experiment may use some of them
    """

    about: str
    data: tuple[str, ...]
    cases: Mapping[str, Case]
    tested: int

    def note(self, used: str) -> str:
        """What a reader should know of the setting."""
        missing = f" {self.data[0]} was not found on this machine, so {used} stands in for it."
        start = f"{self.about[0].upper()}{self.about[1:]}. The data are {used}."
        return start + (missing if self.data[0] not in used.split(", ") else "")


@dataclass(frozen=True, kw_only=True)
class SimulationPreset:
    """For experiments that draw their samples.

    cases  frozen dataclasses of plain values by the names of the studies
    time   seconds that a study of a case takes on this machine, from a small part of it
    """

    about: str
    cases: Mapping[str, Any]
    time: Callable[[Any], float]

    def note(self, used: str) -> str:
        return f"{self.about[0].upper()}{self.about[1:]}. The samples are {used}."


def choose_data(names: Sequence[str], folder: str | Path | None) -> str:
    """The name, or the file in `folder`, of the first of these data sets that is there.

    The last one is taken where none is: it is downloaded, or comes with scikit-learn.
    """
    for name in names:
        if folder is not None and (Path(folder) / f"{name}.npz").is_file():
            return str(Path(folder) / f"{name}.npz")
        if any((place / f"{name}.npz").is_file() for place in data_folders()):
            return name
    return names[-1]
