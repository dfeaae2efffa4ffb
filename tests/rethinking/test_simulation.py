"""The simulations behind Figures 3 and 7: fast paths against slow ones, VAR(1) processes, and the experiments."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.stats import ks_2samp

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.experiments import EXPERIMENTS, run_experiment
from netpact.papers.rethinking.presets import KERNELS, LINES, NUMBERS, TUCKER, name_line
from netpact.papers.rethinking.simulation.descent import _slopes, descend
from netpact.papers.rethinking.simulation.drawing import (
    draw_independent,
    draw_rows,
    draw_transition,
    draw_var,
    make_samples,
    reduce_samples,
)
from netpact.papers.rethinking.simulation.families import CP, Family, Plain, Tucker
from netpact.papers.rethinking.simulation.fitting import fit_factors
from netpact.papers.rethinking.simulation.geometry import Geometry
from netpact.papers.rethinking.simulation.lines import LineCase, LinePoint, LineStudy, fit_line
from netpact.papers.rethinking.simulation.redundancy import KernelPoint, KernelStudy
from netpact.papers.rethinking.simulation.truths import draw_truth, estimate_weights
from netpact.papers.rethinking.statistics import CompositeCNN, ConvPool, InputCovariance, Window
from netpact.runs import Inline

GEOMETRY = Geometry((7, 5), Window(kernel=(2, 2), pooling=(3, 2)))
FAMILIES: list[Family] = [Plain((2, 3), 2), Tucker((4, 3, 3), (2, 2, 3, 2)), CP((3, 4, 2), 3)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_derivatives_are_those_of_finite_differences(family: Family) -> None:
    parameters = family.draw(np.random.default_rng(0), 2)
    step = 1e-6 * np.eye(family.size)
    slow = [(family.build(parameters + one) - family.build(parameters - one)) / 2e-6 for one in step]
    slopes = np.random.default_rng(1).standard_normal((2, family.kernels, 5, family.build(parameters).shape[1]))
    expected = np.einsum("zrkl,zlrs->zks", slopes, np.stack(slow, axis=-1))
    assert np.abs(family.pull(parameters, slopes) - expected).max() < 1e-7


def test_the_coordinates_are_those_of_a_composite_network() -> None:
    """<X, W_X> of CompositeCNN, from coordinates and placed weights, with a rank-deficient factor too."""
    rng = np.random.default_rng(0)
    for geometry in (GEOMETRY, Geometry((10, 4), Window(kernel=(5, 4), pooling=(3, 1)))):
        kernels = rng.standard_normal((2, *geometry.kernel))
        output = rng.standard_normal((2, *geometry.pooled))
        network = CompositeCNN(geometry.shape, [ConvPool(kernels, geometry.window)], output)
        weights = kernels.reshape(2, -1).T @ output.reshape(2, -1)
        inputs = rng.standard_normal((1, 6, math.prod(geometry.shape)))
        found = geometry.locate(inputs)[0] @ geometry.place(weights[None])[0]
        assert np.allclose(found, network.predict(inputs[0].reshape(6, *geometry.shape))[:, 0])
        assert np.linalg.norm(geometry.place(weights[None])) == pytest.approx(np.linalg.norm(network.weights))


def test_pull_is_the_adjoint_of_place_and_unplace_its_inverse() -> None:
    rng = np.random.default_rng(0)
    weights, located = rng.standard_normal((1, 4, 4)), rng.standard_normal((1, GEOMETRY.coordinates))
    assert (GEOMETRY.place(weights) * located).sum() == pytest.approx((weights * GEOMETRY.pull(located)).sum())
    assert np.allclose(GEOMETRY.unplace(GEOMETRY.place(weights)), weights), "full rank here"


def test_reduced_samples_have_the_same_estimate() -> None:
    """The Gram form against all samples."""
    rng = np.random.default_rng(0)
    truth = draw_truth(GEOMETRY, Plain((2, 2), 2), rng)
    located = draw_independent(GEOMETRY, rng, batch=3, samples=90)
    targets = located @ truth.placed + rng.standard_normal((3, 90))
    start = truth.family.draw(rng, 3), rng.standard_normal((3, 4, 2))
    rows, aims = reduce_samples(located, targets)
    assert rows.shape == (3, GEOMETRY.coordinates, GEOMETRY.coordinates)
    assert np.allclose(rows.transpose(0, 2, 1) @ rows, located.transpose(0, 2, 1) @ located)
    few, all_of_them = (
        fit_factors(make_samples(GEOMETRY, located, targets, reduced=reduced), truth.family, *start, steps=300)
        for reduced in (True, False)
    )
    assert np.allclose(few.weights, all_of_them.weights, atol=1e-3)
    constant = all_of_them.loss - few.loss
    assert np.allclose(constant, (targets**2).sum(axis=1) - (aims**2).sum(axis=1), rtol=1e-6)
    fewer = reduce_samples(located[:, :9], targets[:, :9])
    assert fewer[0].shape[1] == 9, "few samples stay as they are"


def test_few_rows_have_the_distribution_of_many_samples() -> None:
    """Least squares over all of W: errors from drawn rows against those from all samples (Bartlett's triangle)."""
    rng, count = np.random.default_rng(0), 3000
    samples, size = GEOMETRY.coordinates + 8, GEOMETRY.coordinates
    rows = draw_rows(GEOMETRY, rng, batch=count, samples=samples)
    every = draw_independent(GEOMETRY, rng, batch=count, samples=samples)
    assert rows.shape == (count, size, size)
    assert draw_rows(GEOMETRY, rng, batch=2, samples=9).shape == (2, 9, size)
    grams = rows.transpose(0, 2, 1) @ rows
    assert np.abs(grams.mean(axis=0) - samples * np.eye(size)).max() < 6 * math.sqrt(2 * samples / count)
    off, from_all = (
        np.linalg.norm(np.linalg.pinv(one) @ rng.standard_normal((*one.shape[:2], 1)), axis=1)[:, 0]
        for one in (rows, every)
    )
    assert ks_2samp(off, from_all).pvalue > 0.01


def test_without_a_constraint_it_is_ordinary_least_squares() -> None:
    """K as large as the ranks go: every W can be written so."""
    rng = np.random.default_rng(0)
    truth = draw_truth(GEOMETRY, Plain((2, 2), 4), rng)
    located = draw_independent(GEOMETRY, rng, batch=1, samples=60)
    targets = located @ truth.placed + rng.standard_normal((1, 60))
    fit, _ = estimate_weights(truth, make_samples(GEOMETRY, located, targets), rng, starts=0)
    plain = np.linalg.lstsq(located[0], targets[0], rcond=None)[0]
    assert np.allclose(GEOMETRY.place(fit.weights)[0], plain, atol=1e-4)


def test_without_noise_the_truth_is_found() -> None:
    rng = np.random.default_rng(0)
    for family in (Plain((2, 2), 1), Tucker((2, 2), (1, 2, 1)), CP((2, 2), 1)):
        truth = draw_truth(GEOMETRY, family, rng)
        located = draw_independent(GEOMETRY, rng, batch=4, samples=60)
        start = family.draw(rng, 4), rng.standard_normal((4, 4, 1))
        fit = fit_factors(make_samples(GEOMETRY, located, located @ truth.placed), family, *start, tolerance=1e-15)
        weights, prediction = truth.errors(fit)
        assert np.median(weights) < 1e-4
        assert np.median(prediction) < 1e-4


def test_the_lowest_of_all_starts_is_taken() -> None:
    rng = np.random.default_rng(1)
    truth = draw_truth(GEOMETRY, Plain((2, 2), 1), rng)
    located = draw_independent(GEOMETRY, rng, batch=20, samples=12)
    samples = make_samples(GEOMETRY, located, located @ truth.placed + rng.standard_normal((20, 12)))
    known = np.repeat(truth.parameters, 20, axis=0), np.repeat(truth.output, 20, axis=0)
    from_truth = fit_factors(samples, truth.family, *known, steps=60, tolerance=1e-8)
    best, missed = estimate_weights(truth, samples, rng, starts=2)
    assert (best.loss <= from_truth.loss * (1 + 1e-9)).all()
    assert missed.mean() < 0.5


def test_gradients_of_descent_are_those_of_finite_differences() -> None:
    rng, family = np.random.default_rng(0), CP((2, 2), 2)
    located = draw_independent(GEOMETRY, rng, batch=1, samples=9)
    samples = make_samples(GEOMETRY, located, rng.standard_normal((1, 9)))
    values = [family.draw(rng, 1), rng.standard_normal((1, 3, 2)), rng.standard_normal((1, 4, 3))]
    _, slopes = _slopes(samples, family, values, 9)
    for value, slope in zip(values, slopes, strict=True):
        moved = np.zeros_like(slope)
        for place in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                value[place] += sign * 1e-6
                ends.append(_slopes(samples, family, values, 9)[0][0])
                value[place] -= sign * 1e-6
            moved[place] = (ends[0] - ends[1]) / 2e-6
        assert np.allclose(slope, moved, atol=1e-6)
    fit = descend(samples, family, 3, rng, count=9, steps=50, tolerance=0.0)
    assert fit.steps <= 50
    assert fit.weights.shape == (1, 4, 4)


@pytest.fixture(scope="module")
def process() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    transition = draw_transition(4, 0.8, rng)
    return transition, draw_var(transition, rng, batch=4000, samples=4)


def test_a_var_process_is_stationary(process: tuple[Any, Any]) -> None:
    """The covariance is the same at all times, and solves Gamma = A Gamma A' + I."""
    transition, found = process
    expected = solve_discrete_lyapunov(transition, np.eye(4))
    for step in range(4):
        assert np.allclose(np.cov(found[:, step].T), expected, atol=0.12)
    cross = found[:, 1].T @ found[:, 0] / len(found)
    assert np.allclose(cross, transition @ expected, atol=0.12)
    assert np.linalg.norm(transition, 2) == pytest.approx(0.8)
    with pytest.raises(PactError, match="norm"):
        draw_transition(4, 1.0, np.random.default_rng(0))


def test_var_constants_hold_for_sequences(process: tuple[Any, Any]) -> None:
    """c_x and C_x against the covariance of a whole sequence of 40 inputs, computed from the process."""
    transition, found = process
    spectrum = InputCovariance.from_var(transition)
    gamma, length = solve_discrete_lyapunov(transition, np.eye(4)), 40
    blocks = [[_lag(transition, gamma, i - j) for j in range(length)] for i in range(length)]
    values = np.linalg.eigvalsh(np.block(blocks))
    assert spectrum.least <= values[0] < values[-1] <= spectrum.largest
    simulated = np.linalg.eigvalsh(np.cov(found.reshape(len(found), -1).T))
    assert spectrum.least <= simulated[0] < simulated[-1] <= spectrum.largest
    tight = InputCovariance.from_var(0.8 * np.eye(1))
    line = [[0.8 ** abs(i - j) / (1 - 0.64) for j in range(400)] for i in range(400)]
    ends = np.linalg.eigvalsh(np.array(line))
    assert (ends[0], ends[-1]) == pytest.approx((tight.least, tight.largest), rel=0.01), "no smaller range will do"


def _lag(transition: Any, gamma: Any, lag: int) -> Any:
    power = np.linalg.matrix_power(transition, abs(lag))
    return power @ gamma if lag >= 0 else gamma @ power.T


def test_settings_of_table_1() -> None:
    cases = LINES["full"].cases
    assert [cases[name_line(number, "plain")].complexity for number in NUMBERS] == [17, 51, 32, 96]
    assert [cases[name_line(number, TUCKER)].complexity for number in NUMBERS] == [67, 67, 94, 94]
    assert cases["s1-plain"].samples[0] == round(17 / 0.15**2)
    assert cases["s1-plain"].samples[-1] == round(17 / 0.6**2)
    assert all(len(case.samples) == 10 and case.replicates == 200 for case in cases.values())
    assert {case.replicates for case in KERNELS["full"].cases.values()} == {50}


def test_lines_and_their_r_squared() -> None:
    straight = fit_line([1.0, 2.0, 3.0], [3.0, 5.0, 7.0])
    assert (straight.slope, straight.intercept, straight.r_squared) == pytest.approx((2.0, 1.0, 1.0))
    assert fit_line([0.0, 1.0, 2.0], [0.0, 0.0, 1.0]).r_squared == pytest.approx(0.75)


def line_study(name: str, bend: float, *, replicates: int = 20, seed: int = 0, least: float = 0.1) -> LineStudy:
    sizes = {9 / x**2: x for x in (0.1, 0.3, 0.5)}
    points = tuple(LinePoint(n, x, x + bend * x**4, x + bend * x**4, 0.0) for n, x in sizes.items())  # type: ignore[arg-type]
    return LineStudy(
        study=name, seed=seed, complexity=9, least=least, largest=1.0, replicates=replicates, points=points
    )


def test_the_line_of_finite_samples_is_that_of_least_squares() -> None:
    """Ordinary least squares over d numbers has a mean square of d / (n - d - 1): simulated; straight there only."""
    rng, points = np.random.default_rng(0), []
    for samples in (150, 60, 30, 20, 15):
        rows = rng.standard_normal((3000, samples, 5))
        off = np.linalg.pinv(rows) @ rng.standard_normal((3000, samples, 1))
        error = math.sqrt((off**2).sum(axis=(1, 2)).mean())
        points.append(LinePoint(samples, math.sqrt(5 / samples), error, error, 0.0))
    study = LineStudy(study="s", seed=0, complexity=5, least=1.0, largest=1.0, replicates=20, points=tuple(points))
    line = study.line(prediction=True, finite=True)
    assert (line.slope, line.intercept) == pytest.approx((1.0, 0.0), abs=0.03)
    assert line.r_squared > 0.999 > study.line(prediction=True).r_squared


@pytest.mark.parametrize(
    ("bend", "replicates", "verdict"),
    [(0.0, 20, "reproduced"), (20.0, 20, "not reproduced"), (0.0, 2, "not judged")],
)
def test_rules_of_figure_3(bend: float, replicates: int, verdict: str) -> None:
    plan = EXPERIMENTS["rethinking-fig3"]
    studies = {name: line_study(name, 0.0, replicates=replicates) for name in plan.studies}
    for name in ("s2-plain", "s3-var", "s4-tucker"):
        studies[name] = line_study(name, bend, replicates=replicates)
    found = [question.judge([studies]) for question in plan.questions]
    assert {finding.verdict for finding in found} == {verdict}
    assert found[0].accuracies == ()
    assert found[0].cells()[2] == "–"


def test_rules_of_figure_7() -> None:
    plan = EXPERIMENTS["rethinking-fig7"]

    def study(kernels: int, squares: float, descent: float) -> KernelStudy:
        point = KernelPoint(100, squares, squares, descent, descent, 9.0)
        return KernelStudy(
            study=f"k{kernels}", seed=0, kernels=kernels, rank=8, parameters=1, replicates=9, points=(point,)
        )

    usual = {f"k{kernels}": study(kernels, 1.0, 1.0 + kernels) for kernels in (8, 16, 24, 32)}
    assert [question.judge([usual]).verdict for question in plan.questions] == ["reproduced"] * 3
    turned = {**usual, "k32": study(32, 1.2, 8.9)}
    assert [question.judge([turned]).verdict for question in plan.questions] == ["not reproduced"] * 3


def test_an_experiment_without_data_is_run_kept_and_shown(tmp_path: Path) -> None:
    forecasts: list[object] = []
    found = run_experiment(
        "rethinking-fig7", preset="digits", seeds=1, out=tmp_path, engine=Inline(), announce=forecasts.append
    )
    assert "4 simulations to run" in str(forecasts[0])
    record = json.loads(json.dumps(found.to_json()))
    assert record["data"] == "drawn by the program"
    assert [one["kernels"] for one in record["simulations"]] == [8, 16, 24, 32]
    assert {finding.verdict for finding in found.findings} == {"not judged"}
    page = found.page.read_text()
    assert "<h2>Simulations</h2>" in page
    assert "The samples are drawn by the program." in page
    told: list[bool] = []
    again = run_experiment(
        "rethinking-fig7",
        preset="digits",
        seeds=1,
        out=tmp_path,
        engine=Inline(),
        announce=forecasts.append,
        progress=lambda done: told.append(done.reused),
    )
    assert told == [True] * 4
    assert str(forecasts[1]) == "all simulations are done already"
    assert again.studies == found.studies


def test_sizes_that_are_finished_are_not_simulated_again(tmp_path: Path) -> None:
    from netpact.papers.rethinking.simulation.lines import simulate_line, simulate_point, time_line

    case = LineCase((5,), (2,), (2,), 1, (), 0.5, 3, 2, 0)
    setting = {"study": "s", "case": {**case.__dict__}, "seed": 0, "out": str(tmp_path)}
    first: Any = simulate_line(setting=setting)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert len(files) == 3
    assert simulate_line(setting=setting) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == files
    study = LineStudy.read(json.loads(json.dumps(first)))
    point = simulate_point(study="s", case=case.__dict__, seed=0, samples=case.samples[0])
    assert point == first["points"][0], "from its own seed, whatever came before"
    assert "R^2" in str(study)
    assert time_line(case) > 0
    assert draw_truth(GEOMETRY, Plain((2, 2), 1), Seed(0).numpy(), unit=True).weights.shape == (1, 4, 4)
