"""One measured number: its worst sample, its quantiles, what it leaves out, how it is told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.measurements import Quantity
from netpact.measurements.quantity import divide, of_weights, over_samples

HUNDRED = np.arange(1.0, 101.0)


def test_the_worst_sample_decides() -> None:
    errors = HUNDRED / 1000
    least = over_samples(HUNDRED.copy(), side="least", complete=True, errors=errors)
    most = over_samples(HUNDRED.copy(), side="most", complete=True, errors=errors)
    assert (least.value, least.stderr) == (1.0, 0.001)
    assert (most.value, most.stderr) == (100.0, 0.1)


def test_exact_means_all_samples_and_no_probes() -> None:
    assert over_samples(HUNDRED.copy(), side="least", complete=True).exact
    assert not over_samples(HUNDRED.copy(), side="least", complete=False).exact
    assert not over_samples(HUNDRED.copy(), side="least", complete=True, errors=HUNDRED).exact


@pytest.mark.parametrize(("zeta", "least", "most"), [(0.0, 1, 100), (0.05, 6, 95), (0.29, 30, 71), (0.999, 100, 1)])
def test_zeta_leaves_out_the_worst_share(zeta: float, least: float, most: float) -> None:
    shuffled = np.random.default_rng(0).permutation(HUNDRED)
    assert over_samples(shuffled, side="least", complete=True).zeta_value(zeta) == least
    assert over_samples(shuffled, side="most", complete=True).zeta_value(zeta) == most


def test_zeta_of_a_property_of_the_weights_is_itself() -> None:
    assert of_weights(2.5).zeta_value(0.5) == 2.5
    for bad in (-0.1, 1.0, math.nan):
        with pytest.raises(PactError, match="zeta"):
            of_weights(2.5).zeta_value(bad)


def test_quantiles_are_samples() -> None:
    quantiles = over_samples(np.arange(21.0), side="least", complete=True).quantiles
    assert quantiles == {0.0: 0, 0.05: 1, 0.25: 5, 0.5: 10, 0.75: 15, 0.95: 19, 1.0: 20}


def test_nothing_is_asked_where_nothing_comes_in() -> None:
    above, below = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 2.0])
    assert divide(above, below, side="least").tolist() == [math.inf, math.inf, 0.0]
    assert divide(above, below, side="most").tolist() == [0.0, math.inf, 0.0]


def test_json_has_no_infinity_and_samples_only_when_asked() -> None:
    quantity = over_samples(np.array([2.0, math.inf]), side="most", complete=True)
    record = json.loads(json.dumps(quantity.to_json(), allow_nan=False))
    assert record["value"] is None
    assert record["quantiles"]["0"] == 2.0
    assert "samples" not in record
    assert quantity.to_json(with_samples=True)["samples"] == [2.0, None]
    assert of_weights(1.0).to_json() == {"value": 1.0, "exact": True, "stderr": None}


def test_numbers_cannot_be_changed_or_missing() -> None:
    quantity = over_samples(HUNDRED.copy(), side="least", complete=True)
    assert quantity.samples is not None
    with pytest.raises(ValueError, match="read-only"):
        quantity.samples[0] = 0
    for bad in (np.array([]), np.array([math.nan])):
        with pytest.raises(PactError, match="quantity"):
            Quantity(1.0, True, samples=bad)
    with pytest.raises(PactError, match="least, most"):
        Quantity(1.0, True, side="middle")


def test_text_says_what_is_an_estimate() -> None:
    assert str(of_weights(2.0)) == "2"
    assert str(Quantity(2.0, exact=False, stderr=0.25)) == "2 +- 0.25 (estimate)"
