"""The task behind Figure 3: the error of estimated weights at growing sample sizes, against sqrt(d_M / n)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.experiments import BaseStudy, SimulationSetting
from netpact.papers.rethinking.simulation.drawing import draw_rows, draw_transition, draw_var, make_samples
from netpact.papers.rethinking.simulation.families import Array, Family, Plain, Tucker
from netpact.papers.rethinking.simulation.geometry import Geometry
from netpact.papers.rethinking.simulation.truths import Truth, draw_truth, estimate_weights
from netpact.papers.rethinking.statistics.complexity import model_complexity
from netpact.papers.rethinking.statistics.positions import Window
from netpact.runs import Inline, JsonValue, ResultStore, Task

_NUMBERS = 6_000_000  # drawn at a time: about 50 MB
_ENOUGH = 10  # replicates, for findings to be judged


@dataclass(frozen=True)
class LineCase:
    """One setting of Table 1.

    ranks       R_1 ... R_(N+1) of Tucker; empty for a plain network
    transition  spectral norm of the VAR(1) process that the inputs are; 0 for independent ones
    sizes       how many sample sizes, sqrt(d_M / n) equally spaced from 0.15 to 0.60
    replicates  training sets for each size
    starts      random starts of each estimate
    """

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    pooling: tuple[int, ...]
    kernels: int
    ranks: tuple[int, ...]
    transition: float
    sizes: int
    replicates: int
    starts: int

    @staticmethod
    def read(record: Mapping[str, Any]) -> LineCase:
        plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in record.items()}
        return LineCase(**plain)

    @property
    def geometry(self) -> Geometry:
        return Geometry(self.shape, Window(kernel=self.kernel, pooling=self.pooling))

    @property
    def family(self) -> Family:
        return Tucker(self.kernel, self.ranks) if self.ranks else Plain(self.kernel, self.kernels)

    @property
    def complexity(self) -> int:
        """d_M"""
        pooled = self.geometry.pooled
        if self.ranks:
            return int(model_complexity("tucker", kernel=self.kernel, pooled=pooled, ranks=self.ranks))
        return int(model_complexity("cnn", kernel=self.kernel, pooled=pooled, kernels=self.kernels))

    @property
    def samples(self) -> tuple[int, ...]:
        return tuple(round(self.complexity / root**2) for root in np.linspace(0.15, 0.60, self.sizes))

    def truth(self, seed: Seed) -> Truth:
        kernels = self.kernels if self.ranks else None
        return draw_truth(self.geometry, self.family, seed.child("truth").numpy(), kernels=kernels)


@dataclass(frozen=True)
class LinePoint:
    """Means over the replicates of one sample size.

    root        sqrt(d_M / n)
    estimation  |W^ - W*|_F
    prediction  |U_G (W^ - W*)|: the prediction error for independent standard normal inputs
    missed      share of the replicates in which only the start at the true weights found the lowest error
    """

    samples: int
    root: float
    estimation: float
    prediction: float
    missed: float


@dataclass(frozen=True, kw_only=True)
class LineStudy(BaseStudy):
    """least: c_u; where it is 0, W is not determined by the data and only predictions are compared."""

    complexity: int
    least: float
    largest: float
    replicates: int
    points: tuple[LinePoint, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> LineStudy:
        return cls(**{**record, "points": tuple(LinePoint(**point) for point in record["points"])})

    @property
    def fits(self) -> bool:
        return self.replicates >= _ENOUGH

    @property
    def determined(self) -> bool:
        return self.least > 0

    @property
    def missed(self) -> float:
        return fmean(point.missed for point in self.points)

    def line(self, *, prediction: bool, finite: bool = False) -> Line:
        """Against sqrt(d_M / n). finite: against sqrt(d_M / (n - d_M - 1)), the error of ordinary least squares over
        d_M numbers with independent normal inputs, which is larger where samples are few."""
        lost = self.complexity + 1 if finite else 0
        across = [math.sqrt(self.complexity / (point.samples - lost)) for point in self.points]
        return fit_line(across, [point.prediction if prediction else point.estimation for point in self.points])

    def __str__(self) -> str:
        lines = [f"prediction {self.line(prediction=True)}"]
        if self.determined:
            lines.insert(0, f"weights {self.line(prediction=False)}")
        return (
            f"{self.study}, seed {self.seed}: d_M = {self.complexity}, c_u = {self.least:.3g}, {self.replicates} "
            f"training sets a size; {'; '.join(lines)}; {self.missed:.0%} found from the true weights alone"
        )


@dataclass(frozen=True)
class Line:
    """error = intercept + slope x, by least squares."""

    slope: float
    intercept: float
    r_squared: float

    def __str__(self) -> str:
        return f"{self.slope:.3g} x {self.intercept:+.3g} (R^2 = {self.r_squared:.4f})"


def fit_line(across: list[float], upward: list[float]) -> Line:
    x, y = np.array(across), np.array(upward)
    slope, intercept = np.polyfit(x, y, 1)
    left = ((y - intercept - slope * x) ** 2).sum()
    return Line(float(slope), float(intercept), float(1 - left / ((y - y.mean()) ** 2).sum()))


def simulate_line(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: one setting of Table 1. Sizes that are finished are kept in `setting.out`, and not simulated again."""
    asked = SimulationSetting.read(setting)
    case = LineCase.read(asked.case)
    tasks = [
        Task(
            f"{asked.study}-{asked.seed}-{samples}",
            simulate_point,
            {"study": asked.study, "case": dict(asked.case), "seed": asked.seed, "samples": samples},
            version=__version__,
        )
        for samples in case.samples
    ]
    points = []
    for outcome in Inline().run(tasks, ResultStore(asked.out)):
        if outcome.error is not None or not isinstance(outcome.result, dict):
            raise PactError(str(outcome.error), where=outcome.task.key)
        points.append(LinePoint(**outcome.result))
    isometry = case.geometry.isometry
    return LineStudy(
        study=asked.study,
        seed=asked.seed,
        complexity=case.complexity,
        least=isometry.least,
        largest=isometry.largest,
        replicates=case.replicates,
        points=tuple(points),
    ).to_json()


