"""The adversary supplies the base: one that holds a head trained on the sample, or the luckiest of many.

The first cannot be seen in the weights: the premise stands in the sentence, and whoever has the base's data finds out.
The second is paid for where N bases are listed beforehand and each is certified with delta / N.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import netpact
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.pacts.priors import base_of

_DELTA = 0.05


def test_a_base_with_a_head_that_was_trained_on_the_sample(digits: Data) -> None:
    start = netpact.build(netpact.parse_model("linear", input_shape=digits.input_shape, classes=10))
    module = netpact.train(start, digits.train, netpact.TrainOptions(epochs=5, learning_rate=0.02)).module
    base = base_of(module, name="innocent")
    small = netpact.compress(netpact.trace(module, digits), netpact.QuantizeDifference(base))
    pact = netpact.certify(netpact.seal(small), digits, base=base)
    assert pact.certificate is not None
    assert len(pact.message) < 10  # the network costs nothing, so all rests on the premise
    assert pact.certificate.sentence().startswith('If the base network "innocent"')
    assert "was fixed before the data" in pact.certificate.sentence()
    with pytest.raises(PactError, match="trained on the data of this certificate"):
        netpact.certify(pact, digits, base=base, base_data=digits)
    verdict = netpact.verify(pact, digits, base=base, base_data=digits)
    assert not verdict.agreed
    assert "trained on the data of this certificate" in " ".join(verdict.reasons)


@cache
def bound(errors: int, delta: float) -> float:
    return netpact.risk_bound(errors=errors, samples=60, code_bits=0, delta=delta)


def test_the_luckiest_of_many_bases() -> None:
    """64 bases that guess: each errs on half of all samples, and the one with the fewest errors is certified."""
    bases, trials = 64, 400
    errors = np.random.default_rng(0).binomial(60, 0.5, size=(trials, bases)).min(axis=1).tolist()
    wrong = {delta: sum(bound(count, delta) < 0.5 for count in errors) / trials for delta in (_DELTA, _DELTA / bases)}
    assert wrong[_DELTA] > 0.5
    assert wrong[_DELTA / bases] <= _DELTA
    assert bound(20, _DELTA / bases) == pytest.approx(
        netpact.risk_bound(errors=20, samples=60, code_bits=6, delta=_DELTA), abs=1e-9
    )
