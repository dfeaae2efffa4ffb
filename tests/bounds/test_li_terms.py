"""The arithmetic of Lemmas D.4, E.8 and F.3: by hand, and against the formula written out with loops."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound

NUMBERS = st.floats(0.01, 100.0)


def term(*, noise: float, gain: float, signal: float) -> LayerTerm:
    return LayerTerm(name="layer", rank=1, components=2, noise=noise, gain=gain, signal=signal)


def bound(*layers: LayerTerm) -> LemmaBound:
    return LemmaBound(name="D.4", printed=False, layers=layers)


def test_two_layers_by_hand() -> None:
    """e_2 = 0.1 / 0.5 = 0.2; e_3 = (6 * 0.2 + 0.1) / 0.25 = 5.2. Of that the first layer has 0.2 * 24 = 4.8."""
    found = bound(term(noise=0.1, gain=7.0, signal=0.5), term(noise=0.1, gain=6.0, signal=0.25))
    assert found.errors == pytest.approx((0.2, 5.2))
    assert found.shares == pytest.approx((4.8, 0.4))
    assert found.to_json()["error"] == pytest.approx(5.2)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_it_is_the_sum_of_products_that_the_paper_prints(rows: list[tuple[float, float, float]]) -> None:
    """sum_k xi / (zeta |M|) prod_{l > k} t / (zeta |M|)"""
    found = bound(*(term(noise=n, gain=g, signal=s) for n, g, s in rows))
    total = 0.0
    for k, (noise, _, signal) in enumerate(rows):
        product = noise / signal
        for _, gain, after in rows[k + 1 :]:
            product *= gain / after
        assert found.shares[k] == pytest.approx(product)
        total += product
    assert found.error == pytest.approx(total)
    assert found.error >= total * (1 - 1e-15)


def test_what_is_zero_and_what_is_infinite() -> None:
    nothing = term(noise=0.0, gain=2.0, signal=0.0)
    assert bound(nothing, nothing).error == 0.0, "nothing was removed, so a cushion of 0 does no harm"
    lost = term(noise=0.1, gain=2.0, signal=1.0)
    assert bound(lost, nothing).error == math.inf
    assert bound(nothing, lost).errors == pytest.approx((0.0, 0.1))
    assert bound(lost, nothing).to_json()["error"] is None
    assert bound(term(noise=0.1, gain=0.0, signal=1.0), nothing).shares[1] == 0.0
