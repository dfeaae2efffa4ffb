"""The rules that decide a finding, on studies whose answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from experiments.study_examples import NORMS, layers, observed, seeds, study

from netpact.core.errors import PactError
from netpact.core.json import decode_json, encode_json
from netpact.experiments import EXPERIMENTS, Question
from netpact.experiments.findings import MIXED, NOT_JUDGED, NOT_REPRODUCED, REPRODUCED, Finding
from netpact.papers.arora.comparing import earlier, later, ratio
from netpact.papers.arora.layer_study import CUSHION, INTERLAYER, LayerStudy, Sampled
from netpact.papers.arora.presets import ALEXNET, SHUFFLED, VGG

QUESTIONS = [
    pytest.param(name, place, id=f"{name}-{place}")
    for name, plan in EXPERIMENTS.items()
    if name.startswith("arora-")
    for place in range(len(plan.questions))
]


def judge(name: str, place: int, by_seed: list[dict[str, LayerStudy]]) -> Finding:
    return EXPERIMENTS[name].questions[place].judge(by_seed)


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_all_hold_in_the_made_up_network(name: str, place: int) -> None:
    found = judge(name, place, seeds())
    assert found.verdict == REPRODUCED, found
    assert len(found.numbers) == 3


# For each question a network in which it does not hold, and nothing else is changed.
WORSE = {
    ("arora-fig1", 0): {VGG: study(cushion=0.1)},
    ("arora-fig1", 1): {VGG: replace(study(), random=tuple(
        replace(one, sampled={**one.sampled, INTERLAYER: Sampled(1.0, 2.5, (2.5,))}) for one in layers()
    ))},
    ("arora-fig1", 2): {VGG: study(contraction=3.1)},
    ("arora-fig1", 3): {VGG: replace(study(), random=tuple(
        replace(one, sampled={**one.sampled, "interlayer_smoothness": Sampled(1.0, 4.1, (4.1,))}) for one in layers()
    ))},
    ("arora-fig1", 4): {VGG: replace(study(), layers=tuple(
        replace(one, sampled={**one.sampled, INTERLAYER: Sampled(0.49 if place == 3 else 0.6, 1.2, (1.2,))})
        for place, one in enumerate(layers(cushion=0.2))
    ))},
    ("arora-fig2", 0): {VGG: study(ours=13.1)},
    ("arora-fig2", 1): {VGG: study(ours=10.1)},
    ("arora-fig2", 2): {VGG: replace(study(), bounds={**study().bounds, "spec-fro": 14.9})},
    ("arora-fig2", 3): {VGG: replace(study(), bounds={**study().bounds, "vc": 13.1})},
    ("arora-fig2", 4): {VGG: replace(study(), epochs=(observed(1, 8.0), observed(4, 7.0), observed(8, 8.0)))},
    ("arora-fig2", 5): {VGG: replace(study(), epochs=(observed(1, 10.0), observed(20, 9.0), observed(40, 8.0)))},
    ("arora-fig2", 6): {ALEXNET: study(ALEXNET, cushion=0.1)},
    ("arora-fig2", 7): {ALEXNET: study(ALEXNET, contraction=2.0)},
    ("arora-fig2", 8): {ALEXNET: study(ALEXNET, ours=9.0)},
    ("arora-table1", 0): {VGG: replace(study(), layers=layers(cushion=0.2, percents=(400, 3, 3, 4, 3, 2)))},
    ("arora-table1", 1): {VGG: replace(study(), layers=layers(cushion=0.2, percents=(400, 300, 2, 6, 6, 5.1)))},
    ("arora-corrupted", 0): {ALEXNET: study(ALEXNET, cushion=0.1)},
    ("arora-corrupted", 1): {ALEXNET: study(ALEXNET, contraction=2.0)},
}  # fmt: skip


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_each_can_fail(name: str, place: int) -> None:
    worse = [{**one, **WORSE[name, place]} for one in seeds()]
    assert judge(name, place, worse).verdict == NOT_REPRODUCED
    assert judge(name, place, [*seeds(2), worse[2]]).verdict == MIXED


def test_a_network_that_has_not_learned_is_not_judged() -> None:
    by_seed = seeds()
    by_seed[1][SHUFFLED] = study(SHUFFLED, accuracy=0.89)
    found = EXPERIMENTS["arora-corrupted"].questions[0].judge(by_seed)
    assert found.verdict == NOT_JUDGED
    assert found.to_json()["verdict"] == "not judged"
    assert len(found.numbers) == 3, "the numbers are told all the same"
    assert found.accuracies == (1.0, 0.89, 1.0)
    by_seed[1][SHUFFLED] = study(SHUFFLED, accuracy=0.9)
    assert EXPERIMENTS["arora-corrupted"].questions[0].judge(by_seed).verdict == REPRODUCED


def test_infinite_bounds_do_not_speak_for_the_paper() -> None:
    dead = [{**one, VGG: study(ours=None)} for one in seeds()]
    found = judge("arora-fig2", 0, dead)
    assert found.verdict == NOT_REPRODUCED
    assert found.numbers == (None, None, None)
    infinite = replace(study(), layers=layers(cushion=0.2, percents=(400, 300, 200, math.inf, math.inf, math.inf)))
    assert judge("arora-table1", 1, [{VGG: infinite}]).verdict == NOT_REPRODUCED
    assert NORMS["spec-l1-2"] == min(NORMS.values())


def test_one_look_at_a_fitting_network_says_nothing() -> None:
    early = replace(study(), epochs=(observed(1, 10.0), observed(9, 9.0), observed(20, 8.0, test_error=0.1)))
    found = judge("arora-fig2", 5, [{VGG: early}])
    assert found.numbers == (None,)
    assert found.verdict == NOT_REPRODUCED


def test_ratio_is_a_geometric_mean_of_medians() -> None:
    one = layers(cushion=0.2)[:2]
    other = (layers(cushion=0.05)[0], layers(cushion=0.8)[1])
    assert ratio(one, other, CUSHION) == pytest.approx(math.sqrt(4 * 0.25))
    dead = replace(one[0], sampled={CUSHION: Sampled(None, None, ())})
    assert math.isnan(ratio((dead,), other[:1], CUSHION))
    assert math.isnan(ratio(one, other, "nothing"))


def test_halves_leave_the_middle_out() -> None:
    five = layers()[:5]
    assert [one.name for one in earlier(five)] == ["conv0", "conv1"]
    assert [one.name for one in later(five)] == ["conv3", "conv4"]


def test_studies_survive_json() -> None:
    for one in seeds(1)[0].values():
        text = encode_json(one.to_json(), where="study")
        record = decode_json(text, where="study")
        assert isinstance(record, dict)
        assert LayerStudy.read(record) == one
        assert "random" not in one.summary()


def test_errors() -> None:
    with pytest.raises(PactError, match=r"allowed: .*arora-fig1, arora-fig2, arora-table1, arora-corrupted"):
        EXPERIMENTS.look_up("arora-fig3")
    with pytest.raises(PactError, match="no networks"):
        judge("arora-fig1", 0, [])


def test_the_rule_says_what_is_judged() -> None:
    expected = {
        ">": (False, False, True),
        ">=": (False, True, True),
        "<": (True, False, False),
        "<=": (True, True, False),
    }
    for sign, holds in expected.items():
        asked = Question("claim", f"accuracy: {sign} 0.95", lambda one: one[VGG].train_accuracy)
        found = asked.judge([{VGG: study(accuracy=reached)} for reached in (0.94, 0.95, 0.96)])
        assert found.holds == holds
        assert found.rule == f"accuracy: {sign} 0.95"
    for wrong in ("accuracy: = 1", "accuracy > 1", "accuracy: > half", ""):
        with pytest.raises(PactError, match="rule: must end in a limit"):
            Question("claim", wrong, lambda one: 0.0)


def test_the_numbers_of_the_paper_stand_beside_ours() -> None:
    later_half, least = (judge("arora-table1", place, seeds()) for place in (0, 1))
    assert later_half.published == pytest.approx(math.sqrt(1.126 * 1.927) / 437.18)
    assert least.published == 0.963
    assert least.cells() == ("0.963", "2, 2, 2", "100.0%, 100.0%, 100.0%", "reproduced")
    assert judge("arora-fig1", 0, seeds()).cells()[0] == "–"
