"""Estimating the weights of simulated networks (rethinking-fig3): few rows against all samples, and batches.

Three ways to the same least squares estimates, from the same starts, for 12 training sets of a setting of Table 1:

    loop     one training set after the other, every step over all of its samples
    samples  all training sets at once, every step over all samples
    sums     all training sets at once, the samples reduced to as many rows as coordinates first

The time of reducing is part of `sums`. The largest difference between estimates of W is in the column `difference`.

    drawn    drawing the samples, then the loop
    rows     drawing rows with the distribution of the reduced samples, then all at once: what the experiment does

Milliseconds are processor time.

Run: OMP_NUM_THREADS=1 python benchmarks/composite.py [--quick]      (about a minute; --quick: seconds)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from recording import Row, keep_rows, median_seconds

from netpact.papers.rethinking.presets import LINES
from netpact.papers.rethinking.simulation.drawing import draw_independent, draw_rows, make_samples
from netpact.papers.rethinking.simulation.families import Array
from netpact.papers.rethinking.simulation.fitting import fit_factors
from netpact.papers.rethinking.simulation.lines import LineCase
from netpact.papers.rethinking.simulation.truths import Truth, draw_truth

SETTINGS = ("s1-plain", "s2-plain", "s3-plain", "s4-plain")
_SETS = 12


def compare(name: str, case: LineCase, place: int) -> Row:
    rng = np.random.default_rng(0)
    truth = draw_truth(case.geometry, case.family, rng)
    samples = case.samples[place]

    def draw(kind: Callable[..., Array]) -> tuple[Array, Array]:
        located = kind(truth.geometry, rng, batch=_SETS, samples=samples)
        return located, located @ truth.placed + rng.standard_normal(located.shape[:2])

    located, targets = draw(draw_independent)
    loop, one = _seconds(lambda: fit_each(truth, located, targets))
    batch, every = _seconds(lambda: fit(truth, located, targets))
    sums, reduced = _seconds(lambda: fit(truth, located, targets, reduced=True))
    drawn, _ = _seconds(lambda: fit_each(truth, *draw(draw_independent)))
    rows, _ = _seconds(lambda: fit(truth, *draw(draw_rows), reduced=True))
    return {
        "setting": name,
        "samples": samples,
        "coordinates": truth.geometry.coordinates,
        "loop, ms": 1000 * loop,
        "samples, ms": 1000 * batch,
        "sums, ms": 1000 * sums,
        "loop / sums": loop / sums,
        "samples / sums": batch / sums,
        "difference": float(max(np.abs(one - reduced).max(), np.abs(every - reduced).max())),
        "drawn, ms": 1000 * drawn,
        "rows, ms": 1000 * rows,
        "drawn / rows": drawn / rows,
    }


def _seconds(work: Callable[[], Array]) -> tuple[float, Array]:
    return median_seconds(work, time.process_time)


def fit_each(truth: Truth, located: Array, targets: Array) -> Array:
    pairs = ((located[place : place + 1], targets[place : place + 1]) for place in range(len(located)))
    return np.concatenate([fit(truth, *pair) for pair in pairs])


def fit(truth: Truth, located: Array, targets: Array, *, reduced: bool = False) -> Array:
    count = len(located)
    start = np.repeat(truth.parameters, count, axis=0), np.repeat(truth.output, count, axis=0)
    drawn = make_samples(truth.geometry, located, targets, reduced=reduced)
    return fit_factors(drawn, truth.family, *start, steps=60, tolerance=1e-8).weights


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    cases = LINES["full"].cases
    chosen = SETTINGS[:1] if quick else SETTINGS
    places = (0,) if quick else (0, 4)
    keep_rows(__file__, (compare(name, cases[name], place) for name in chosen for place in places), quick=quick)


if __name__ == "__main__":
    main()
