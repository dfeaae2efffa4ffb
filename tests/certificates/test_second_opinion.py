"""The second implementation: right against exact fractions, strict about smaller bounds, quick, and really its own."""

import ast
import math
import time
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from pathlib import Path

import pytest

import netpact.certificates.second_opinion as second_opinion
from netpact.certificates import FORMS, check_bound, risk_bound
from netpact.core.errors import PactError


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_the_exact_form_against_plain_fractions(m: int) -> None:
    for k in range(m):
        for code_bits in (0, 1, 9):
            own = check_bound(errors=k, samples=m, code_bits=code_bits, delta=0.05, form="exact", bound=1.0).own_bound
            level = Fraction(0.05) / 2**code_bits
            for shift, sign in ((1e-12, 1), (-1e-12, -1)):
                p = Fraction(own) + Fraction(shift)
                tail = sum(math.comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(k + 1))
                assert (tail - level) * sign < 0, (k, m, code_bits)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize(("k", "m", "code_bits"), [(0, 50, 3), (43, 1437, 300), (900, 1000, 40), (1800, 60_000, 2000)])
def test_a_looser_bound_holds_and_a_smaller_one_does_not(form: str, k: int, m: int, code_bits: int) -> None:
    bound = risk_bound(errors=k, samples=m, code_bits=code_bits, delta=0.05, form=form)

    def holds(stated: float) -> bool:
        return check_bound(errors=k, samples=m, code_bits=code_bits, delta=0.05, form=form, bound=stated).holds

    assert holds(bound)
    assert holds(bound + 1e-3)
    assert not holds(bound - 1e-9)
    assert not holds(k / m)


def test_a_series_cut_short_is_completed_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    def own() -> float:
        return check_bound(errors=700, samples=1437, code_bits=0, delta=0.05, form="exact", bound=1.0).own_bound

    full = own()
    monkeypatch.setattr(second_opinion, "_NEGLIGIBLE", Decimal("0.3"))
    assert own() > full + 1e-9


def test_the_reason_names_both_numbers() -> None:
    opinion = check_bound(errors=1800, samples=60_000, code_bits=2000, delta=0.05, form="exact", bound=0.05)
    assert not opinion.holds
    assert "0.05 is smaller than the recomputed exact bound 0.0817" in opinion.reason


def test_a_bound_that_forgets_the_bits_is_refused() -> None:
    forgotten = risk_bound(errors=1800, samples=60_000, code_bits=0, delta=0.05)
    assert not check_bound(errors=1800, samples=60_000, code_bits=1, delta=0.05, form="exact", bound=forgotten).holds


def test_all_errors_and_huge_codes_leave_nothing_to_say() -> None:
    for form in FORMS:
        assert check_bound(errors=9, samples=9, code_bits=0, delta=0.5, form=form, bound=1.0).own_bound == 1.0
        opinion = check_bound(errors=0, samples=9, code_bits=10**6, delta=0.5, form=form, bound=1.0)
        assert opinion.holds
        assert opinion.own_bound == 1.0


@pytest.mark.parametrize(("k", "m"), [(3000, 60_000), (25_000, 50_000)])
def test_it_is_quick(k: int, m: int) -> None:
    start = time.process_time()
    check_bound(errors=k, samples=m, code_bits=0, delta=0.05, form="exact", bound=1.0)
    assert time.process_time() - start < 2.0


def test_the_stirling_series_joins_the_factorials() -> None:
    n = 1000
    step = second_opinion._log_factorial(n) - second_opinion._log_factorial(n - 1)
    assert abs(float(step) - math.log(n)) < 1e-14
    assert float(second_opinion._log_factorial(10**6)) == pytest.approx(math.lgamma(10**6 + 1), rel=1e-14)


def test_the_callers_decimal_context_does_not_matter() -> None:
    case = {"errors": 43, "samples": 1437, "code_bits": 300}
    plain = check_bound(**case, delta=0.05, form="exact", bound=1.0)
    with localcontext(Context(prec=3, traps=[Inexact])):
        assert check_bound(**case, delta=0.05, form="exact", bound=1.0) == plain


def test_it_shares_no_code_with_the_first_implementation() -> None:
    tree = ast.parse(Path(second_opinion.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {name for name in imported if name and name.startswith("netpact")} == {"netpact.core.errors"}
    assert not imported & {"numpy", "scipy"}
    assert "lgamma(" not in Path(second_opinion.__file__).read_text()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"form": "better"}, "form"),
        ({"errors": 11}, "counts"),
        ({"samples": 0}, "counts"),
        ({"errors": 1.0}, "errors"),
        ({"code_bits": -1}, "code_bits"),
        ({"delta": 1.0}, "delta"),
        ({"delta": None}, "delta"),
        ({"bound": math.nan}, "bound"),
        ({"bound": True}, "bound"),
    ],
)
def test_bad_input_is_refused_by_name(change: dict[str, object], named: str) -> None:
    arguments = {"errors": 1, "samples": 10, "code_bits": 5, "delta": 0.05, "form": "exact", "bound": 0.9} | change
    with pytest.raises(PactError) as caught:
        check_bound(**arguments)  # type: ignore[arg-type]
    assert caught.value.where == named
