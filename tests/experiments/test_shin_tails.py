"""Figures 1 and 3 of Shin 2021: rules on made-up layers, the experiments on digits, networks of one's own."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm, spearmanr
from torch import nn

from netpact import PactError
from netpact.core.json import decode_json, encode_json
from netpact.experiments import EXPERIMENTS, run_experiment
from netpact.experiments.findings import NOT_REPRODUCED, REPRODUCED
from netpact.papers.shin.experiments.fig1 import density_error, tail_error
from netpact.papers.shin.stable_ranks import compare_ranks, stable_rank_against_alpha
from netpact.papers.shin.tail_presets import FAMILIES
from netpact.papers.shin.tail_study import LayerTail, TailStudy, layer_tails
from netpact.reports.charts.curves import Curve
from netpact.reports.charts.points import Cloud, draw_points
from netpact.reports.charts.shapes import Line
from netpact.runs import Inline

untyped: Any = stable_rank_against_alpha


def layer(alpha: float, rank: float, *, final: bool = False, **other: Any) -> LayerTail:
    made = LayerTail(
        name="fc",
        shape=(10, 20),
        final=final,
        alpha=alpha,
        alpha_stderr=0.1,
        tail_count=100,
        fits=True,
        eigenvalue_alpha=3.0,
        stable_rank=rank,
        stable_alpha=1.5,
        stable_stderr=0.1,
        over_gaussian=0.1,
        over_laplace=0.1,
    )
    return replace(made, **other)


def studies(**other: Any) -> dict[str, TailStudy]:
    """Eight networks of three layers: two on a rising line, the last on another; alpha falls from first to last."""
    found = {}
    for place, name in enumerate(FAMILIES):
        wiggle = 0.05 * (-1) ** place
        layers = (
            layer(5 + 0.3 * place, 20 + 5 * (5 + 0.3 * place) + wiggle, **other),
            layer(4 + 0.3 * place, 20 + 5 * (4 + 0.3 * place) - wiggle, **other),
            layer(2 + 0.2 * place, 2 + 0.2 * place + wiggle, final=True, **other),
        )
        found[name] = TailStudy(
            study=name,
            seed=0,
            model=name,
            parameters=1,
            data="made up",
            fingerprint="0",
            samples=1,
            train_accuracy=1.0,
            test_accuracy=1.0,
            least=0.9,
            layers=layers,
        )
    return found


def changed(change: Any) -> dict[str, TailStudy]:
    return {
        name: replace(one, layers=tuple(change(place, found) for place, found in enumerate(one.layers)))
        for name, one in studies().items()
    }


QUESTIONS = [(name, place) for name in ("shin-fig1", "shin-fig3") for place in range(len(EXPERIMENTS[name].questions))]


@pytest.mark.parametrize(("name", "place"), QUESTIONS)
def test_all_hold_in_the_made_up_networks(name: str, place: int) -> None:
    found = EXPERIMENTS[name].questions[place].judge([studies()])
    assert found.verdict == REPRODUCED, found


def _mirrored(place: int, one: LayerTail) -> LayerTail:
    return replace(one, stable_rank=200 - (one.stable_rank or 0)) if one.final else one


def _noise(one: LayerTail) -> float:
    """As if Gaussian, by the digits of alpha and rank."""
    return float(np.random.default_rng(round(1e6 * (one.alpha or 0) + (one.stable_rank or 0))).standard_normal())


WORSE = {
    ("shin-fig1", 2): studies(stable_alpha=1.9),
    ("shin-fig1", 3): studies(over_gaussian=-0.1),
    ("shin-fig1", 4): studies(over_laplace=-0.1),
    ("shin-fig3", 0): changed(_mirrored),
    ("shin-fig3", 1): changed(lambda place, one: replace(one, stable_rank=-(one.stable_rank or 0))),
    ("shin-fig3", 2): changed(lambda place, one: replace(one, stable_rank=3 * (one.alpha or 0) + _noise(one))),
    ("shin-fig3", 3): changed(_mirrored),
    ("shin-fig3", 4): studies(fits=False),
    ("shin-fig3", 5): changed(lambda place, one: replace(one, alpha=10 - (one.alpha or 0))),
}


@pytest.mark.parametrize(("name", "place"), WORSE)
def test_each_fails_where_it_should(name: str, place: int) -> None:
    found = EXPERIMENTS[name].questions[place].judge([WORSE[name, place]])
    assert found.verdict == NOT_REPRODUCED, found


def test_the_densities_are_checked() -> None:
    assert density_error() < 1e-9
    assert 1e-6 < tail_error() < 0.01


def test_a_study_survives_in_json() -> None:
    one = studies()["mlp"]
    told: Any = decode_json(encode_json(one.to_json(), where="study"), where="study")
    assert TailStudy.read(told) == one


def test_ranks_and_lines() -> None:
    found = compare_ranks((name, one) for name, study in studies().items() for one in study.layers)
    assert len(found.points) == 24
    assert found.two is not None
    assert [line.slope for line in found.two.lines] == pytest.approx([1, 5], abs=0.05)
    assert [line.share for line in found.two.lines] == pytest.approx([1 / 3, 2 / 3], abs=0.02)
    alphas, ranks = zip(*((point.alpha, point.stable_rank) for point in found.points), strict=True)
    assert found.correlation() == pytest.approx(spearmanr(alphas, ranks).statistic)
    assert found.second_line > 0
    few = compare_ranks([("a", layer(3, 4)), ("a", layer(30, 4))], most_alpha=10)
    assert (len(few.points), few.lighter, few.two) == (1, 1, None)
    assert math.isnan(few.correlation())
    assert math.isnan(few.second_line)
    drawn = found.figure()
    assert sum(isinstance(shape, Line) and shape.kind.startswith("worst") for shape in drawn.shapes) == 4
    assert len(few.figure().numbers) == 1


def test_networks_of_ones_own() -> None:
    torch.manual_seed(0)
    first = nn.Linear(30, 20)
    module = nn.Sequential(first, nn.ReLU(), nn.Linear(20, 12))
    found = stable_rank_against_alpha({"mine": module, "alone": nn.Linear(40, 30)}, most_alpha=1000)
    assert [point.label for point in found.points] == ["mine 0", "mine 2", "alone linear"]
    assert [point.final for point in found.points] == [False, True, True]
    values = np.linalg.svd(first.weight.tolist(), compute_uv=False)
    assert found.points[0].stable_rank == pytest.approx(float((values**2).sum() / values[0] ** 2))
    assert found.to_json()["lighter"] == 0
    for wrong, message in (({}, "one network or more"), ({"a": 3}, "dict of torch modules"), ([module], "dict")):
        with pytest.raises(PactError, match=message):
            untyped(wrong)
    with pytest.raises(PactError, match="most_alpha"):
        untyped({"mine": module}, most_alpha=1)


def test_likelihoods_of_the_weights() -> None:
    """Cauchy weights: the stable distribution gains what the densities say; Gaussian ones: nothing."""
    random = np.random.default_rng(0)
    cauchy, gaussian, few = nn.Linear(60, 50), nn.Linear(60, 50), nn.Linear(2, 3)
    with torch.no_grad():
        cauchy.weight.copy_(torch.from_numpy(random.standard_cauchy((50, 60))))
        gaussian.weight.copy_(torch.from_numpy(random.standard_normal((50, 60))))
    heavy, light, small = layer_tails(nn.Sequential(cauchy, gaussian, few))
    numbers = cauchy.weight.detach().double().numpy().ravel()
    stable = np.log(1 / (math.pi * (1 + numbers**2))).mean()
    assert heavy.over_gaussian == pytest.approx(stable - norm.logpdf(numbers, *norm.fit(numbers)).mean(), abs=0.01)
    spread = np.abs(numbers - np.median(numbers)).mean()
    assert heavy.over_laplace == pytest.approx(stable + math.log(2 * spread) + 1, abs=0.01)
    assert heavy.stable_alpha == pytest.approx(1, abs=0.1)
    assert abs(light.over_gaussian or 1) < 0.01
    assert small.over_gaussian is small.stable_alpha is None
    assert small.final


def test_the_experiments_share_their_networks(tmp_path: Path) -> None:
    first = run_experiment("shin-fig3", preset="digits", seeds=1, out=tmp_path, engine=Inline())
    assert {finding.verdict for finding in first.findings} == {"not judged"}, "too small, and says so"
    told: list[Any] = []
    second = run_experiment("shin-fig1", preset="digits", seeds=1, out=tmp_path, engine=Inline(), progress=told.append)
    assert all(done.reused for done in told)
    for found in (first, second):
        page = found.page.read_text()
        assert "<svg" in page
        assert all(finding.rule.split(":")[0] in page for finding in found.findings)


def test_points_and_lines_of_a_figure() -> None:
    cloud = Cloud("one", ((0.0, 0.0), (10.0, 5.0)), ("a", "b"))
    steep, outside = Curve("steep", ((0.0, -100.0), (10.0, 100.0))), Curve("outside", ((0.0, 9.0), (10.0, 9.0)))
    figure = draw_points([cloud], [steep, outside], name="n", title="t", x_title="x", y_title="y")
    (line,) = [one for one in figure.shapes if isinstance(one, Line) and one.kind == "worst other" and one.y2 != one.y1]
    assert min(line.y1, line.y2) >= 11.99
    assert max(line.y1, line.y2) <= 292.01
    assert not any(isinstance(one, Line) and one.kind == "worst" and one.x2 - one.x1 > 30 for one in figure.shapes)
    assert figure.numbers[0] == {"group": "one", "point": "a", "x": 0.0, "y": 0.0}
    with pytest.raises(PactError, match="groups"):
        draw_points([cloud] * 3, name="n", title="t", x_title="x", y_title="y")
    assert draw_points([Cloud("one", ((1.0, 1.0),), ("a",))], name="n", title="t", x_title="x", y_title="y").numbers
