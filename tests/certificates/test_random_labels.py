"""Labels by coin toss: every classifier's true risk is one half, whatever a search makes of its sample.

The whole way is run, not a model of it: features, a network fitted to the noise, compression, the bytes, certify.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from netpact.certificates import Certificate, risk_bound
from netpact.coding.format import seal
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, RateAware, TernarySearch, compress
from netpact.models import build, parse_model
from netpact.network import Network, trace
from netpact.pacts.certification import certify

DELTA, SEARCHES, SAMPLES, FEATURES = 0.05, 200, 60, 24
TRUE_RISK = 0.5
# Prices far below what the bound asks, so that the search fits the noise as well as it can.
METHODS = (
    lambda seed: TernarySearch(steps=30, restarts=1, bit_price=0.1, seed=seed),
    lambda seed: Quantize(bits=3),
    lambda seed: RateAware(epochs=3, rate=0.02, levels=1, seed=seed),
)


def draw(number: int) -> Data:
    random = Seed(40).child("coins", number).numpy()
    inputs = random.integers(0, 256, (SAMPLES, FEATURES)).astype(np.float32) / 255
    labels = random.integers(0, 2, SAMPLES)
    return Data("coins", 2, ArraySamples(inputs, labels, "coins", 2))


def fit_noise(data: Data) -> Network:
    """A linear network by least squares, which with 24 features for 60 samples has learned much of the noise."""
    inputs, labels = next(iter(data.train.batches(SAMPLES)))
    sides = 2.0 * labels - 1.0
    *slopes, offset = np.linalg.lstsq(np.c_[inputs, np.ones(SAMPLES)], sides, rcond=None)[0]
    module = build(parse_model("linear", input_shape=data.input_shape, classes=2))
    layer = module.get_submodule("fc1")
    with torch.no_grad():
        layer.get_parameter("weight").copy_(torch.tensor([np.negative(slopes).tolist(), slopes]))
        layer.get_parameter("bias").copy_(torch.tensor([-offset, offset]))
    return trace(module, data)


@pytest.fixture(scope="module")
def certificates() -> list[Certificate]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 10)
        patch.setattr("netpact.methods.sign_training._FREE_STEPS", 5)
        return [search_once(number) for number in range(SEARCHES)]


def search_once(number: int) -> Certificate:
    data = draw(number)
    method = METHODS[number % len(METHODS)](number)
    pact = certify(seal(compress(fit_noise(data), method, samples=data.train)), data, delta=DELTA)
    assert pact.certificate is not None
    return pact.certificate


def p_value(bounds: list[float]) -> float:
    """How likely as many broken bounds are, were the failure probability DELTA (one-sided binomial test)."""
    broken = sum(bound < TRUE_RISK for bound in bounds)
    return float(binomtest(broken, SEARCHES, DELTA, alternative="greater").pvalue)


def with_bits(certificate: Certificate, bits: int) -> float:
    return risk_bound(errors=certificate.errors, samples=certificate.samples, code_bits=bits, delta=DELTA)


def test_searches_do_find_patterns_in_the_noise(certificates: list[Certificate]) -> None:
    """Otherwise nothing would be tested: a fair coin has 30 errors of 60, and at most 23 once in twenty times."""
    assert np.median([certificate.errors for certificate in certificates]) <= 20
    assert all(certificate.samples == SAMPLES for certificate in certificates)


def test_bounds_break_no_more_often_than_delta_allows(certificates: list[Certificate]) -> None:
    assert p_value([certificate.bound for certificate in certificates]) > 1e-3


def test_the_bounds_say_something(certificates: list[Certificate]) -> None:
    """A bound of 1 would never break."""
    assert np.median([certificate.bound for certificate in certificates]) < 0.99


@pytest.mark.parametrize("bits_of_a_byte", [0, 1], ids=["no bits", "bytes taken for bits"])
def test_an_account_that_forgets_bits_breaks(certificates: list[Certificate], bits_of_a_byte: int) -> None:
    bounds = [with_bits(certificate, bits_of_a_byte * certificate.message_bytes) for certificate in certificates]
    assert p_value(bounds) < 1e-6
