"""Several straight lines through one cloud of points: a mixture of linear regressions by expectation maximization.

Each point is on line j with probability share_j, and there

    y = slope_j x + intercept_j + noise_std_j g,   g standard normal (DeSarbo and Cron 1988)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.errors import PactError, wrong_kind
from netpact.core.seed import Seed

Floats = NDArray[np.float64]
_STEPS = 2000
_GAIN = 1e-9  # of the log-likelihood per point: below, the steps end
_POINTS_PER_LINE = 4  # a line has four parameters
_SHARE = 0.02  # of the noise about one line: the least about one of several, unless it is given
_LEVEL = 1e-12  # a line whose points have less variance of x than this is level


@dataclass(frozen=True)
class RegressionLine:
    """share: of the points; noise_std: of y about the line."""

    slope: float
    intercept: float
    noise_std: float
    share: float

    def at(self, x: ArrayLike) -> Floats:
        return np.asarray(self.slope * np.asarray(x, dtype=np.float64) + self.intercept)


@dataclass(frozen=True, eq=False)
class RegressionMixture:
    """lines             by slope, the smallest first
    log_likelihood    of all points; history: after each step of the start that ended best, never falling
    responsibilities  the probability that a point (row) is on a line (column)
    least_std         noise_std is nowhere below this: a line through two points would have infinite likelihood
    """

    lines: tuple[RegressionLine, ...]
    log_likelihood: float
    history: tuple[float, ...]
    responsibilities: Floats
    least_std: float

    @property
    def count(self) -> int:
        return len(self.responsibilities)

    @property
    def bic(self) -> float:
        """-2 log L + p log n with p = 4 k - 1 parameters (Schwarz 1978); the smaller, the better."""
        return -2 * self.log_likelihood + (4 * len(self.lines) - 1) * math.log(self.count)

    @property
    def assigned(self) -> NDArray[np.intp]:
        """The line that each point is most probably on."""
        return self.responsibilities.argmax(axis=1)

    def to_json(self) -> dict[str, object]:
        return {
            "lines": [asdict(line) for line in self.lines],
            "log_likelihood": self.log_likelihood,
            "bic": self.bic,
            "count": self.count,
            "least_std": self.least_std,
        }

    def __repr__(self) -> str:
        told = ", ".join(f"{line.slope:.3g} x + {line.intercept:.3g} ({line.share:.0%})" for line in self.lines)
        return f"RegressionMixture({told}; {self.count:,} points, BIC {self.bic:.4g})"


def fit_regression_mixture(
    x: ArrayLike,
    y: ArrayLike,
    *,
    lines: int = 2,
    starts: int = 20,
    least_std: float | None = None,
    seed: Seed = Seed(0),  # noqa: B008  frozen
) -> RegressionMixture:
    """The mixture with the highest likelihood that expectation maximization finds from several random starts.

    starts     each takes lines through random pairs of points
    least_std  the smallest noise that a line may have; default: a fiftieth of that about one line through all points
    """
    check_integer(lines, where="lines", least=1)
    check_integer(starts, where="starts", least=1)
    check_instance(seed, Seed, where="seed")
    across, upward = _read(x, "x"), _read(y, "y")
    if len(across) != len(upward):
        raise PactError(f"must have one number for each x, got {len(upward)} for {len(across)}", where="y")
    if len(across) < _POINTS_PER_LINE * lines:
        what = f"must have {_POINTS_PER_LINE * lines} numbers or more for {lines} lines, got {len(across)}"
        raise PactError(what, where="x")
    if across.min() == across.max():
        raise PactError(f"must have two different numbers or more, got {across[0]:g} alone", where="x")
    # x about its mean and in units of its spread: the sums of the regressions lose no digits.
    middle, unit = float(across.mean()), float(across.std())
    points = _Points((across - middle) / unit, upward)
    about_one = float(_maximize(points, np.ones((1, len(across))), 0.0).noise[0])
    least = _SHARE * about_one if least_std is None else float(check_number(least_std, where="least_std", above=0))
    if least <= 1e-12 * max(1.0, float(np.abs(upward).max())):
        raise PactError("the points are on one line", where="y", hint="give a least_std above 0")
    runs = [_climb(points, _start(points, lines, seed.child("start", turn)), least) for turn in range(starts)]
    lists, best = max(runs, key=lambda run: run[0][-1])
    order = sorted(range(lines), key=lambda j: (best.slopes[j], best.levels[j]))
    return RegressionMixture(
        tuple(
            RegressionLine(
                slope=float(best.slopes[j]) / unit,
                intercept=float(best.levels[j] - best.slopes[j] / unit * middle),
                noise_std=float(best.noise[j]),
                share=float(best.shares[j]),
            )
            for j in order
        ),
        log_likelihood=lists[-1],
        history=tuple(lists),
        responsibilities=_expect(points, best)[0][order].T,
        least_std=least,
    )


@dataclass(frozen=True, eq=False)
class _Points:
    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class _Lines:
    slopes: Floats
    levels: Floats
    noise: Floats
    shares: Floats


def _start(points: _Points, lines: int, seed: Seed) -> _Lines:
    """Lines through two points each; level ones where both have the same x."""
    random = seed.numpy()
    first, second = (random.integers(0, len(points.x), lines) for _ in range(2))
    run, rise = points.x[second] - points.x[first], points.y[second] - points.y[first]
    slopes = np.divide(rise, run, out=np.zeros(lines), where=run != 0)
    noise = np.full(lines, max(float(points.y.std()), np.finfo(float).tiny))
    return _Lines(slopes, points.y[first] - slopes * points.x[first], noise, np.full(lines, 1 / lines))


def _climb(points: _Points, lines: _Lines, least: float) -> tuple[list[float], _Lines]:
    history: list[float] = []
    for _ in range(_STEPS):
        weights, likelihood = _expect(points, lines)
        history.append(likelihood)
        if len(history) > 1 and likelihood - history[-2] < _GAIN * len(points.x):
            break
        lines = _maximize(points, weights, least)
    return history, lines


def _expect(points: _Points, lines: _Lines) -> tuple[Floats, float]:
    """The probability of each line (row) at each point, and the log-likelihood of all points."""
    away = (points.y - lines.levels[:, None] - lines.slopes[:, None] * points.x) / lines.noise[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(lines.shares / lines.noise)[:, None] - away**2 / 2 - math.log(2 * math.pi) / 2
    highest = logs.max(axis=0)
    parts = np.exp(logs - highest)
    sums = parts.sum(axis=0)
    return parts / sums, float((highest + np.log(sums)).sum())


def _maximize(points: _Points, weights: Floats, least: float) -> _Lines:
    """One weighted regression for each row of weights."""
    sums = np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    mean_x, mean_y = weights @ points.x / sums, weights @ points.y / sums
    from_x, from_y = points.x - mean_x[:, None], points.y - mean_y[:, None]
    spread = (weights * from_x**2).sum(axis=1)
    rise = (weights * from_x * from_y).sum(axis=1)
    slopes = np.divide(rise, spread, out=np.zeros_like(rise), where=spread > _LEVEL * sums)
    left = from_y - slopes[:, None] * from_x
    noise = np.sqrt((weights * left**2).sum(axis=1) / sums)
    return _Lines(slopes, mean_y - slopes * mean_x, np.maximum(noise, least), weights.sum(axis=1) / len(points.x))


def _read(numbers: ArrayLike, where: str) -> Floats:
    try:
        found = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong_kind(numbers, needed="numbers", where=where) from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise PactError(f"must be a list of finite numbers, got shape {found.shape}", where=where)
    return found
