"""Alpha-stable densities and fits: closed forms, scipy's other formula, draws of known parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import cauchy, levy_stable, norm

from netpact import PactError
from netpact.algebra import StableFit, fit_stable, stable_density, stable_tail_constant
from netpact.algebra.stable_fit import _regress

untyped_density: Any = stable_density
untyped_fit: Any = fit_stable
PLACES = np.array([-30.0, -5.0, -1.0, -0.3, 0.0, 0.5, 0.999, 1.0, 1.001, 3.0, 20.0])


def scipy_density(x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """By Nolan's integral over angles; in parametrization 1, which is moved by beta tan(pi alpha / 2)."""
    skew = 0.0 if alpha in (1, 2) else beta * math.tan(math.pi * alpha / 2)
    found: np.ndarray = levy_stable.pdf(x + skew, alpha, beta)
    return found


def draw(alpha: float, beta: float, count: int, seed: int) -> np.ndarray:
    """Chambers, Mallows and Stuck 1976, in parametrization 0: not the formula of the fit, nor of the density."""
    random = np.random.default_rng(seed)
    angle, exponential = random.uniform(-math.pi / 2, math.pi / 2, count), random.exponential(size=count)
    if alpha == 1:
        bent = math.pi / 2 + beta * angle
        return np.asarray(
            2 / math.pi * (bent * np.tan(angle) - beta * np.log(math.pi / 2 * exponential * np.cos(angle) / bent))
        )
    skew = beta * math.tan(math.pi * alpha / 2)
    moved = math.atan(skew) / alpha
    first = np.sin(alpha * (angle + moved)) / np.cos(angle) ** (1 / alpha) * (1 + skew**2) ** (1 / (2 * alpha))
    second = (np.cos(angle - alpha * (angle + moved)) / exponential) ** ((1 - alpha) / alpha)
    return np.asarray(first * second - skew)


def test_closed_forms() -> None:
    x = np.linspace(-6, 6, 41)
    assert stable_density(x, alpha=2.0) == pytest.approx(norm.pdf(x, scale=math.sqrt(2)), abs=1e-14)
    assert stable_density(x, alpha=1.0) == pytest.approx(cauchy.pdf(x), rel=1e-12)
    # Levy's distribution, alpha 1/2 and beta 1, begins at -1 in parametrization 0.
    above = np.array([-0.9, -0.5, 0.0, 2.0, 100.0])
    levy = np.exp(-1 / (2 * (above + 1))) / np.sqrt(2 * math.pi) / (above + 1) ** 1.5
    assert stable_density(above, alpha=0.5, beta=1.0) == pytest.approx(levy, rel=1e-9)


@pytest.mark.parametrize(("alpha", "beta"), [(1.5, 0.0), (0.5, 0.0), (1.8, 0.7), (0.7, -0.5), (1.2, -1.0)])
def test_densities_of_scipy(alpha: float, beta: float) -> None:
    assert stable_density(PLACES, alpha=alpha, beta=beta) == pytest.approx(scipy_density(PLACES, alpha, beta), rel=1e-7)


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.4, 1.9])
def test_far_out_the_density_is_the_power_law_of_eq_12(alpha: float) -> None:
    far = np.array([1e5, 1e7])
    power = alpha * stable_tail_constant(alpha) * far ** -(alpha + 1)
    assert stable_density(far, alpha=alpha) == pytest.approx(power, rel=3e-3)
    assert stable_density(1e7, alpha=alpha) / power[1] == pytest.approx(1, abs=2e-4)


