"""The inverted tail against mpmath, exact fractions and Clopper-Pearson, and its edges."""

import math
import random
import time
from fractions import Fraction

import mpmath
import pytest
from scipy.stats import beta

from netpact.certificates import invert_tail, log_tail
from netpact.core.errors import PactError

PRECISION = 1e-9
SAMPLES = (2, 10, 1437, 60_000, 1_000_000)
BITS = (0, 7, 300, 2_000, 40_000, 1_000_000)


def true_log_tail(k: int, m: int, p: mpmath.mpf) -> mpmath.mpf:
    """ln P[Bin(m,p) <= k] for p >= k/m with 40 digits, term by term."""
    q = 1 - p
    term = total = mpmath.mpf(1)
    for i in range(k, 0, -1):
        term *= i * q / ((m - i + 1) * p)
        total += term
        if term < mpmath.mpf("1e-30") * total:
            break
    choose = mpmath.loggamma(m + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(m - k + 1)
    return choose + k * mpmath.log(p) + (m - k) * mpmath.log(q) + mpmath.log(total)


def grid() -> list[tuple[int, int, int]]:
    points = []
    for m in SAMPLES:
        counts = sorted({0, 1, m // 100, m // 33, m // 3, m // 2, m - m // 10, m - 1} & set(range(m)))
        points += [(k, m, bits) for k in counts for bits in BITS]
    return points


@pytest.mark.parametrize("m", SAMPLES)
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_outward_and_within_a_billionth_of_mpmath(m: int, delta: float) -> None:
    with mpmath.workdps(40):
        for k, samples, bits in grid():
            if samples != m:
                continue
            log_inv = bits * math.log(2) + math.log(1 / delta)
            bound = invert_tail(errors=k, samples=m, log_inv=log_inv)
            point = (k, m, bits, bound)
            assert k / m <= bound <= 1.0, point
            if bound < 1.0:
                assert true_log_tail(k, m, mpmath.mpf(bound)) <= -mpmath.mpf(log_inv), f"too small: {point}"
            below = mpmath.mpf(bound) - mpmath.mpf(PRECISION)
            if below > mpmath.mpf(k) / m:
                assert true_log_tail(k, m, below) >= -mpmath.mpf(log_inv), f"too large: {point}"


@pytest.mark.parametrize("m", [1, 2, 3, 7, 12])
def test_outward_against_exact_fractions(m: int) -> None:
    for k in range(m):
        for delta in (Fraction(1, 2**30), Fraction(1, 64), Fraction(1, 2), Fraction(31, 32)):
            bound = invert_tail(errors=k, samples=m, log_inv=-math.log(delta))
            for shift, sign in ((Fraction(0), 1), (Fraction(1, 10**9), -1)):
                p = Fraction(bound) - shift
                tail = sum(math.comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(k + 1))
                # log_inv itself was rounded to a float above: a part in 1e15 of delta's exponent.
                if sign > 0:
                    assert tail <= delta * (1 + Fraction(1, 10**13)), (k, m, delta, bound)
                elif p > Fraction(k, m):
                    assert tail >= delta * (1 - Fraction(1, 10**13)), (k, m, delta, bound)


@pytest.mark.parametrize(("k", "m"), [(0, 30), (3, 50), (43, 1437), (500, 1000), (1800, 60_000)])
def test_without_bits_it_is_the_clopper_pearson_limit(k: int, m: int) -> None:
    bound = invert_tail(errors=k, samples=m, log_inv=math.log(20))
    assert bound == pytest.approx(beta.ppf(0.95, k + 1, m - k), abs=1e-9)


@pytest.mark.parametrize("m", SAMPLES)
def test_the_log_tail_is_true_on_both_sides_of_the_rate(m: int) -> None:
    with mpmath.workdps(40):
        for k, samples, _ in grid()[:: len(BITS)]:
            if samples != m:
                continue
            sigma = math.sqrt(max(k * (m - k) / m, 1.0)) / m
            for p in {min(k / m + sigma, 0.999999), min(k / m + 9 * sigma, 0.999999), max(k / m - sigma, 1e-9)}:
                if p >= k / m:
                    expected = true_log_tail(k, m, mpmath.mpf(p))
                else:
                    right = true_log_tail(m - k - 1, m, 1 - mpmath.mpf(p))
                    expected = mpmath.log(1 - mpmath.exp(right))
                found = log_tail(errors=k, samples=m, risk=p)
                assert abs(found - expected) < 1e-7 + 1e-12 * abs(expected), (k, m, p, found, expected)


def test_the_log_factorials_stay_inside_the_stated_allowance() -> None:
    source = random.Random(5)
    sizes = [*range(3, 600), *(int(10 ** source.uniform(2, 9)) for _ in range(400))]
    with mpmath.workdps(40):
        for n in sizes:
            expected = mpmath.loggamma(n)
            assert abs(math.lgamma(n) - expected) <= 3 * 2.0**-52 * expected, n


@pytest.mark.parametrize(("place", "value"), [("tail._NEGLIGIBLE", 0.3), ("bisection._MAX_HALVINGS", 6)])
def test_stopping_early_loosens_the_bound_and_never_lowers_it(
    monkeypatch: pytest.MonkeyPatch, place: str, value: float
) -> None:
    cases = [(k, m, math.log(20) + bits) for k, m, bits in ((30, 100, 0), (700, 1437, 0), (500_000, 1_000_000, 0))]
    full = [invert_tail(errors=k, samples=m, log_inv=log_inv) for k, m, log_inv in cases]
    monkeypatch.setattr(f"netpact.certificates.{place}", value)
    early = [invert_tail(errors=k, samples=m, log_inv=log_inv) for k, m, log_inv in cases]
    assert all(e >= f for e, f in zip(early, full, strict=True))
    assert any(e > f + 1e-9 for e, f in zip(early, full, strict=True))


def test_edges() -> None:
    assert invert_tail(errors=5, samples=5, log_inv=0.1) == 1.0
    assert invert_tail(errors=0, samples=10, log_inv=0.0) == 0.0
    assert invert_tail(errors=3, samples=10, log_inv=1e300) == 1.0
    assert invert_tail(errors=3, samples=10, log_inv=math.inf) == 1.0
    assert invert_tail(errors=0, samples=10, log_inv=math.inf) == 1.0
    # A tail of 0.9999 needs a risk below the observed rate: the rate itself is returned.
    assert invert_tail(errors=500, samples=1000, log_inv=1e-4) == 0.5
    assert invert_tail(errors=0, samples=60, log_inv=math.log(20)) == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-14)
    assert log_tail(errors=4, samples=4, risk=0.3) == 0.0
    assert log_tail(errors=0, samples=4, risk=0.0) == 0.0
    assert log_tail(errors=3, samples=4, risk=1.0) == -math.inf
    assert log_tail(errors=0, samples=3, risk=0.25) == pytest.approx(3 * math.log(0.75), rel=1e-14)
    assert log_tail(errors=2, samples=3, risk=1e-200) == 0.0


@pytest.mark.parametrize("log_inv", [-1.0, math.nan, True, "3"])
def test_a_bad_log_inv_is_refused(log_inv: float) -> None:
    with pytest.raises(PactError, match="log_inv"):
        invert_tail(errors=1, samples=3, log_inv=log_inv)


@pytest.mark.parametrize("risk", [-0.1, 1.1, math.nan])
def test_a_bad_risk_is_refused(risk: float) -> None:
    with pytest.raises(PactError, match="risk"):
        log_tail(errors=1, samples=3, risk=risk)


def test_every_inversion_is_fast() -> None:
    for k, m, bits in grid():
        durations = []
        for _ in range(3):
            start = time.process_time()
            invert_tail(errors=k, samples=m, log_inv=bits * math.log(2) + 3)
            durations.append(time.process_time() - start)
        assert min(durations) < 0.05, (k, m, bits, durations)
