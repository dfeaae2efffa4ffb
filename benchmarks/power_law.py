"""Power-law fits with the xmin of the smallest KS distance: netpact against powerlaw, and against an exhaustive scan.

powerlaw runs with its defaults, which confine alpha to 0 to 3, and at its best, with alpha allowed up to 1,000. All
distances are computed anew from each fit's xmin and alpha, by one formula: the largest |F_n - F| at the values, from
both sides. (powerlaw compares on one side of each step.) The exhaustive scan is a plain loop over all distinct values.
Medians of three runs for netpact, one run of the others; "-" is what would take many minutes. powerlaw is no dependency
of netpact: install powerlaw 2.0 into a folder of its own and name that in PYTHONPATH; without it nothing is measured.

Run: OMP_NUM_THREADS=1 python benchmarks/power_law.py [--quick]      (some minutes; --quick: a few seconds)
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from recording import Row, keep_rows, median_seconds

from netpact import fit_power_law

# numbers, powerlaw runs, the exhaustive scan runs, lowest ratio and most seconds aimed at
SIZES = ((10_000, True, True, 100.0, None), (100_000, False, False, None, None), (1_000_000, False, False, None, 3.0))
QUICK = ((1_000, True, True, 0.0, None),)
Fit = tuple[float, float]  # xmin, alpha


def draw_pareto(count: int) -> np.ndarray:
    """The slowest case: every candidate fits."""
    return np.random.default_rng(0).pareto(1.5, count) + 1


def draw_student(count: int) -> np.ndarray:
    """Only the tail is a power law, of alpha 4."""
    return np.abs(np.random.default_rng(0).standard_t(3, count))


def draw_normal(count: int) -> np.ndarray:
    """No power law; weights of a layer at its start."""
    return np.abs(np.random.default_rng(0).standard_normal(count))


def distance(values: np.ndarray, fit: Fit) -> float:
    xmin, alpha = fit
    tail = np.sort(values[values >= xmin])
    steps = np.arange(len(tail) + 1) / len(tail)
    function = 1 - (tail / xmin) ** (1 - alpha)
    return float(max(np.abs(function - steps[:-1]).max(), np.abs(function - steps[1:]).max()))


def exhaustive(values: np.ndarray) -> Fit:
    ascending = np.sort(values)
    best, found = np.inf, (0.0, 0.0)
    for start in range(len(ascending) - 1):
        logs = np.log(ascending[start:] / ascending[start])
        steps = np.arange(len(logs) + 1) / len(logs)
        exponent = len(logs) / logs.sum()
        function = 1 - np.exp(-exponent * logs)
        worst = max(np.abs(function - steps[:-1]).max(), np.abs(function - steps[1:]).max())
        if worst < best:
            best, found = worst, (float(ascending[start]), 1 + float(exponent))
    return found


def peer(values: np.ndarray, ranges: dict[str, list[float]] | None) -> Fit:
    import powerlaw

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = powerlaw.Fit(values, verbose=0, parameter_ranges=ranges)
    return float(found.xmin), float(found.alpha)


def timed(work: Callable[[], Fit], values: np.ndarray) -> tuple[float, float, float]:
    """Seconds, alpha, KS distance."""
    start = time.perf_counter()
    fit = work()
    seconds = time.perf_counter() - start
    return seconds, fit[1], distance(values, fit)


def compare(draw: Callable[[int], np.ndarray], size: tuple[int, bool, bool, float | None, float | None]) -> Row:
    count, with_peer, with_scan, ratio, most = size
    values = draw(count)
    seconds, fit = median_seconds(lambda: fit_power_law(values))
    ks = distance(values, (fit.xmin, fit.alpha))
    nothing = (None, None, None)
    default = timed(lambda: peer(values, None), values) if with_peer else nothing
    best = timed(lambda: peer(values, {"alpha": [1, 1000]}), values) if with_peer else nothing
    scan = timed(lambda: exhaustive(values), values) if with_scan else nothing
    return {
        "numbers": f"{count:,} {draw.__name__.removeprefix('draw_')}",
        "netpact s": seconds,
        "aim s": most,
        "netpact alpha": fit.alpha,
        "netpact KS": ks,
        "peer": f"powerlaw {version('powerlaw')}",
        "default s": default[0],
        "default alpha": default[1],
        "default KS": default[2],
        "best s": best[0],
        "best alpha": best[1],
        "best KS": best[2],
        "ratio": min(default[0], best[0]) / seconds if default[0] and best[0] else None,
        "aim": ratio,
        "exhaustive s": scan[0],
        "exhaustive KS": scan[2],
    }


def rows(sizes: tuple[tuple[int, bool, bool, float | None, float | None], ...]) -> Iterator[Row]:
    peer(draw_pareto(50), None)  # what is imported and made once
    for size in sizes:
        for draw in (draw_pareto, draw_student, draw_normal):
            yield compare(draw, size)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    sizes = QUICK if parser.parse_args().quick else SIZES
    if find_spec("powerlaw") is None:
        print("powerlaw is not installed: nothing to compare with")
        return
    keep_rows(__file__, rows(sizes), quick=sizes is QUICK)


if __name__ == "__main__":
    main()
