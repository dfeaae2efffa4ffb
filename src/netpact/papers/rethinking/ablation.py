"""Networks that differ in their expansion ratio t = K / R alone: trained, compared, and shown beside the paper's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from netpact.core.percent import percent
from netpact.experiments import Experiment, Panel, Setting, Study, train_network
from netpact.network.flops import run_sample
from netpact.papers.rethinking.ablation_presets import RATIOS, name_network
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.frame import frame_table
from netpact.reports.text import count, escape
from netpact.runs import JsonValue

POINTS = 100


@dataclass(frozen=True, kw_only=True)
class RatioStudy(Study):
    """flops: of one sample, a multiply-add is two."""

    flops: int


def study_ratio(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train and test one network. It starts from Gaussian weights of variance 2 / fan-in, as the paper's do."""
    trained = train_network(Setting.read(setting))
    sample = torch.zeros((1, *trained.data.input_shape))
    return RatioStudy(**trained.study.facts(), flops=run_sample(trained.module, {}, sample).total).to_json()


@dataclass(frozen=True)
class PublishedRatio:
    """A row of a table: worst test accuracy of five seeds, 10^9 multiply-adds, 10^6 parameters."""

    accuracy: float
    giga_macs: float
    million_parameters: float


Seeded = Mapping[str, RatioStudy]  # the networks of one seed


def accuracies(family: str, ratio: int, seeds: Sequence[Seeded]) -> list[float]:
    return [one[name_network(family, ratio)].test_accuracy for one in seeds]


def deviations_below(family: str, others: Sequence[int], seeds: Sequence[Seeded]) -> float:
    """Standard deviations by which the mean accuracy at t = 1 lies below the highest mean of the others.

    (mean_t - mean_1) / sqrt((s_t^2 + s_1^2) / 2) with the deviations s over the seeds; not a number of one seed.
    """
    if len(seeds) < 2:
        return math.nan
    narrow = accuracies(family, 1, seeds)
    wide = max((accuracies(family, ratio, seeds) for ratio in others), key=statistics.mean)
    pooled = math.sqrt((statistics.variance(wide) + statistics.variance(narrow)) / 2)
    gap = statistics.mean(wide) - statistics.mean(narrow)
    return gap / pooled if pooled else math.copysign(math.inf, gap)


def worst_case_below(family: str, seeds: Sequence[Seeded]) -> float:
    """Points by which the worst case at t = 1 lies below the best worst case of larger ratios."""
    narrow, *wider = (min(accuracies(family, ratio, seeds)) for ratio in RATIOS[family])
    return POINTS * (max(wider) - narrow)


def parameter_share(family: str, ratio: int, one: Seeded) -> float:
    return one[name_network(family, 1)].parameters / one[name_network(family, ratio)].parameters


def show_ratios(found: Experiment, family: str, words: str, printed: Mapping[int, PublishedRatio]) -> list[Panel | str]:
    """The table of one family with the paper's numbers beside ours, and test accuracy over t."""
    studies: dict[int, tuple[RatioStudy, ...]] = {
        ratio: found.chosen(name_network(family, ratio)) for ratio in RATIOS[family]
    }
    heads = ("t", "parameters", "multiply-adds", "training", "test, each seed", "mean", "worst", "in the paper")
    rows = [(str(ratio), *_cells(ours, printed[ratio])) for ratio, ours in studies.items()]
    return [frame_table(f"{escape(words)}: accuracies", heads, rows), _panel(words, family, studies)]


def _cells(studies: Sequence[RatioStudy], printed: PublishedRatio) -> tuple[str, ...]:
    tested = [one.test_accuracy for one in studies]
    spread = f" ± {POINTS * statistics.stdev(tested):.2f}" if len(tested) > 1 else ""
    return (
        count(studies[0].parameters),
        count(studies[0].flops // 2),
        ", ".join(percent(one.train_accuracy) for one in studies),
        ", ".join(map(percent, tested)),
        f"{POINTS * statistics.mean(tested):.2f} %{spread}",
        percent(min(tested)),
        f"worst {printed.accuracy:.2f} %, {printed.million_parameters:.2f} M, {printed.giga_macs:.2f} GMac",
    )


def _panel(words: str, family: str, studies: Mapping[int, Sequence[RatioStudy]]) -> Panel:
    found = {float(ratio): [POINTS * one.test_accuracy for one in ours] for ratio, ours in studies.items()}
    curves = [
        Curve("mean", tuple((ratio, statistics.mean(ours)) for ratio, ours in found.items())),
        Curve("worst seed", tuple((ratio, min(ours)) for ratio, ours in found.items())),
    ]
    heading = f"{words}: test accuracy over t"
    return Panel(
        heading,
        "The same blocks with t times as many output channels as their rank.",
        lambda width: draw_curves(
            curves,
            name=f"{family}-accuracy",
            title=heading,
            x_title="t = K / R",
            y_title="test accuracy in %",
            width=width,
            logarithmic=True,
        ),
    )
