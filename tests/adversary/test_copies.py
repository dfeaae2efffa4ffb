"""Copies of samples. The adversary tried:

- every sample twenty times in the file: twenty times the samples, the same errors in percent, a third of the bound;
- a hundred samples with random labels, learned by heart, three hundred times each;
- copies of the helper's samples in the part that the bound is about, which the helper has seen;
- stating the same about the original network: copies of fresh inputs, copies of samples within a box;
- a certificate of an old netpact, or a forged one, that says nothing of copies;
- the declaration that the distribution repeats values, left out of the sentence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.certificates import Certificate, risk_bound
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, Split
from netpact.methods import Quantize, QuantizeDifference, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box, certify_original, verify_box, verify_original
from netpact.pacts.priors import helper_module, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions, train


def arrays(samples: Samples) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    x, y = zip(*samples.batches(), strict=True)
    return np.concatenate(x), np.concatenate(y)


def repeated(samples: Samples, times: int) -> ArraySamples:
    x, y = arrays(samples)
    return ArraySamples(np.tile(x, (times, 1, 1, 1)), np.tile(y, times), "repeated", samples.classes)


def stated(pact: Pact) -> Certificate:
    assert pact.certificate is not None
    return pact.certificate


@pytest.fixture(scope="module")
def original(digits: Data) -> nn.Module:
    start = build(parse_model("linear", input_shape=digits.input_shape, classes=10))
    return train(start, digits.train, TrainOptions(epochs=5, learning_rate=0.02)).module


@pytest.fixture(scope="module")
def pact(original: nn.Module, digits: Data) -> Pact:
    return seal(compress(trace(original, digits), Quantize(bits=3)))


@pytest.fixture(scope="module")
def twenty(digits: Data) -> ArraySamples:
    return repeated(digits.train, 20)


def as_if_drawn(pact: Pact, honest: Certificate, times: int, **changes: Any) -> Pact:
    """The certificate that counts every copy, as a netpact without this check stated it."""
    counts: dict[str, Any] = {
        "errors": honest.errors * times,
        "samples": honest.samples * times,
        "code_bits": honest.code_bits,
    }
    bounds: dict[str, Any] = {
        name: risk_bound(**counts, delta=honest.delta, form=form)
        for name, form in (("bound", "exact"), ("kl_bound", "kl"), ("hoeffding_bound", "hoeffding"))
    }
    counted: dict[str, Any] = {
        "errors": counts["errors"],
        "samples": counts["samples"],
        "near_ties": honest.near_ties * times,
    }
    return pact.with_certificate(replace(honest, **counted, **bounds, **changes))


def test_copies_do_not_lower_the_bound(pact: Pact, digits: Data, twenty: ArraySamples) -> None:
    honest, copied = stated(certify(pact, digits.train)), stated(certify(pact, twenty))
    assert (copied.bound, copied.samples, copied.errors) == (honest.bound, honest.samples, honest.errors)
    assert copied.copies == 19 * digits.train.count
    assert f"{copied.copies:,} exact copies" in copied.sentence()
    assert "copies" not in honest.sentence()
    assert verify(certify(pact, twenty), twenty)


def test_a_certificate_that_counts_copies_is_refused(pact: Pact, twenty: ArraySamples) -> None:
    honest = stated(certify(pact, twenty))
    for forged in (
        as_if_drawn(pact, honest, 20, copies=0),
        as_if_drawn(pact, honest, 20),
        pact.with_certificate(replace(honest, copies=0)),
        pact.with_certificate(replace(honest, copies=honest.copies + 1)),
    ):
        verdict = verify(forged, twenty)
        assert not verdict
        assert "copies" in str(verdict)


def test_the_declaration_is_in_the_sentence(pact: Pact, twenty: ArraySamples) -> None:
    """Table data may repeat themselves; whoever says so counts all samples, and the sentence says so."""
    declared = certify(pact, twenty, repeats=True)
    certificate = stated(declared)
    assert (certificate.repeats, certificate.samples) == (True, twenty.count)
    assert certificate.sentence().startswith("If the distribution itself repeats values")
    assert f"{certificate.copies:,} of the samples are exact copies" in certificate.sentence()
    verdict = verify(declared, twenty)
    assert verdict
    assert "If the distribution itself repeats values" in str(verdict)
    assert not verify(declared.with_certificate(replace(certificate, repeats=False)), twenty)


def test_random_labels_learned_by_heart() -> None:
    """100 samples, random labels: 26.5 % were stated at a truth of 90 %."""
    random = np.random.default_rng(0)
    x, y = random.random((100, 200), dtype=np.float32), random.integers(0, 10, 100)
    samples = ArraySamples(np.tile(x, (300, 1)), np.tile(y, 300), "learned by heart", 10)
    start = build(parse_model("linear", input_shape=(200,), classes=10))
    module = train(start, ArraySamples(x, y, "drawn", 10), TrainOptions(epochs=60, learning_rate=0.05)).module
    certificate = stated(certify(compress(trace(module, samples), Quantize(bits=3)), samples))
    assert (certificate.samples, certificate.copies) == (100, 29_900)
    assert certificate.train_error < 0.5 < 0.9 < certificate.bound


def test_negative_zero_is_no_other_number_and_another_label_no_copy(pact: Pact, digits: Data) -> None:
    x, y = arrays(digits.train)
    other = np.where(x == 0, np.float32(-0.0), x)
    copied = ArraySamples(np.concatenate([x, other]), np.concatenate([y, y]), "signed zeros", 10)
    assert stated(certify(pact, copied)).copies == len(y)
    relabelled = ArraySamples(np.concatenate([x, x]), np.concatenate([y, (y + 1) % 10]), "two labels", 10)
    certificate = stated(certify(pact, relabelled))
    assert (certificate.copies, certificate.samples) == (0, 2 * len(y))
    assert certificate.train_error >= 0.5, "one of the two labels is always wrong: nothing is gained"


def test_a_loader_is_not_brought_into_memory(pact: Pact, digits: Data) -> None:
    x, y = arrays(repeated(digits.train, 2))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.Subset(
            torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), range(len(y))
        ),
        batch_size=100,
    )
    streamed, drawn = certify(pact, loader), stated(certify(pact, digits.train))
    assert (stated(streamed).bound, stated(streamed).samples) == (drawn.bound, drawn.samples)
    assert verify(streamed, loader)


def test_a_helpers_samples_are_not_certified(digits: Data) -> None:
    """Copies of what the helper was trained on stand in the part that it is said not to have seen."""
    x, y = arrays(digits.train)
    few = ArraySamples(np.tile(x[:200], (5, 1, 1, 1)), np.tile(y[:200], 5), "five times", 10)
    recipe = Recipe("linear", TrainOptions(epochs=4, learning_rate=0.02), Split(percent=50, counter=1))
    helper = train_helper(few, recipe)
    network = helper_module(helper, recipe, Data("few", 10, few))
    compressed = compress(trace(network, few), QuantizeDifference(helper))
    certificate = stated(certify(compressed, few, base=helper))
    seen, certified = recipe.split.indices(few.count)
    unseen = set((certified % 200).tolist()) - set((seen % 200).tolist())
    assert certificate.samples == len(unseen)
    assert certificate.helper is not None
    assert certificate.helper.samples == len(seen)
    assert certificate.copies == len(certified) - len(unseen)
    assert verify(certify(compressed, few, base=helper), few, base=helper)
    assert stated(certify(compressed, few, base=helper, repeats=True)).samples == len(certified)


def test_a_part_that_holds_nothing_but_copies(digits: Data) -> None:
    x, y = arrays(digits.train)
    few = ArraySamples(np.tile(x[:20], (50, 1, 1, 1)), np.tile(y[:20], 50), "fifty times", 10)
    recipe = Recipe("linear", TrainOptions(epochs=1), Split(percent=50))
    helper = train_helper(few, recipe)
    compressed = compress(trace(helper_module(helper, recipe, Data("few", 10, few)), few), QuantizeDifference(helper))
    with pytest.raises(PactError, match="every sample is an exact copy of one that the helper has seen"):
        certify(compressed, few, base=helper)


def test_the_original_network(pact: Pact, original: nn.Module, digits: Data) -> None:
    x, y = arrays(digits.train)
    data = Data("part", 10, ArraySamples(x[:1000], y[:1000], "part", 10))
    fresh = x[1000:]
    once = certify_original(pact, original, data, fresh)
    copied = certify_original(pact, original, data, np.tile(fresh, (30, 1, 1, 1)))
    assert (copied.bound, copied.unlabelled_samples) == (once.bound, len(fresh))
    assert copied.unlabelled_duplicates == 29 * len(fresh)
    assert f"{29 * len(fresh):,} exact copies" in copied.sentence()
    certified = certify(pact, data)
    many = np.tile(fresh, (30, 1, 1, 1))
    assert verify_original(certified.with_original(copied), original, data, many)
    share = risk_bound(errors=copied.disagreements * 30, samples=len(many), code_bits=0, delta=0.025)
    forged = replace(
        copied,
        unlabelled_samples=len(many),
        disagreements=copied.disagreements * 30,
        disagreement_bound=share,
        bound=min(1.0, copied.compressed.bound + share + 1e-9),
    )
    assert not verify_original(certified.with_original(forged), original, data, many)
    declared = certify_original(pact, original, data, many, repeats=True)
    assert declared.unlabelled_samples == len(many)
    assert verify_original(certified.with_original(declared), original, data, many)


def test_a_box(pact: Pact, original: nn.Module, digits: Data, twenty: ArraySamples) -> None:
    fine = seal(compress(trace(original, digits), Quantize(bits=6)))
    once, copied = certify_box(fine, original, digits.train), certify_box(fine, original, twenty)
    assert (copied.bound, copied.errors) == (once.bound, once.errors)
    certified = certify(fine, twenty).with_original(copied)
    assert verify_box(certified, original, twenty)
    declared = certify_box(fine, original, twenty, repeats=True)
    assert declared.errors == 20 * once.errors
    assert declared.sentence().startswith("If the distribution itself repeats values")
    assert verify_box(certified.with_original(declared), original, twenty)
