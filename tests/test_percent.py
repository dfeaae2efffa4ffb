from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpact.core.percent import confidence, percent, percent_up


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.41201, "41.3 %"),
        (0.412, "41.2 %"),
        (0.0, "0.0 %"),
        (1e-12, "0.1 %"),
        (0.9991, "100.0 %"),
        (1.0, "100.0 %"),
        (0.05, "5.0 %"),  # the float is above 1/20, the number in the file is not
        (0.05000000000000001, "5.1 %"),  # the next one
        (1e300, f"{10**302}.0 %"),
    ],
)
def test_bounds_are_rounded_up(share: float, words: str) -> None:
    assert percent_up(share) == words


@given(st.floats(0, 1) | st.integers(0, 1000).map(lambda tenths: tenths / 1000))
def test_a_printed_bound_is_never_below_the_bound_and_less_than_a_tenth_above(share: float) -> None:
    printed = Fraction(percent_up(share).removesuffix(" %")) / 100
    assert Fraction(repr(share)) <= printed < Fraction(repr(share)) + Fraction(1, 1000)
    assert float(printed) >= share


def test_bounds_may_have_more_places() -> None:
    assert percent_up(0.123401, places=2) == "12.35 %"
    assert percent(0.123401, places=3) == "12.340 %"


def test_measured_errors_are_rounded_to_the_nearest() -> None:
    assert [percent(share) for share in (0.025, 0.02549, 0.0256, 1.0)] == ["2.5 %", "2.5 %", "2.6 %", "100.0 %"]


def test_confidence_keeps_all_digits_and_is_rounded_down() -> None:
    assert [confidence(delta) for delta in (0.05, 0.1, 1e-6, 0.025)] == ["95 %", "90 %", "99.9999 %", "97.5 %"]
    assert confidence(1e-300) == "99.9999999999 %"
