"""How many matrices are enough (Lemma 2), by simulation: the printed number is not, ours is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from netpact.algebra.projection import SignProjector, printed_count, valid_count
from netpact.core.errors import PactError

TRIALS = 1000


def failures(*, count: int, eps: float, aligned: bool) -> int:
    """How often |u^T (A^ - A) v| > eps |A|_F |u| |v| over seeds, for fixed A, u, v."""
    random = np.random.default_rng(0)
    u, v = random.standard_normal(8), random.standard_normal(8)
    direction = np.outer(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
    matrix = direction if aligned else random.standard_normal((8, 8))
    matrix = matrix / np.linalg.norm(matrix)
    pair = np.stack([matrix.ravel(), direction.ravel()])
    target = float(pair[0] @ pair[1])
    failed = 0
    for seed in range(TRIALS):
        # u^T A^ v = (1/k) sum_i <A, M_i> <u v^T, M_i>
        first, second = SignProjector(size=64, count=count, seed=seed, layer=0).measure(pair)
        failed += abs(float(first @ second) / count - target) > eps
    return failed


@pytest.mark.parametrize(("eps", "eta"), [(0.5, 0.05), (0.3, 0.01)])
@pytest.mark.parametrize("aligned", [True, False])
def test_the_printed_number_fails_too_often(eps: float, eta: float, aligned: bool) -> None:
    failed = failures(count=printed_count(eps=eps, eta=eta), eps=eps, aligned=aligned)
    assert stats.binomtest(failed, TRIALS, eta, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize(("eps", "eta"), [(0.5, 0.05), (1.0, 0.5), (0.9, 1.0)])
@pytest.mark.parametrize("aligned", [True, False])
def test_the_valid_number_does_not(eps: float, eta: float, aligned: bool) -> None:
    failed = failures(count=valid_count(eps=eps, eta=eta), eps=eps, aligned=aligned)
    assert failed <= eta * TRIALS


@pytest.mark.parametrize(("eps", "eta"), [(0.5, 0.05), (1.0, 1.0), (0.01, 1e-9)])
def test_the_valid_number_is_the_least_for_its_tail(eps: float, eta: float) -> None:
    def tail(count: int) -> float:
        return float(4 * np.exp(-count * (eps**2 / 4 - eps**3 / 6)))

    count = valid_count(eps=eps, eta=eta)
    assert tail(count) <= eta < tail(count - 1)
    assert count > printed_count(eps=eps, eta=eta)


def test_numbers() -> None:
    """log(20)/0.25 = 11.98; log(80)/(1/16 - 1/48) = 105.2."""
    assert printed_count(eps=0.5, eta=0.05) == 12
    assert valid_count(eps=0.5, eta=0.05) == 106
    assert printed_count(eps=1.0, eta=1.0) == 1


@pytest.mark.parametrize("bad", [0, -0.1, 1.1, float("nan"), True, "0.5"])
def test_bad_accuracies(bad: float) -> None:
    for count in (printed_count, valid_count):
        with pytest.raises(PactError, match="eps: must be a finite number > 0 and <= 1"):
            count(eps=bad, eta=0.5)
        with pytest.raises(PactError, match="eta: must be a finite number > 0 and <= 1"):
            count(eps=0.5, eta=bad)
