"""Tables 1 and 2 and Figure 2 on digits: they run, share their networks, and their rules say what they should."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from netpact.bounds import EstimateOptions, Gamma, estimate_bounds
from netpact.datasets import load_data
from netpact.experiments import EXPERIMENTS, Experiment, run_experiment
from netpact.models import build, parse_model
from netpact.papers.guha.comparing import FORMULAS
from netpact.papers.guha.presets import CIFAR, CIFAR_10, COMPARED, MNIST, NAMES
from netpact.papers.guha.published import BARTLETT_2017, OURS, TABLE_1, TABLE_2
from netpact.papers.guha.study import (
    COUNTING,
    DENSE,
    LISTED,
    LISTED_MEASURED,
    MEASURED,
    PRINTED,
    BoundPoint,
    BoundStudy,
)
from netpact.papers.guha.studying import BoundHistory, evaluate_bounds
from netpact.runs import Inline, TaskDone

pytestmark = pytest.mark.xdist_group("guha-experiments")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def table_1(folder: Path) -> Experiment:
    return run_experiment("guha-table1", preset="digits", seeds=1, out=folder, engine=Inline())


def test_record(table_1: Experiment) -> None:
    assert [one.study for one in table_1.studies] == list(NAMES)
    assert {finding.verdict for finding in table_1.findings} == {"not judged"}, "too small, and says so"
    study = table_1.chosen(COMPARED)[0]
    assert set(study.bounds) == set(FORMULAS)
    assert [point.epoch for point in study.history] == [1, 2]
    assert table_1.chosen("mlp-500")[0].history == ()
    assert 0 < study.kept <= 1
    assert 0 < study.printed_scale < 1
    page = table_1.page.read_text()
    for words in ("<small>3.36</small>", "<small>-3.87</small>", "log^2 p", "ln of the test error", "not judged"):
        assert words in page
    json.dumps(table_1.to_json())


def test_figure_2_has_the_network_of_table_1(table_1: Experiment, folder: Path) -> None:
    told: list[TaskDone] = []
    found = run_experiment("guha-fig2", preset="digits", seeds=1, out=folder, engine=Inline(), progress=told.append)
    assert all(done.reused for done in told)
    assert found.studies == table_1.chosen(COMPARED)
    assert "Bound over training" in found.page.read_text()


def test_table_2(folder: Path) -> None:
    found = run_experiment("guha-table2", preset="digits", seeds=1, out=folder, engine=Inline())
    assert [one.study for one in found.studies] == [CIFAR]
    assert "<small>22.40</small>" in found.page.read_text()


def test_bounds_of_a_study_are_those_of_the_table() -> None:
    """The measured ones are put together from one pruned network: the same as by two calls of estimate_bounds."""
    data = load_data("digits", limit=80)
    module = build(parse_model("mlp:6-6-6-6", input_shape=data.input_shape, classes=data.classes))
    found = evaluate_bounds(module, data)
    options = EstimateOptions(gamma=Gamma(value=found.gamma), pruning_form="measured")
    rows = estimate_bounds(module, data, options, only=[PRINTED, LISTED])
    assert found.bounds[MEASURED] == pytest.approx(rows[PRINTED].log_value)
    assert found.bounds[LISTED_MEASURED] == pytest.approx(rows[LISTED].log_value)


def test_history_survives_a_kill(tmp_path: Path) -> None:
    data = load_data("digits", limit=60)
    module = build(parse_model("mlp:4-4", input_shape=data.input_shape, classes=data.classes))
    history = BoundHistory(tmp_path / "file.watch", data, every=3)
    for epoch in (1, 2, 3):
        history(epoch, module)
    assert [point.epoch for point in history.points] == [1, 3]
    assert BoundHistory(tmp_path / "file.watch", data, every=3).points == history.points


def test_presets_are_the_papers_setting() -> None:
    assert [case.model for case in MNIST["full"].cases.values()][:2] == ["mlp:500-500-500-500", "mlp:784-784-784-784"]
    assert {case.recipe for case in MNIST["full"].cases.values()} == {"guha-mlp"}
    assert {case.epochs for case in MNIST["full"].cases.values()} == {300}
    assert CIFAR_10["full"].cases[CIFAR].recipe == "guha-mlp-cifar10"
    assert [case.every > 0 for name, case in MNIST["quick"].cases.items()] == [name == COMPARED for name in NAMES]


def make_study(name: str, bounds: dict[str, float], **changes: object) -> BoundStudy:
    study = BoundStudy(
        study=name,
        seed=0,
        model="mlp:5-5-5-5",
        parameters=100,
        data="made up",
        fingerprint="sha256:0",
        samples=100,
        train_accuracy=1.0,
        test_accuracy=0.9,
        least=0.9,
        gamma=1.0,
        bounds=bounds,
        pruned_error=0.1,
        kept=0.5,
        scale=1.0,
        bits=8,
        printed_scale=1e-9,
    )
    return replace(study, **changes)  # type: ignore[arg-type]


def as_printed(place: int) -> dict[str, float]:
    ours = dict.fromkeys((PRINTED, MEASURED, DENSE), TABLE_1[OURS][place])
    rest = {LISTED: 9.0, LISTED_MEASURED: 9.0, COUNTING: 9.0}
    return {**{name: row[place] for name, row in TABLE_1.items()}, **ours, **rest}


def test_rules_hold_of_the_papers_own_table() -> None:
    seeded = {name: make_study(name, as_printed(place)) for place, name in enumerate(NAMES)}
    for question in EXPERIMENTS["guha-table1"].questions:
        finding = question.judge([seeded])
        assert finding.verdict == "reproduced", finding.claim
        if finding.published is not None and "true error" not in finding.claim:
            assert finding.numbers[0] == pytest.approx(finding.published), finding.claim
    cifar = {**TABLE_2, PRINTED: TABLE_2[OURS], MEASURED: TABLE_2[OURS], DENSE: TABLE_2[OURS], LISTED_MEASURED: 9.0}
    for question in EXPERIMENTS["guha-table2"].questions:
        assert question.judge([{CIFAR: make_study(CIFAR, cifar)}]).verdict == "reproduced"


@pytest.mark.parametrize("question", EXPERIMENTS["guha-table1"].questions, ids=lambda question: question.claim[:60])
def test_rules_fail_of_one_width_that_differs(question: object) -> None:
    """The third network has every bound upside down, and the widest a Theorem 5.2 that is far above."""
    seeded = {name: make_study(name, as_printed(place)) for place, name in enumerate(NAMES)}
    turned = {name: 5 - value for name, value in as_printed(2).items()}
    seeded[NAMES[2]] = make_study(
        NAMES[2],
        {**turned, MEASURED: -1.0, LISTED_MEASURED: -2.0, COUNTING: -2.0, BARTLETT_2017: -3.0, LISTED: -9.0},
        pruned_error=0.4,
    )
    seeded[NAMES[-1]] = make_study(NAMES[-1], {**as_printed(5), PRINTED: 13.0})
    assert question.judge([seeded]).verdict == "not reproduced"  # type: ignore[attr-defined]


def test_rules_of_figure_2() -> None:
    points = tuple(
        BoundPoint(epoch, 0.1, 0.5 / epoch, 1.0, {PRINTED: 5.0 / epoch, MEASURED: 5.0 / epoch}) for epoch in (1, 2, 3)
    )
    falling = {COMPARED: make_study(COMPARED, {}, history=points)}
    rising = {
        COMPARED: make_study(
            COMPARED, {}, history=tuple(replace(p, bounds={PRINTED: p.epoch, MEASURED: p.epoch}) for p in points)
        )
    }
    still = {COMPARED: make_study(COMPARED, {}, history=tuple(replace(p, bounds=points[0].bounds) for p in points))}
    for question in EXPERIMENTS["guha-fig2"].questions:
        assert question.judge([falling]).verdict == "reproduced"
        assert question.judge([rising]).verdict == "not reproduced"
        assert question.judge([still]).verdict == "not reproduced"


def test_no_errors_left_is_no_crash(table_1: Experiment) -> None:
    studies = tuple(replace(one, pruned_error=0.0) for one in table_1.studies)  # type: ignore[call-arg]
    found = replace(table_1, studies=studies)
    parts = EXPERIMENTS["guha-table1"].show(found)
    assert any("-inf" in part for part in parts if isinstance(part, str))
    assert math.isnan(EXPERIMENTS["guha-table1"].questions[-1].number({one.study: one for one in studies}))
