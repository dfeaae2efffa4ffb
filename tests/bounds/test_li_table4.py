"""li-table4: its rules on made-up studies, the paper's own numbers, and what one tiny network gives."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from netpact.core.json import decode_json, encode_json
from netpact.experiments import EXPERIMENTS
from netpact.experiments.findings import MIXED, NOT_JUDGED, NOT_REPRODUCED, REPRODUCED
from netpact.papers.li.effective_study import EffectiveStudy, LayerNumbers
from netpact.papers.li.experiments.table4 import later_against_earlier, log10_excess
from netpact.papers.li.presets import CP_VGG

PLAN = EXPERIMENTS["li-table4"]
WEIGHTS = 1000


def layers(
    *,
    valid: tuple[int, ...] = (1000, 900, 500, 100),
    printed: tuple[int, ...] = (1000, 800, 400, 50),
    arora: float = 4.0,
) -> tuple[LayerNumbers, ...]:
    """Four convolutions of 1,000 weights, and a linear layer that no rule looks at."""
    found = [
        LayerNumbers(f"conv{place}", "conv2d", WEIGHTS, 50, one, two, arora)
        for place, (one, two) in enumerate(zip(valid, printed, strict=True))
    ]
    return (*found, LayerNumbers("fc", "linear", 10, 5, 10**9, 10**9, None))


def study(*, seed: int = 0, accuracy: float = 1.0, numbers: tuple[LayerNumbers, ...] | None = None) -> EffectiveStudy:
    return EffectiveStudy(
        study=CP_VGG,
        seed=seed,
        model="cp-vgg:11-8-100-1",
        parameters=4000,
        data="made up",
        fingerprint="sha256:0",
        samples=50,
        train_accuracy=accuracy,
        test_accuracy=0.5,
        least=0.9,
        gamma=1.0,
        eps=0.1,
        layers=layers() if numbers is None else numbers,
    )


# For each question layers in which it does not hold.
WORSE = (
    layers(valid=(1000, 900, 500, 1101)),
    layers(arora=math.log10(1999.0)),
    layers(valid=(1000, 900, 900, 900)),
    layers(printed=(50, 50, 50, 50)),
    layers(valid=(10**5, 10**5, 100, 100)),
)


@pytest.mark.parametrize("place", range(len(PLAN.questions)))
def test_each_rule_can_hold_and_can_fail(place: int) -> None:
    question = PLAN.questions[place]
    good = [{CP_VGG: study(seed=seed)} for seed in range(3)]
    bad = [{CP_VGG: study(seed=seed, numbers=WORSE[place])} for seed in range(3)]
    assert question.judge(good).verdict == REPRODUCED
    assert question.judge(bad).verdict == NOT_REPRODUCED
    assert question.judge([*good[:2], bad[2]]).verdict == MIXED
    assert question.judge([{CP_VGG: study(accuracy=0.8)}]).verdict == NOT_JUDGED


def test_the_paper_keeps_its_own_rules_but_the_first_by_a_little() -> None:
    """Its numbers are printed beside ours; the rule of the first question leaves room for rounded ranks."""
    published = [question.published for question in PLAN.questions]
    assert published == pytest.approx([1.003255, 26.019596, 0.3338, 0.3338, 0.4667], rel=1e-3)
    assert all(question.holds(question.published or 0.0) for question in PLAN.questions)


def test_halves_leave_the_middle_out() -> None:
    assert later_against_earlier([8.0, 2.0, 100.0, 1.0, 1.0]) == pytest.approx(0.25)
    assert log10_excess([900.0, 100.0], [10.0]) == pytest.approx(2.0)


def test_a_study_survives_as_json() -> None:
    told = decode_json(encode_json(study().to_json(), where="study"), where="study")
    assert EffectiveStudy.read(told) == study()  # type: ignore[arg-type]
    assert [layer.name for layer in study().convolutions] == ["conv0", "conv1", "conv2", "conv3"]


def test_an_infinite_number_is_shown_as_such() -> None:
    dead = replace(study(), layers=(LayerNumbers("conv", "conv2d", WEIGHTS, 5, 10, 10, None),) * 2)
    found = PLAN.questions[1].judge([{CP_VGG: dead}])
    assert found.numbers == (None,)
    assert found.verdict == REPRODUCED


def test_layers_of_one_network_have_the_names_of_both_accounts() -> None:
    """The composed network has a layer for each chain, under the chain's name."""
    from netpact.layers import CPConv2d, CPLinear
    from netpact.papers.li.lemmas.projecting import compose

    torch.manual_seed(0)
    network = torch.nn.Sequential(CPConv2d(2, 3, 3, 4), torch.nn.ReLU(), torch.nn.Flatten(), CPLinear(48, 4, 5)).eval()
    made = compose(network)
    images = torch.rand(3, 2, 6, 6)
    assert [type(part).__name__ for part in made] == ["Conv2d", "ReLU", "Flatten", "Linear"]  # type: ignore[attr-defined]
    assert torch.allclose(made(images), network(images), atol=1e-5)
    assert compose(made) is made
