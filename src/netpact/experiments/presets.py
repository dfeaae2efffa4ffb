"""The settings of an experiment: which networks, on which data, trained how long, measured how closely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
        return start + (missing if used != self.data[0] else "")


def choose_data(preset: Preset, folder: str | Path | None) -> str:
    """The name, or the file in `folder`, of the first data set of the preset that is there.

    The last one is taken where none is: it is downloaded, or comes with scikit-learn.
    """
    for name in preset.data:
        if folder is not None and (Path(folder) / f"{name}.npz").is_file():
            return str(Path(folder) / f"{name}.npz")
        if any((place / f"{name}.npz").is_file() for place in data_folders()):
            return name
    return preset.data[-1]
