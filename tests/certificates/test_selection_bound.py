"""Bounds for predictors made from some of the samples, against exact sums, known risks, and each other."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from netpact.certificates import check_selection_bound, risk_bound, selection_bound, subset_bound
from netpact.core.errors import PactError


@pytest.mark.parametrize(
    ("errors", "kept", "samples"), [(0, 0, 20), (1, 3, 20), (4, 7, 60), (0, 59, 60), (12, 20, 200)]
)
def test_sample_compression_agrees_with_exact_sums(errors: int, kept: int, samples: int) -> None:
    delta = Fraction(1, 20)
    level = delta / (samples * math.comb(samples, kept))
    left = samples - kept

    def tail(p: Fraction) -> Fraction:
        return sum((math.comb(left, i) * p**i * (1 - p) ** (left - i) for i in range(errors + 1)), Fraction(0))

    ours = subset_bound(errors=errors, kept=kept, samples=samples, delta=float(delta))
    step = Fraction(1, 10**8)
    assert ours == 1.0 if errors == left else tail(Fraction(ours)) <= level
    assert tail(Fraction(ours) - step) > level


def test_sample_compression_without_a_kept_sample_costs_the_sizes_alone() -> None:
    ours = subset_bound(errors=5, kept=0, samples=1024, delta=0.05)
    assert ours == pytest.approx(risk_bound(errors=5, samples=1024, code_bits=10, delta=0.05), abs=1e-9)


@pytest.mark.parametrize(("kept", "samples"), [(0, 1), (0, 30), (1, 30), (12, 30), (29, 30), (8, 90)])
def test_pick_to_learn_solves_its_equation_exactly(kept: int, samples: int) -> None:
    delta = Fraction(1, 20)

    def excess(risk: Fraction) -> Fraction:
        """(delta/N) sum C(m,k) t^(m-k) - C(N,k) t^(N-k) with t = 1 - risk: the same equation as a polynomial."""
        t = 1 - risk
        total = sum((math.comb(m, kept) * t ** (m - kept) for m in range(kept, samples)), Fraction(0))
        return delta / samples * total - math.comb(samples, kept) * t ** (samples - kept)

    ours = Fraction(selection_bound(selected=kept, samples=samples, delta=float(delta)))
    assert excess(ours) >= 0
    assert excess(ours - Fraction(1, 10**8)) < 0


@pytest.mark.parametrize(("kept", "samples"), [(1, 50), (5, 50), (40, 50), (20, 2_000), (300, 60_000)])
def test_pick_to_learn_covers_a_selection_whose_risk_is_known(kept: int, samples: int) -> None:
    """Keeping the d largest of N uniform numbers has the preference property, and a new number changes the selection
    with probability 1 - (the d-th largest), which exceeds e iff fewer than d of the N numbers lie above 1 - e.
    """
    risk = selection_bound(selected=kept, samples=samples, delta=0.05)
    with mp.workdps(40):
        p = mpf(risk)
        failure = mp.fsum(mp.binomial(samples, i) * p**i * (1 - p) ** (samples - i) for i in range(kept))
    assert failure <= 0.05
    # The same by drawing the numbers, where that is quick.
    if samples <= 50:
        drawn = np.sort(np.random.default_rng(0).random((20_000, samples)), axis=1)
        assert np.mean(1.0 - drawn[:, -kept] > risk) <= 0.05


def test_the_bounds_grow_with_what_is_kept() -> None:
    for bound in (
        lambda d: selection_bound(selected=d, samples=5_000, delta=0.05),
        lambda d: subset_bound(errors=0, kept=d, samples=5_000, delta=0.05),
    ):
        values = [bound(d) for d in (0, 10, 200, 1_000)]
        assert values == sorted(values)
    assert selection_bound(selected=10, samples=10, delta=0.05) == 1.0


@pytest.mark.parametrize(("selected", "samples", "bits"), [(0, 1, 0), (3, 40, 0), (39, 40, 5), (120, 1437, 40)])
def test_bits_of_the_recipe_are_a_smaller_delta(selected: int, samples: int, bits: int) -> None:
    ours = selection_bound(selected=selected, samples=samples, code_bits=bits, delta=0.05)
    same = selection_bound(selected=selected, samples=samples, delta=0.05 * 2.0**-bits)
    assert ours == pytest.approx(same, abs=1e-9)
    assert ours == selection_bound(selected=selected, samples=samples, delta=0.05) if not bits else ours > same - 1e-9


@pytest.mark.parametrize(
    ("selected", "samples", "bits"), [(0, 1, 0), (0, 50, 3), (7, 50, 0), (49, 50, 0), (90, 1437, 37), (400, 6000, 53)]
)
def test_the_second_opinion_agrees_and_finds_what_is_too_small(selected: int, samples: int, bits: int) -> None:
    bound = selection_bound(selected=selected, samples=samples, code_bits=bits, delta=0.05)
    facts: Any = {"selected": selected, "samples": samples, "code_bits": bits, "delta": 0.05}
    assert check_selection_bound(**facts, bound=bound)
    assert check_selection_bound(**facts, bound=min(1.0, bound + 0.01))
    smaller = check_selection_bound(**facts, bound=bound - 1e-6)
    assert not smaller
    assert smaller.own_bound == pytest.approx(bound, abs=1e-3)
    if selected:
        assert not check_selection_bound(**facts | {"selected": selected + 1}, bound=bound)


def test_fewer_terms_give_a_larger_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    facts: Any = {"selected": 40, "samples": 3000, "delta": 0.05}
    whole = selection_bound(**facts)
    monkeypatch.setattr(sys.modules["netpact.certificates.selections"], "_MOST_TERMS", 300)
    assert whole < selection_bound(**facts) < 1.2 * whole


def test_the_order_of_the_bounds() -> None:
    """The selection bound needs more of the recipe, and gives less: half of the other one here."""
    sharp = selection_bound(selected=90, samples=1437, delta=0.05)
    union = subset_bound(errors=0, kept=90, samples=1437, delta=0.05)
    assert 90 / 1437 < sharp < 0.5 * union


@pytest.mark.parametrize(
    "call",
    [
        lambda: selection_bound(selected=11, samples=10, delta=0.05),
        lambda: selection_bound(selected=1, samples=10, delta=0.0),
        lambda: selection_bound(selected=1, samples=10, code_bits=-1, delta=0.05),
        lambda: subset_bound(errors=0, kept=10, samples=10, delta=0.05),
        lambda: subset_bound(errors=11, kept=1, samples=10, delta=0.05),
        lambda: check_selection_bound(selected=1, samples=0, code_bits=0, delta=0.05, bound=0.5),
        lambda: check_selection_bound(selected=1, samples=9, code_bits=0, delta=0.05, bound=math.nan),
    ],
)
def test_nonsense_is_refused(call) -> None:
    with pytest.raises(PactError):
        call()
