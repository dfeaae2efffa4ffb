"""Tables 2 and 3 of "Rethinking compressed CNNs": the rules on networks made up by hand, and one small run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from netpact.core.errors import PactError
from netpact.experiments import EXPERIMENTS, JointQuestion, run_experiment
from netpact.experiments.findings import NOT_JUDGED, NOT_REPRODUCED, REPRODUCED, Finding
from netpact.models import build, parse_model
from netpact.papers.rethinking.ablation import RatioStudy, deviations_below
from netpact.papers.rethinking.ablation_presets import RATIOS, RESNET, RESNEXT, SHUFFLENET, name_network

TABLES = ("rethinking-table2", "rethinking-table3")
QUESTIONS = [(name, place) for name in TABLES for place in range(len(EXPERIMENTS[name].questions))]
Seeded = dict[str, RatioStudy]


def study(family: str, ratio: int, accuracy: float, *, seed: int = 0, parameters: int | None = None) -> RatioStudy:
    return RatioStudy(
        study=name_network(family, ratio),
        seed=seed,
        model="bottleneck:20-8-1-1-1",
        parameters=100 * ratio if parameters is None else parameters,
        data="made up",
        fingerprint="sha256:0",
        samples=50,
        train_accuracy=0.95,
        test_accuracy=accuracy,
        least=0.9,
        flops=1000,
    )


def seeds(name: str, gain: float = 0.0) -> list[Seeded]:
    """Three seeds whose accuracies are 1 point apart; larger ratios are better by the gain, the largest one is not."""
    found = []
    for seed, first in enumerate((0.50, 0.51, 0.52)):
        one: Seeded = {}
        for family in (RESNET,) if name == TABLES[0] else (RESNEXT, SHUFFLENET):
            for ratio in RATIOS[family]:
                accuracy = first + (gain * (ratio > 1) if ratio < max(RATIOS[family]) else 0.0)
                one[name_network(family, ratio)] = study(family, ratio, accuracy, seed=seed)
        found.append(one)
    return found


def judge(name: str, place: int, by_seed: list[Seeded]) -> Finding:
    return EXPERIMENTS[name].questions[place].judge(by_seed)


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_all_hold_where_the_ratio_does_not_matter(name: str, place: int) -> None:
    found = judge(name, place, seeds(name))
    assert found.verdict == REPRODUCED, found
    one_number = isinstance(EXPERIMENTS[name].questions[place], JointQuestion)
    assert len(found.numbers) == len(found.holds) == (1 if one_number else 3)
    assert len(found.accuracies) == 3


def spoil(name: str, place: int) -> list[Seeded]:
    """Studies in which the question's rule fails."""
    question = EXPERIMENTS[name].questions[place]
    if "deviations" in question.rule:
        return seeds(name, gain=0.0101)  # the deviation over the seeds is 0.01
    if "worst case" in question.rule:
        return seeds(name, gain=0.0201)
    if "share of the three steps" in question.rule:
        return [
            {key: replace(one, test_accuracy=one.parameters / 1e4) for key, one in by_name.items()}
            for by_name in seeds(name)
        ]
    return [{key: replace(one, parameters=100) for key, one in by_name.items()} for by_name in seeds(name)]


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_each_can_fail(name: str, place: int) -> None:
    assert judge(name, place, spoil(name, place)).verdict == NOT_REPRODUCED


def test_deviations_by_hand() -> None:
    """Means 0.51 and 0.53 with deviations 0.01 and 0.02: 0.02 / sqrt((1e-4 + 4e-4) / 2)."""
    narrow, wide = (0.50, 0.51, 0.52), (0.51, 0.53, 0.55)
    by_seed = [
        {name_network(RESNET, 1): study(RESNET, 1, low), name_network(RESNET, 4): study(RESNET, 4, high)}
        for low, high in zip(narrow, wide, strict=True)
    ]
    assert deviations_below(RESNET, (4,), by_seed) == pytest.approx(0.02 / math.sqrt(2.5e-4))
    assert math.isnan(deviations_below(RESNET, (4,), by_seed[:1])), "one seed has no deviation"


def test_one_seed_is_not_judged_by_deviations() -> None:
    found = judge(TABLES[0], 0, seeds(TABLES[0])[:1])
    assert (found.verdict, found.numbers) == (NOT_JUDGED, (None,))
    low = seeds(TABLES[0])
    low[1][name_network(RESNET, 8)] = replace(low[1][name_network(RESNET, 8)], train_accuracy=0.89)
    assert judge(TABLES[0], 0, low).verdict == NOT_JUDGED


def test_a_joint_rule_ends_in_a_limit() -> None:
    with pytest.raises(PactError, match="must end in a limit"):
        JointQuestion("claim", "accuracy", lambda _: 0.0)
    with pytest.raises(PactError, match="no networks"):
        EXPERIMENTS[TABLES[0]].questions[0].judge([])


def test_numbers_of_the_paper() -> None:
    published = [one.published for one in EXPERIMENTS[TABLES[0]].questions]
    assert published == [None, pytest.approx(5.56 / 8.55), pytest.approx(0.5), pytest.approx(1 / 3)]


@pytest.mark.parametrize("name", TABLES)
def test_a_small_run(name: str, tmp_path: Path) -> None:
    found = run_experiment(name, preset="digits", seeds=1, out=tmp_path)
    assert [one.study for one in found.studies] == list(EXPERIMENTS[name].studies)
    assert {finding.verdict for finding in found.findings} == {NOT_JUDGED}
    one = found.studies[-1]
    assert isinstance(one, RatioStudy)
    module = build(parse_model(one.model, input_shape=(1, 8, 8), classes=10))
    assert one.parameters == sum(parameter.numel() for parameter in module.parameters())
    with FlopCounterMode(display=False) as counter:
        module(torch.rand(1, 1, 8, 8))
    assert one.flops == counter.get_total_flops()
    page = found.page.read_text()
    assert "worst" in page
    assert "in the paper" in page


def test_quick_networks_have_the_share_of_parameters_that_the_paper_has() -> None:
    """At most 65 % of the parameters at t = 1; trained alike but for t."""
    cases = EXPERIMENTS[TABLES[0]].presets["quick"].cases
    counts = [
        sum(p.numel() for p in build(parse_model(case.model, input_shape=(3, 32, 32), classes=10)).parameters())
        for case in (cases[name_network(RESNET, ratio)] for ratio in (1, 4))
    ]
    assert counts[0] / counts[1] <= 0.65
    assert len({replace(case, model="") for case in cases.values()}) == 1
