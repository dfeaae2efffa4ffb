"""The rules that decide the findings about tensors, on studies whose answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from experiments.li_examples import BETWEEN, FLAT, LAYERS, PRUNED, SPIKY, history, layers, properties, seeds, study

from netpact.core.json import decode_json, encode_json
from netpact.experiments import EXPERIMENTS
from netpact.experiments.findings import MIXED, NOT_JUDGED, NOT_REPRODUCED, REPRODUCED, Finding
from netpact.papers.li.presets import CORRUPTED, CP_VGG, CP_WRN, RANDOM, TRAINED, VGG, WRN
from netpact.papers.li.spectrum import LayerSpectrum
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import study_tensors

OURS = [name for name, plan in EXPERIMENTS.items() if plan.task is study_tensors]
QUESTIONS = [
    pytest.param(name, place, id=f"{name}-{place}")
    for name in OURS
    for place in range(len(EXPERIMENTS[name].questions))
]


def judge(name: str, place: int, by_seed: list[dict[str, TensorStudy]]) -> Finding:
    return EXPERIMENTS[name].questions[place].judge(by_seed)


def of(name: str, count: int = 3) -> list[dict[str, TensorStudy]]:
    return seeds(EXPERIMENTS[name].studies, count)


def test_all_are_there() -> None:
    assert {"li-fig1", "li-fig2", "li-fig3", "li-fig4", "li-fig7", "li-fig8", "li-table2", "li-table5"} <= set(OURS)


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_all_hold_in_the_made_up_networks(name: str, place: int) -> None:
    assert judge(name, place, of(name)).verdict == REPRODUCED, judge(name, place, of(name))


# For each question a network in which it does not hold, and nothing else is changed.
WORSE = {
    ("li-fig1", 0): {CP_VGG: study(CP_VGG, layers=layers((1.0, 0.4, 0.4, 0.4)))},
    ("li-fig1", 1): {CP_WRN: study(CP_WRN, layers=layers((1.0, 0.4, 0.4, 0.4)))},
    ("li-fig1", 2): {VGG: study(VGG, layers=layers((1.0, *[0.01] * 9)))},
    ("li-fig2", 0): {TRAINED: study(TRAINED, arora=2.7)},
    ("li-fig2", 1): {TRAINED: study(TRAINED, parameters=600)},
    ("li-fig2", 2): {TRAINED: study(TRAINED, history=history(valid=(600, 700, 800, 900)))},
    ("li-fig2", 3): {TRAINED: study(TRAINED, history=history(printed=(100, 200, 300, 400)))},
    ("li-fig2", 4): {TRAINED: study(TRAINED, history=history(printed=(400, 300, 100, 100)))},
    ("li-fig3", 0): {CORRUPTED: study(CORRUPTED, properties=properties(kept=2))},
    ("li-fig3", 1): {TRAINED: study(TRAINED, properties=properties(tensorization=2.9))},
    ("li-fig3", 2): {TRAINED: study(TRAINED, properties=properties(noise=1.6, whole=10.0))},
    ("li-fig3", 3): {TRAINED: study(TRAINED, properties=properties(whole=3.0))},
    ("li-fig3", 4): {TRAINED: study(TRAINED, properties=properties(cushion=0.09))},
    ("li-fig4", 0): {CP_VGG: study(CP_VGG, layers=(*layers(SPIKY)[:2], *layers((1.0,))[2:]))},
    ("li-fig4", 1): {CP_VGG: study(CP_VGG, layers=layers((1.0, 0.3, 0.1, 0.1)))},
    ("li-fig4", 2): {VGG: study(VGG, layers=layers((1.0, 0.3, 0.1, 0.1)))},
    ("li-fig4", 3): {VGG: study(VGG, layers=(*layers(FLAT)[1:], *layers(FLAT, error=1.1e-3)[:1]))},
    ("li-fig7", 0): {CORRUPTED: study(CORRUPTED, layers=layers(BETWEEN, largest=0.6))},
    ("li-fig7", 1): {TRAINED: study(TRAINED, layers=(*layers(SPIKY)[:3], layers(FLAT)[3]))},
    ("li-fig7", 2): {RANDOM: study(RANDOM, layers=(*layers(FLAT)[:3], layers(SPIKY)[3]))},
    ("li-fig8", 0): {RANDOM: study(RANDOM, properties=properties(tensorization=4.1))},
    ("li-fig8", 1): {RANDOM: study(RANDOM, properties=properties(noise=0.9, whole=1.0))},
    ("li-fig8", 2): {RANDOM: study(RANDOM, properties=properties(noise=3.0, whole=16.0))},
    ("li-fig8", 3): {RANDOM: study(RANDOM, properties=properties(kept=2))},
    ("li-table2", 0): {CP_VGG: study(CP_VGG, test_accuracy=0.869)},
    ("li-table2", 1): {CP_VGG: study(CP_VGG, train_accuracy=0.97)},
    ("li-table2", 2): {CP_VGG: study(CP_VGG, parameters=1001)},
    ("li-table2", 3): {CP_WRN: study(CP_WRN, test_accuracy=0.869)},
    ("li-table2", 4): {CP_WRN: study(CP_WRN, train_accuracy=0.97)},
    ("li-table2", 5): {CP_WRN: study(CP_WRN, parameters=1001)},
    # A fifth is left only at a threshold that costs 0.6 points.
    ("li-table5", 0): {CP_VGG: study(CP_VGG, pruned=(*PRUNED[:3], replace(PRUNED[3], accuracy=0.894), PRUNED[4]))},
    ("li-table5", 1): {CP_VGG: study(CP_VGG, pruned=(*PRUNED[:2], replace(PRUNED[2], accuracy=0.897), *PRUNED[3:]))},
}  # fmt: skip


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_each_can_fail(name: str, place: int) -> None:
    worse = [{**one, **WORSE[name, place]} for one in of(name)]
    assert judge(name, place, worse).verdict == NOT_REPRODUCED, judge(name, place, worse)
    assert judge(name, place, [*of(name, 2), worse[2]]).verdict == MIXED


def test_a_random_network_need_not_fit_and_a_corrupted_one_must() -> None:
    assert judge("li-fig7", 1, of("li-fig7")).accuracies == (0.1, 0.1, 0.1)
    low = [{**one, CORRUPTED: study(CORRUPTED, train_accuracy=0.89)} for one in of("li-fig7")]
    assert judge("li-fig7", 1, low).verdict == NOT_JUDGED


def test_numbers_of_the_paper() -> None:
    """Table 5 as printed: 95.09 %, and 94.53 % at 1e-2, which is more than half a point less."""
    factor, cost = EXPERIMENTS["li-table5"].questions
    assert factor.published == pytest.approx(36.5 / 6.9)
    assert cost.published == pytest.approx(0.04)
    assert [one.published for one in EXPERIMENTS["li-table2"].questions[::3]] == pytest.approx([1.04, -0.74])


def test_numbers_of_a_spectrum() -> None:
    layer = LayerSpectrum("conv", 100, (4.0, 2.0, 0.8, 0.0), 0.0)
    assert layer.normalised.tolist() == [1, 0.5, 0.2, 0]
    assert layer.share_above(0.2) == 0.5, "above, not at"
    assert layer.mean == pytest.approx(1.7 / 4)
    dead = LayerSpectrum("conv", 100, (0.0, 0.0), 0.0)
    assert dead.share_above(0.2) == dead.mean == 0


@pytest.mark.parametrize("kind", [VGG, CP_VGG, TRAINED, CORRUPTED, RANDOM, WRN, CP_WRN])
def test_studies_survive_json(kind: str) -> None:
    one = study(kind)
    told = decode_json(encode_json(one.to_json(), where="study"), where="study")
    assert isinstance(told, dict)
    assert TensorStudy.read(told) == one
    assert len(str(one.summary())) < len(str(one.to_json()))
    assert len(one.layers) == LAYERS


def test_ratios_are_geometric_means_and_dead_layers_say_nothing() -> None:
    mixed = (*properties(noise=0.5)[:2], *properties(noise=2.0)[2:])
    one = {TRAINED: study(TRAINED, properties=mixed), CORRUPTED: study(CORRUPTED, properties=properties())}
    assert EXPERIMENTS["li-fig3"].questions[2].number(one) == pytest.approx(1)
    dead = {**one, TRAINED: study(TRAINED, properties=(*properties()[1:], *properties(noise=0.0)[:1]))}
    assert judge("li-fig3", 2, [dead]).numbers == (None,)
    assert judge("li-fig3", 2, [dead]).verdict == NOT_REPRODUCED
    assert properties(whole=0.0)[0].relative_noise != properties(whole=0.0)[0].relative_noise, "not a number"


def test_a_bound_that_does_not_move_follows_nothing() -> None:
    still = [{TRAINED: study(TRAINED, history=history(valid=(1000,) * 4))}]
    assert judge("li-fig2", 2, still).numbers == (None,)
    assert judge("li-fig2", 2, still).verdict == NOT_REPRODUCED
    late = [{TRAINED: study(TRAINED, history=history()[:3])}]
    assert judge("li-fig2", 4, late).numbers == (None,), "one look at a fitting network says nothing"
    infinite = [{TRAINED: study(TRAINED, arora=None)}]
    assert judge("li-fig2", 0, infinite).numbers == (None,)


def test_numbers_of_a_look() -> None:
    point = history()[0]
    assert point.gap == pytest.approx(0.1)
    assert point.bound(200) == 2
    assert EXPERIMENTS["li-fig2"].questions[0].published == pytest.approx(math.log10(21951570 / 7494632), abs=1e-5)
