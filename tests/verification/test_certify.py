"""certify: the counts are those of the decoded network, and bad arguments die before the work."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from netpact.certificates import risk_bound
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples
from netpact.network import error_counting
from netpact.pacts.certification import certify


def slow_errors(pact: Pact, samples: Samples) -> int:
    """The linear network in rational arithmetic, one sample after the other; a tie is an error."""
    tensors = {name.rsplit(".", 1)[-1]: coded.weights() for name, coded in pact.decode().tensors.items()}
    weight = [[Fraction(w) for w in row] for row in tensors["weight"].tolist()]
    bias = [Fraction(b) for b in tensors["bias"].tolist()]
    wrong = 0
    for inputs, labels in samples.batches():
        for image, label in zip(inputs, labels.tolist(), strict=True):
            x = [(i, Fraction(float(v))) for i, v in enumerate(image.ravel()) if v]
            logits = [b + sum(row[i] * v for i, v in x if row[i]) for row, b in zip(weight, bias, strict=True)]
            wrong += any(logits[j] >= logits[label] for j in range(len(logits)) if j != label)
    return wrong


def test_the_counts_are_those_of_rational_arithmetic(certified: Pact, digits: Data) -> None:
    certificate = certified.certificate
    assert certificate is not None
    assert digits.test is not None
    exact = slow_errors(certified, digits.train)
    assert exact <= certificate.errors <= exact + certificate.near_ties
    assert certificate.near_ties <= 2
    assert 0 <= (certificate.test_errors or 0) - slow_errors(certified, digits.test) <= 1
    assert (certificate.samples, certificate.test_samples) == (digits.train.count, digits.test.count)


def test_the_statement_is_complete(certified: Pact, pact: Pact, digits: Data) -> None:
    certificate = certified.certificate
    assert certificate is not None
    assert certified.message == pact.message
    assert pact.certificate is None
    assert certificate.data_fingerprint == digits.train.fingerprint()
    assert (certificate.prior, certificate.module) == ("data-free", "")
    assert certificate.code_bits == certified.code_bits
    for form, stated in (("exact", certificate.bound), ("kl", certificate.kl_bound)):
        assert stated == risk_bound(
            errors=certificate.errors, samples=certificate.samples, code_bits=certified.code_bits, delta=0.05, form=form
        )
    assert certificate.train_error < 0.5, "the fixture should be a network worth certifying"
    assert certificate.bound < certificate.kl_bound <= certificate.hoeffding_bound


@pytest.mark.parametrize("form", ["kl", "hoeffding"])
def test_other_forms(pact: Pact, digits: Data, form: str) -> None:
    certificate = certify(pact, digits, form=form, delta=0.01).certificate
    assert certificate is not None
    assert certificate.bound == getattr(certificate, f"{form}_bound")
    assert certificate.delta == 0.01


@pytest.mark.parametrize("size", [1, 7, 512])
def test_the_batch_size_changes_nothing(
    pact: Pact, certified: Pact, digits: Data, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_counting, "_BATCH", size)
    assert certify(pact, digits) == certified


def test_the_number_of_threads_changes_nothing(pact: Pact, certified: Pact, digits: Data) -> None:
    torch.set_num_threads(2)
    assert certify(pact, digits) == certified


class Untouchable:
    """Data that nobody may look at."""

    name = "untouchable"
    count = 1
    classes = 10
    input_shape = (1, 8, 8)

    def batches(self, size: int = 1024) -> None:
        raise AssertionError("the work began")

    fingerprint = batches


@pytest.mark.parametrize("delta", [0, 0.0, 1.0, -0.1, float("nan"), float("inf"), "0.05", None, True])
def test_a_bad_delta_dies_before_any_work(pact: Pact, delta: float) -> None:
    with pytest.raises(PactError, match="delta"):
        certify(pact, Untouchable(), delta=delta)


def test_other_bad_arguments_die_before_any_work(pact: Pact) -> None:
    with pytest.raises(PactError, match=r"'tight' is not known; allowed: exact"):
        certify(pact, Untouchable(), form="tight")
    with pytest.raises(PactError, match=r"leave the model out"):
        certify(pact, Untouchable(), model=torch.nn.Linear(2, 2))
    with pytest.raises(PactError, match=r"650 parameters, more than max_parameters = 600"):
        certify(pact, Untouchable(), max_parameters=600)


def test_data_that_do_not_fit(pact: Pact) -> None:
    labels = np.arange(20) % 10
    with pytest.raises(PactError, match=r"takes inputs of shape \(1, 8, 8\), the data have \(1, 9, 9\)"):
        certify(pact, (np.zeros((20, 1, 9, 9), dtype=np.float32), labels))
    with pytest.raises(PactError, match=r"takes classes: 10, the data have 7"):
        certify(pact, (np.zeros((20, 1, 8, 8), dtype=np.float32), labels % 7))
    with pytest.raises(PactError, match="only one class"):
        certify(pact, (np.zeros((20, 1, 8, 8), dtype=np.float32), labels * 0))
    with pytest.raises(PactError, match="no samples"):
        certify(pact, (np.zeros((0, 1, 8, 8), dtype=np.float32), labels[:0]))


def test_data_of_one_class_with_the_others_declared(pact: Pact, digits: Data) -> None:
    """A legitimate, if strange, sample."""
    x, y = next(iter(digits.train.batches(1000)))
    ones = ArraySamples(x[y == 1], y[y == 1], "ones", 10)
    certificate = certify(pact, ones).certificate
    assert certificate is not None
    assert certificate.samples == int((y == 1).sum())
    assert certificate.test_errors is None


def test_a_stream_gives_what_arrays_give(certified: Pact, pact: Pact, digits: Data) -> None:
    """Data that do not fit into memory come as a DataLoader; one that shuffles is refused."""
    x, y = (np.concatenate(parts) for parts in zip(*digits.train.batches(), strict=True))
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    streamed = certify(pact, torch.utils.data.DataLoader(dataset, batch_size=100)).certificate
    assert certified.certificate is not None
    assert streamed is not None
    assert streamed.bound == certified.certificate.bound
    assert streamed.data_fingerprint == certified.certificate.data_fingerprint
    with pytest.raises(PactError, match="shuffle"):
        certify(pact, torch.utils.data.DataLoader(dataset, batch_size=100, shuffle=True))
