"""How long one bound takes: the exact form, and the verifier's second implementation.

Run: python benchmarks/tail_inversion.py
"""

from __future__ import annotations

import itertools

from recording import Row, keep_rows, median_seconds

from netpact.certificates import check_bound, risk_bound

SAMPLES = (1_437, 60_000, 1_000_000)
ERROR_RATES = (0.0, 0.03, 0.5)
CODE_BITS = (0, 2_000, 1_000_000)
DELTA = 0.05


def row(samples: int, rate: float, bits: int) -> Row:
    errors = int(rate * samples)
    first, bound = median_seconds(
        lambda: risk_bound(errors=errors, samples=samples, code_bits=bits, delta=DELTA),
    )
    second, _ = median_seconds(
        lambda: check_bound(errors=errors, samples=samples, code_bits=bits, delta=DELTA, form="exact", bound=bound)
    )
    told: Row = {"samples": samples, "errors": errors, "code bits": bits, "bound %": 100 * bound}
    return {**told, "exact ms": 1000 * first, "verifier ms": 1000 * second}


def main() -> None:
    cases = itertools.product(SAMPLES, ERROR_RATES, CODE_BITS)
    keep_rows(__file__, (row(*case) for case in cases))


if __name__ == "__main__":
    main()
