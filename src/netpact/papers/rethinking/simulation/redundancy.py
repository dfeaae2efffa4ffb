"""The task behind Figure 7: CP networks of rank R with K kernels, by least squares and by gradient descent."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from netpact.core.seed import Seed
from netpact.experiments import BaseStudy, SimulationSetting
from netpact.papers.rethinking.simulation.descent import descend
from netpact.papers.rethinking.simulation.drawing import draw_rows, make_samples
from netpact.papers.rethinking.simulation.families import CP
from netpact.papers.rethinking.simulation.geometry import Geometry
from netpact.papers.rethinking.simulation.truths import draw_truth, estimate_weights
from netpact.papers.rethinking.statistics.positions import Window
from netpact.runs import JsonValue

_DROP = 1e-5  # "we stop training when the target function drops by less than 10^-5" (A.5.1)
_ENOUGH = 4  # replicates, for findings to be judged


@dataclass(frozen=True)
class KernelCase:
    """samples: sizes of the training sets; noise_std: the paper states none; steps: of gradient descent, at most."""

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    pooling: tuple[int, ...]
    rank: int
    kernels: int
    samples: tuple[int, ...]
    replicates: int
    noise_std: float
    steps: int

    @staticmethod
    def read(record: Mapping[str, Any]) -> KernelCase:
        plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in record.items()}
        return KernelCase(**plain)


@dataclass(frozen=True)
class KernelPoint:
    """Means over training sets: |W^ - W*|_F and |U_G (W^ - W*)| of both estimates, and steps of gradient descent."""

    samples: int
    squares: float
    squares_prediction: float
    descent: float
    descent_prediction: float
    steps: float


@dataclass(frozen=True, kw_only=True)
class KernelStudy(BaseStudy):
    kernels: int
    rank: int
    parameters: int
    replicates: int
    points: tuple[KernelPoint, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> KernelStudy:
        return cls(**{**record, "points": tuple(KernelPoint(**point) for point in record["points"])})

    @property
    def fits(self) -> bool:
        return self.replicates >= _ENOUGH

    def __str__(self) -> str:
        told = "; ".join(
            f"n = {one.samples:,}: least squares {one.squares_prediction:.3g}, descent {one.descent_prediction:.3g}"
            for one in self.points
        )
        return f"K = {self.kernels}, R = {self.rank}, seed {self.seed}, prediction error: {told}"


def simulate_kernels(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: one number of kernels K, at all sample sizes."""
    asked = SimulationSetting.read(setting)
    case = KernelCase.read(asked.case)
    own = Seed(asked.seed).child("rethinking", asked.study)
    points = tuple(_point(case, own.child(samples), samples) for samples in case.samples)
    places = Geometry(case.shape, Window(kernel=case.kernel, pooling=case.pooling)).places
    return KernelStudy(
        study=asked.study,
        seed=asked.seed,
        kernels=case.kernels,
        rank=case.rank,
        parameters=case.rank * (sum(case.kernel) + case.kernels) + case.kernels * places,
        replicates=case.replicates,
        points=points,
    ).to_json()


def _point(case: KernelCase, seed: Seed, samples: int) -> KernelPoint:
    geometry = Geometry(case.shape, Window(kernel=case.kernel, pooling=case.pooling))
    family, found = CP(case.kernel, case.rank), []
    for replicate in range(case.replicates):
        rng = seed.child(replicate).numpy()
        truth = draw_truth(geometry, family, rng, kernels=case.kernels, unit=True)
        located = draw_rows(geometry, rng, batch=1, samples=samples)
        targets = located @ truth.placed + case.noise_std * rng.standard_normal(located.shape[:2])
        drawn = make_samples(geometry, located, targets)
        squares, _ = estimate_weights(truth, drawn, rng, starts=0)
        trained = descend(drawn, family, case.kernels, rng, count=samples, steps=case.steps, tolerance=_DROP)
        errors = [float(one[0]) for fit in (squares, trained) for one in truth.errors(fit)]
        found.append([*errors, float(trained.steps)])
    return KernelPoint(samples, *np.mean(found, axis=0).tolist())


def time_kernels(case: KernelCase) -> float:
    """Seconds for all sizes, from one training set of the smallest."""
    started = time.perf_counter()
    _point(replace(case, replicates=1), Seed(0).child("forecast"), min(case.samples))
    return (time.perf_counter() - started) * case.replicates * len(case.samples)
