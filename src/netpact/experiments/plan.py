"""The record of an experiment before it is run, and the table of all of them: one file for each figure or table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netpact.core.checks import check_choice
from netpact.core.table import Table
from netpact.experiments.experiment import Experiment
from netpact.experiments.findings import JointQuestion, Question
from netpact.experiments.pages import Panel
from netpact.experiments.presets import Case, Preset, SimulationPreset
from netpact.experiments.study import BaseStudy, Study


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An experiment of a paper.

    title      the figure or table, and what it shows
    presets    quick, full, digits: each brings a case for every study
    studies    the networks that are needed, by name
    task       trains one network and returns its study as JSON; called with `setting`, the JSON of a Setting, or of a
               SimulationSetting where the samples are drawn. It stands at the top level of a module, so that a worker
               process can import it. Experiments with one task and one preset share their networks
    record     the type of the studies, which reads that JSON
    questions  what is asked of the networks of each seed, or of all seeds together
    epochs     how many epochs a study trains for, for the forecast; more than its case has where it trains repeatedly
    show       what the page shows below the findings: panels with a figure, or tables as HTML
    """

    name: str
    title: str
    paper: str
    presets: Mapping[str, Preset] | Mapping[str, SimulationPreset]
    studies: tuple[str, ...]
    task: Callable[..., Any]
    record: type[BaseStudy] = Study
    questions: tuple[Question | JointQuestion, ...]
    epochs: Callable[[str, Case], int] = lambda _, case: case.epochs
    show: Callable[[Experiment], Sequence[Panel | str]] = lambda _: ()

    def preset(self, name: object) -> Preset | SimulationPreset:
        return self.presets[check_choice(name, self.presets, where="preset")]

    def to_json(self) -> dict[str, object]:
        return {"experiment": self.name, "title": self.title, "paper": self.paper, "presets": list(self.presets)}


EXPERIMENTS: Table[Plan] = Table("experiment", "netpact.papers.*.experiments")