def simulate_point(*, study: str, case: Mapping[str, Any], seed: int, samples: int) -> dict[str, JsonValue]:
    """Task: all replicates of one sample size."""
    asked = LineCase.read(case)
    own = Seed(seed).child("rethinking", study)
    truth, rng = asked.truth(own), own.child(samples).numpy()
    batch = max(1, min(asked.replicates, _NUMBERS // _numbers(asked, truth, samples)))
    errors, missed = [], []
    for first in range(0, asked.replicates, batch):
        count = min(batch, asked.replicates - first)
        located = _draw(asked, truth.geometry, own, rng, batch=count, samples=samples)
        targets = located @ truth.placed + rng.standard_normal(located.shape[:2])
        fit, alone = estimate_weights(truth, make_samples(truth.geometry, located, targets), rng, starts=asked.starts)
        errors.append(truth.errors(fit))
        missed.append(alone)
    estimation, prediction = (np.concatenate([one[place] for one in errors]) for place in range(2))
    root = float(np.sqrt(asked.complexity / samples))
    means = float(estimation.mean()), float(prediction.mean()), float(np.concatenate(missed).mean())
    return asdict(LinePoint(samples, root, *means))


def time_line(case: LineCase) -> float:
    """Seconds for all sizes, from one replicate of the largest and of the smallest."""
    one = asdict(replace(case, replicates=1))
    ends = case.samples[0], case.samples[-1]
    started = time.perf_counter()
    for samples in ends:
        simulate_point(study="forecast", case=one, seed=0, samples=samples)
    return (time.perf_counter() - started) / len(ends) * case.sizes * case.replicates


def _numbers(case: LineCase, truth: Truth, samples: int) -> int:
    """The most numbers that a training set has at a time: its inputs, or its rows as factors of the entries of W."""
    drawn = samples * math.prod(case.shape) if case.transition else 0
    return max(drawn, min(samples, truth.geometry.coordinates) * truth.weights.size)


def _draw(
    case: LineCase, geometry: Geometry, own: Seed, rng: np.random.Generator, *, batch: int, samples: int
) -> Array:
    if not case.transition:
        return draw_rows(geometry, rng, batch=batch, samples=samples)
    transition = draw_transition(int(np.prod(case.shape)), case.transition, own.child("transition").numpy())
    return geometry.locate(draw_var(transition, rng, batch=batch, samples=samples))
