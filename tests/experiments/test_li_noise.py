"""The experiments under label noise: rules on made-up studies, and a run on digits that shares its networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from netpact.experiments import EXPERIMENTS, Experiment, Finding, run_experiment
from netpact.experiments.studying import open_data
from netpact.models import parameter_count, parse_model
from netpact.papers.li.noise_presets import (
    CORRUPTED,
    FIFTH,
    HALF,
    NOISES,
    PAIR,
    RATES,
    SHARES,
    TAUGHT,
    find_treatment,
    plain,
    plain_cp,
    taught,
    taught_cp,
)
from netpact.papers.li.noise_studying import NoiseStudy, draw_labels, few, study_noise
from netpact.runs import Inline, TaskDone

ON_TAUGHT = ("li-table6", "li-fig5", "li-fig6")
Curves = Mapping[str, tuple[float, ...]]


def study(name: str, *curve: float, parameters: int = 100, reached: float = 0.9) -> NoiseStudy:
    last = curve[-few(len(curve)) :]
    return NoiseStudy(
        study=name,
        seed=0,
        model="made up",
        parameters=parameters,
        data="none",
        fingerprint="none",
        samples=10,
        train_accuracy=reached,
        test_accuracy=sum(last) / len(last),
        least=0.5,
        curve=curve,
    )


def judge(experiment: str, studies: Mapping[str, NoiseStudy]) -> list[Finding]:
    return [question.judge([studies]) for question in EXPERIMENTS[experiment].questions]


def taught_studies(gain: float) -> dict[str, NoiseStudy]:
    """Co-teaching falls from 0.8 to 0.7, CP layers are better by the gain all along, plain training is at 0.5."""
    found: dict[str, NoiseStudy] = {}
    for noise in (PAIR, HALF, FIFTH):
        found[plain(noise)] = study(plain(noise), 0.6, 0.5, 0.5, 0.5)
        found[taught(noise)] = study(taught(noise), 0.6, 0.8, 0.75, 0.7)
        for share in SHARES:
            found[taught_cp(noise, share)] = study(taught_cp(noise, share), *(y + gain for y in (0.6, 0.8, 0.75, 0.7)))
    return found


def test_table_6() -> None:
    better, worse = judge("li-table6", taught_studies(0.01)), judge("li-table6", taught_studies(-0.03))
    assert [finding.verdict for finding in better] == ["reproduced"] * 6
    assert better[0].numbers == (pytest.approx(20.0),)
    assert [finding.published for finding in better] == [31.11, 25.27, 3.2, 4.8, 3.38, 0.66]
    assert [finding.verdict for finding in worse] == ["reproduced"] * 3 + ["not reproduced"] * 3
    assert worse[5].numbers == (pytest.approx(3.0),), "a low effect is one of either sign"


def test_figure_5_asks_for_every_ratio() -> None:
    studies = taught_studies(0.01)
    assert all(judge("li-fig5", studies))
    studies[taught_cp(PAIR, SHARES[-1])] = study("weak", 0.6, 0.6, 0.6, 0.6)
    assert [bool(finding) for finding in judge("li-fig5", studies)] == [False, True, True, True, False]


def test_figure_6_looks_from_the_best_epoch_on() -> None:
    studies = taught_studies(0.01)
    assert all(judge("li-fig6", studies))
    # Below before the best epoch does not count, below after it does.
    studies[taught_cp(PAIR)] = study("late", 0.1, 0.8, 0.75, 0.71)
    assert [bool(finding) for finding in judge("li-fig6", studies)] == [True, True, True, True]
    studies[taught_cp(PAIR)] = study("late", 0.9, 0.9, 0.74, 0.71)
    found = judge("li-fig6", studies)
    assert [bool(finding) for finding in found] == [True, True, False, True]
    assert found[2].numbers == (pytest.approx(2 / 3),)
    studies[taught(HALF)] = study("rising", 0.5, 0.6, 0.7, 0.7)
    assert not judge("li-fig6", studies)[1], "what does not fall has not deteriorated"


def test_table_3() -> None:
    studies = {plain(f"random-{rate}"): study("vgg", 0.9 - rate / 100) for rate in RATES}
    studies |= {plain_cp(f"random-{rate}"): study("cp", 0.91 - rate / 100) for rate in RATES}
    found = judge("li-table3", studies)
    assert all(found)
    assert [finding.published for finding in found] == [2.33, 7.5, 10.71, 6.85, 11.68]
    studies[plain_cp("random-60")] = study("cp", 0.29)
    assert [bool(finding) for finding in judge("li-table3", studies)] == [True, True, False, True, True]
    studies[plain("random-80")] = study("vgg", 0.09, reached=0.3)
    assert {finding.verdict for finding in judge("li-table3", studies)} == {"not judged"}, "not learned by heart"


def test_what_a_study_is() -> None:
    assert find_treatment(taught_cp(PAIR, 25)) == (NOISES[PAIR], True)
    assert find_treatment(plain_cp("random-40")) == (NOISES["random-40"], False)
    # Drawn anew among ten classes: one in ten is the true one again.
    assert NOISES["random-40"].rate == pytest.approx(0.36)
    assert (NOISES[PAIR].kind, NOISES[PAIR].rate) == ("pair-flip", 0.45)
    assert [few(epochs) for epochs in (1, 4, 20, 40, 200)] == [1, 1, 5, 10, 10]
    assert study("x", 0.1, 0.7, 0.7, 0.2).best_epoch == 2


@pytest.mark.parametrize("preset", ["quick", "full", "digits"])
def test_cp_networks_are_no_larger(preset: str) -> None:
    shape = (1, 8, 8) if preset == "digits" else (1, 28, 28)

    def size(model: str) -> int:
        return parameter_count(parse_model(model, input_shape=shape, classes=10))

    cases = TAUGHT[preset].cases
    sizes = [size(cases[taught_cp(PAIR, share)].model) for share in SHARES]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= size(cases[taught(PAIR)].model)
    assert {case.epochs for case in cases.values()} == {cases[plain(PAIR)].epochs}, "all are trained equally long"
    other = CORRUPTED[preset].cases
    assert size(other[plain_cp("random-20")].model) <= size(other[plain("random-20")].model)
    assert not any("." in name for name in (*cases, *other)), "names of files: what follows a dot would be cut off"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("noise")


@pytest.fixture(scope="module")
def table_6(folder: Path) -> Experiment:
    return run_experiment("li-table6", preset="digits", seeds=1, out=folder, engine=Inline())


def test_labels_are_noisy_and_shared_and_test_labels_true(table_6: Experiment) -> None:
    data = open_data("digits", limit=100, tested=100)
    noisy = draw_labels(data, NOISES[PAIR], 0)
    assert noisy.test is data.test
    away = (noisy.train.labels - data.train.labels) % 10  # type: ignore[attr-defined]
    assert set(away) == {0, 1}
    assert 30 <= (away == 1).sum() <= 60
    seen = {table_6.chosen(name)[0].fingerprint for name in (plain(PAIR), taught(PAIR), taught_cp(PAIR))}
    assert seen == {noisy.train.fingerprint()}
    one: NoiseStudy = table_6.chosen(taught_cp(HALF))[0]
    assert len(one.curve) == 4
    assert one.test_accuracy == pytest.approx(one.curve[-1])
    assert {finding.verdict for finding in table_6.findings} == {"not judged"}, "too small, and says so"
    page = table_6.page.read_text()
    assert all(f"{number}" in page for number in ("92.43", "94.70", "97.91", "0.24", "80.88", "not run"))


@pytest.mark.parametrize("name", ["li-fig6", "li-fig5", "li-table3"])
def test_the_others_use_its_networks(name: str, table_6: Experiment, folder: Path) -> None:
    told: list[TaskDone] = []
    found = run_experiment(name, preset="digits", seeds=1, out=folder, engine=Inline(), progress=told.append)
    there = {one.study for one in table_6.studies}
    new = [study for study in EXPERIMENTS[name].studies if study not in there]
    assert [done.key for done in told if not done.reused] == [f"digits-{study}-0" for study in new]
    assert len(new) == {"li-fig6": 0, "li-fig5": 3, "li-table3": 8}[name]
    page = found.page.read_text()
    assert all(finding.claim.split(" (")[0] in page for finding in found.findings)
    assert "Li et al. 2020" in page


def test_all_four_have_one_task() -> None:
    assert all(EXPERIMENTS[name].task is study_noise for name in (*ON_TAUGHT, "li-table3"))
