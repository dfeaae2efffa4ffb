"""How long one bound takes: the exact form, and the verifier's second implementation.

Run: python benchmarks/tail_inversion.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from netpact.certificates import check_bound, risk_bound

SAMPLES = (1_437, 60_000, 1_000_000)
ERROR_RATES = (0.0, 0.03, 0.5)
CODE_BITS = (0, 2_000, 1_000_000)
DELTA = 0.05


def milliseconds(work: Callable[[], object], *, repeats: int) -> float:
    """The best of a few runs: what the work costs when nothing else disturbs it."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return 1000.0 * best


def row(samples: int, rate: float, bits: int) -> str:
    errors = int(rate * samples)

    def first() -> float:
        return risk_bound(errors=errors, samples=samples, code_bits=bits, delta=DELTA)

    bound = first()

    def second() -> object:
        return check_bound(errors=errors, samples=samples, code_bits=bits, delta=DELTA, form="exact", bound=bound)

    times = f"{milliseconds(first, repeats=5):>12.2f}{milliseconds(second, repeats=1):>14.1f}"
    return f"{samples:>9,}{errors:>9,}{bits:>11,}{100 * bound:>11.4f}{times}"


def main() -> None:
    print(f"{'samples':>9}{'errors':>9}{'bits':>11}{'bound %':>11}{'exact ms':>12}{'verifier ms':>14}")
    for samples in SAMPLES:
        for rate in ERROR_RATES:
            for bits in CODE_BITS:
                print(row(samples, rate, bits))


if __name__ == "__main__":
    main()
