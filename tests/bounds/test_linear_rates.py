"""The rates of Lemmas 6 and 8 for linear classifiers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bounds.bound_examples import chain, some_data

from netpact import PactError
from netpact.bounds import EstimateOptions, Gamma, estimate_bounds
from netpact.papers.arora.bounds.linear import vector_compress_rate, vector_project_rate


def test_rates_by_hand() -> None:
    """margin 1/10, 100,000 samples: (1/1000)^(1/3) and sqrt(1/1000)."""
    assert vector_compress_rate(margin=0.1, samples=100_000) == pytest.approx(0.1)
    assert vector_project_rate(margin=0.1, samples=100_000) == pytest.approx(math.sqrt(1e-3))


def test_the_rate_of_lemma_6_is_the_least_of_its_sum_up_to_a_constant() -> None:
    """classes * eta + sqrt(classes / (eta margin^2 m)) over a grid of eta."""
    for classes, margin, samples in ((1, 0.1, 10_000), (10, 0.3, 60_000)):
        etas = np.logspace(-8, 0, 4001)
        least = float((classes * etas + np.sqrt(classes / (etas * margin**2 * samples))).min())
        rate = vector_compress_rate(margin=margin, samples=samples, classes=classes)
        assert 0.9 * rate < least <= 2 * rate + 1e-9


def test_a_linear_network_by_hand() -> None:
    """Rows (3, 4) with bias 12 and (1, 0): the longer one is 13 long; gamma = 0.26."""
    data = some_data(inputs=2, classes=2, count=50)
    model = chain(np.array([[3.0, 4.0], [1.0, 0.0]]), biases=(np.array([12.0, 0.0]),))
    found = estimate_bounds(model, data, EstimateOptions(gamma=Gamma(value=0.26)))
    x = np.concatenate([batch for batch, _ in data.train.batches()]).astype(np.float64)
    longest = math.sqrt(float((x**2).sum(axis=1).max()) + 1)
    margin = 0.26 / (2 * 13 * longest)
    loss = found["arora-lemma-8"].margin_loss
    assert found["arora-lemma-8"].value == pytest.approx(loss + math.sqrt(2 / (margin**2 * 50)), rel=1e-6)
    assert found["arora-lemma-6"].value == pytest.approx(loss + (4 / (margin**2 * 50)) ** (1 / 3), rel=1e-6)


def test_bad_margins_are_refused() -> None:
    for rate in (vector_compress_rate, vector_project_rate):
        with pytest.raises(PactError, match="above 0"):
            rate(margin=0.0, samples=10)
        with pytest.raises(PactError, match="samples: must be an integer >= 1"):
            rate(margin=1.0, samples=0)