def test_scale_location_and_shape() -> None:
    x = np.array([[1.0, 2.0], [3.0, np.inf]])
    found = stable_density(x, alpha=1.3, beta=0.4, scale=2.0, location=0.5)
    assert found == pytest.approx(stable_density((x - 0.5) / 2, alpha=1.3, beta=0.4) / 2)
    assert found.shape == (2, 2)
    assert found[1, 1] == 0
    mirrored = stable_density(-x, alpha=1.3, beta=-0.4, scale=2.0, location=-0.5)
    assert found == pytest.approx(mirrored)


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 0.0), (1.8, 0.0), (1.5, 0.6), (1.2, -0.8), (1.0, 0.4), (0.7, 0.3)])
def test_fits_of_known_draws(alpha: float, beta: float) -> None:
    for seed in range(3):
        found = fit_stable(3 + 0.2 * draw(alpha, beta, 20_000, seed))
        assert abs(found.alpha - alpha) <= 4 * found.alpha_stderr
        assert found.alpha_stderr < 0.02
        assert found.scale == pytest.approx(0.2, rel=0.04)
        assert found.location == pytest.approx(3, abs=0.03)
        if alpha < 1.9:
            assert abs(found.beta - beta) <= 4 * found.beta_stderr
            assert found.beta_stderr < 0.1


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.5), (1.0 + 1e-4, 0.5), (1.7, -0.4), (0.6, 0.9)])
@pytest.mark.parametrize("count", [100, 10**12])
def test_the_true_characteristic_function_gives_its_parameters(alpha: float, beta: float, count: int) -> None:
    """As footnote 3 prints it, with scale 1.2 and location 0.3, and as large as a mean of `count` numbers makes it."""
    u = np.arange(1, 11) / 10
    scaled = 1.2 * u
    if alpha == 1:
        bend = 2 / math.pi * np.log(scaled)
    else:
        bend = math.tan(math.pi * alpha / 2) * (scaled ** (1 - alpha) - 1)
    phi = np.exp(-(scaled**alpha) * (1 + 1j * beta * bend) + 0.3j * u)
    squared = np.abs(phi) ** 2
    phi *= np.sqrt((squared + (1 - squared) / count) / squared)
    assert _regress(phi, count) == pytest.approx((alpha, beta, 1.2, 0.3), rel=1e-3)


def test_standard_errors_cover() -> None:
    """200 draws: 95 % intervals cover in 89 to 98 %; a factor of 0.7 would show."""
    found = [fit_stable(draw(1.5, 0.3, 1000, seed)) for seed in range(200)]
    for factor, low, high in ((1.0, 0.89, 0.98), (0.7, 0.5, 0.89)):
        assert low < np.mean([abs(one.alpha - 1.5) < 1.96 * factor * one.alpha_stderr for one in found]) < high
        assert low < np.mean([abs(one.beta - 0.3) < 1.96 * factor * one.beta_stderr for one in found]) < high


def test_blocks_and_few_numbers_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    values = draw(1.4, 0.0, 5000, 0)
    whole = fit_stable(values)
    monkeypatch.setattr("netpact.algebra.stable_fit._BLOCK", 320)
    in_blocks = fit_stable(values)
    assert in_blocks.alpha == pytest.approx(whole.alpha, rel=1e-9)
    assert in_blocks.alpha_stderr == pytest.approx(whole.alpha_stderr, rel=1e-6)
    monkeypatch.setattr("netpact.algebra.stable_fit._FEW", 500)
    assert fit_stable(values).alpha == pytest.approx(whole.alpha, abs=whole.alpha_stderr)


def test_a_fit_of_torch_numbers_and_its_record() -> None:
    values = torch.from_numpy(draw(1.6, 0.0, 400, 0)).float().reshape(20, 20)
    found = fit_stable(values)
    assert found.count == 400
    assert StableFit(**found.to_json()) == found  # type: ignore[arg-type]
    assert "alpha" in repr(found)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(100), "half of them"),
        (np.arange(10.0), "50 numbers or more"),
        (np.append(np.arange(99.0), np.nan), "finite"),
        ("text", "torch tensor or numpy array"),
    ],
)
def test_numbers_without_a_fit(values: object, message: str) -> None:
    with pytest.raises(PactError, match=message):
        untyped_fit(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 2.1}, "alpha"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": 1.5, "beta": 2}, "beta"),
        ({"alpha": 1.0, "beta": 0.5}, "must be 0 where alpha is 1"),
        ({"alpha": 1.5, "scale": 0}, "scale"),
        ({"alpha": 1.5, "location": math.nan}, "location"),
    ],
)
def test_parameters_without_a_density(options: dict[str, float], message: str) -> None:
    with pytest.raises(PactError, match=message):
        untyped_density(1.0, **options)
    with pytest.raises(PactError, match="numbers"):
        untyped_density("text", alpha=1.5)
    with pytest.raises(PactError, match="NaN"):
        untyped_density([1.0, math.nan], alpha=1.5)


def test_the_tail_constant() -> None:
    assert stable_tail_constant(1.0) == pytest.approx(1 / math.pi)
    assert stable_tail_constant(2.0) == 0
    with pytest.raises(PactError, match="alpha"):
        stable_tail_constant(0.0)
