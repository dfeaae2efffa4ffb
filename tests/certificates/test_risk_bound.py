"""The three forms: sourced values, the second implementation, the laws, and what is refused."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.certificates import FORMS, check_bound, risk_bound
from netpact.certificates.bound import _hoeffding, _log_inv
from netpact.core.errors import PactError

# The accuracy that is promised: what rounding may add when two bounds are compared.
ROUNDING = 1e-9


@st.composite
def cases(draw: st.DrawFn) -> dict[str, int]:
    samples = draw(st.integers(1, 3000))
    return {
        "errors": draw(st.integers(0, samples)),
        "samples": samples,
        "code_bits": draw(st.integers(0, 5000)),
    }


deltas = st.floats(1e-9, 0.5)
forms = st.sampled_from(list(FORMS))


def test_the_sourced_example() -> None:
    """60,000 samples, 2,000 bits, 3 % training error: 8.17 % exact, 13.8 % by Hoeffding."""
    bounds = [risk_bound(errors=1800, samples=60_000, code_bits=2000, delta=0.05, form=form) for form in FORMS]
    assert round(100 * bounds[0], 2) == 8.17
    assert round(100 * bounds[1], 2) == 8.18
    assert round(100 * bounds[2], 1) == 13.8


@given(cases(), st.floats(1e-12, 0.999))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_exact_kl_hoeffding_in_this_order(case: dict[str, int], delta: float) -> None:
    exact, kl, hoeffding = (risk_bound(**case, delta=delta, form=form) for form in FORMS)
    assert case["errors"] / case["samples"] <= exact <= kl <= hoeffding <= 1.0


@given(cases(), deltas, forms, st.integers(1, 500))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_more_errors_more_bits_or_less_delta_never_lower_the_bound(
    case: dict[str, int], delta: float, form: str, more: int
) -> None:
    bound = risk_bound(**case, delta=delta, form=form)
    worse = case | {"errors": min(case["samples"], case["errors"] + more)}
    assert risk_bound(**worse, delta=delta, form=form) >= bound - ROUNDING
    longer = case | {"code_bits": case["code_bits"] + more}
    assert risk_bound(**longer, delta=delta, form=form) >= bound - ROUNDING
    assert risk_bound(**case, delta=delta / (1 + more), form=form) >= bound - ROUNDING


@given(cases(), deltas, forms, st.integers(2, 20))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_more_samples_at_the_same_rate_never_raise_the_bound(
    case: dict[str, int], delta: float, form: str, times: int
) -> None:
    bound = risk_bound(**case, delta=delta, form=form)
    more = case | {"errors": times * case["errors"], "samples": times * case["samples"]}
    assert risk_bound(**more, delta=delta, form=form) <= bound + ROUNDING


def test_the_laws_are_strict_where_there_is_room() -> None:
    base = {"errors": 40, "samples": 1000, "code_bits": 100}
    for form in FORMS:
        bound = risk_bound(**base, delta=0.05, form=form)
        assert risk_bound(**base | {"errors": 41}, delta=0.05, form=form) > bound + 1e-6
        assert risk_bound(**base | {"code_bits": 101}, delta=0.05, form=form) > bound + 1e-6
        assert risk_bound(**base, delta=0.06, form=form) < bound - 1e-6
        assert risk_bound(errors=80, samples=2000, code_bits=100, delta=0.05, form=form) < bound - 1e-6


@given(cases(), st.floats(1e-12, 0.999), forms)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_the_second_implementation_agrees(case: dict[str, int], delta: float, form: str) -> None:
    bound = risk_bound(**case, delta=delta, form=form)
    opinion = check_bound(**case, delta=delta, form=form, bound=bound)
    assert opinion.holds, opinion.reason
    assert opinion.own_bound <= bound + 1e-12
    assert bound - opinion.own_bound <= 1e-9


def test_the_price_of_the_code_is_rounded_up() -> None:
    with mpmath.workdps(40):
        for bits in [*range(300), 4321, 10**6, 10**9, 10**15]:
            for delta in (0.05, 0.01, 0.3, 0.9999, 5e-324):
                true = bits * mpmath.log(2) - mpmath.log(mpmath.mpf(delta))
                assert 0 <= _log_inv(bits, delta) - true <= 2e-15 * true, (bits, delta)


@pytest.mark.parametrize(("k", "m"), [(0, 10), (0, 60_000), (500, 1000), (500_000, 1_000_000), (5 * 10**8, 10**9)])
@pytest.mark.parametrize("delta", [0.05, 0.999, 0.999999])
def test_the_order_holds_to_the_last_bit_where_the_forms_meet(k: int, m: int, delta: float) -> None:
    """Without errors exact and kl are one formula; kl and hoeffding agree to third order at one half."""
    exact, kl, hoeffding = (risk_bound(errors=k, samples=m, code_bits=0, delta=delta, form=form) for form in FORMS)
    assert exact <= kl <= hoeffding


@pytest.mark.parametrize(("k", "m"), [(0, 5), (1, 7), (3, 100), (500, 1000), (1800, 60_000), (300_000, 1_000_000)])
@pytest.mark.parametrize("code_bits", [0, 100, 100_000])
def test_kl_and_hoeffding_are_outward_and_tight(k: int, m: int, code_bits: int) -> None:
    with mpmath.workdps(40):
        log_inv = code_bits * mpmath.log(2) - mpmath.log(mpmath.mpf(0.05))
        rate = mpmath.mpf(k) / m

        def divergence(p: mpmath.mpf) -> mpmath.mpf:
            return m * ((rate * mpmath.log(rate / p) if k else 0) + (1 - rate) * mpmath.log((1 - rate) / (1 - p)))

        kl = mpmath.mpf(risk_bound(errors=k, samples=m, code_bits=code_bits, delta=0.05, form="kl"))
        assert kl == 1 or divergence(kl) >= log_inv
        assert kl - 1e-9 <= rate or divergence(kl - mpmath.mpf("1e-9")) <= log_inv
        hoeffding = risk_bound(errors=k, samples=m, code_bits=code_bits, delta=0.05, form="hoeffding")
        true = min(mpmath.mpf(1), rate + mpmath.sqrt(log_inv / (2 * m)))
        assert 0 <= hoeffding - true <= 1e-14


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"errors": -1}, "errors"),
        ({"errors": 11}, "errors"),
        ({"errors": True}, "errors"),
        ({"errors": 1.0}, "errors"),
        ({"errors": math.nan}, "errors"),
        ({"samples": 0}, "samples"),
        ({"samples": 10.0}, "samples"),
        ({"samples": 10**12}, "samples"),
        ({"code_bits": -1}, "code_bits"),
        ({"code_bits": 3.5}, "code_bits"),
        ({"code_bits": 10**5000}, "code_bits"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": "0.05"}, "delta"),
        ({"delta": 10**400}, "delta"),
        ({"form": "Exact"}, "form: 'Exact' is not known; allowed: exact, kl, hoeffding"),
        ({"form": ["exact"]}, "form"),
    ],
)
def test_bad_input_is_refused_by_name(change: dict[str, object], named: str) -> None:
    arguments: dict[str, object] = {"errors": 1, "samples": 10, "code_bits": 5, "delta": 0.05} | change
    with pytest.raises(PactError) as caught:
        risk_bound(**arguments)  # type: ignore[arg-type]
    assert str(caught.value).startswith(named)


def test_numpy_integers_and_floats_are_accepted() -> None:
    plain = risk_bound(errors=1, samples=10, code_bits=5, delta=0.5)
    numbers = risk_bound(errors=np.int32(1), samples=np.int64(10), code_bits=np.uint8(5), delta=np.float32(0.5))
    assert numbers == plain


def test_a_tiny_delta_neither_overflows_nor_underflows() -> None:
    assert 0.5 < risk_bound(errors=1, samples=1000, code_bits=0, delta=5e-324) < 1.0


HARD = [
    (k, m, bits, delta) for m in (10**7, 10**9) for k in (m // 3, m // 2) for bits in (0, 1) for delta in (0.5, 0.3)
]


@pytest.mark.parametrize(("k", "m", "bits", "delta"), HARD)
def test_rounding_of_the_kl_form_is_allowed_for(k: int, m: int, bits: int, delta: float) -> None:
    """Many samples and few bits: sums of numbers of size m nearly cancel. Without the allowance half of these fail."""
    bound = risk_bound(errors=k, samples=m, code_bits=bits, delta=delta, form="kl")
    with mpmath.workdps(50):
        rate, p = mpmath.mpf(k) / m, mpmath.mpf(bound)
        distance = m * (rate * mpmath.log(rate / p) + (1 - rate) * mpmath.log((1 - rate) / (1 - p)))
        assert distance >= bits * mpmath.log(2) - mpmath.log(mpmath.mpf(delta))


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("bits", [1, 77, 10**6 + 1, 10**12 + 7])
def test_the_logarithm_of_the_confidence_is_rounded_up(bits: int, delta: float) -> None:
    with mpmath.workdps(50):
        assert mpmath.mpf(_log_inv(bits, delta)) >= bits * mpmath.log(2) - mpmath.log(mpmath.mpf(delta))


def test_hoeffding_is_rounded_up() -> None:
    with mpmath.workdps(50):
        for k in range(40):
            value = mpmath.mpf(_hoeffding(k, 997, 3.0 + k / 7))
            assert value >= mpmath.mpf(k) / 997 + mpmath.sqrt(mpmath.mpf(3.0 + k / 7) / (2 * 997))
