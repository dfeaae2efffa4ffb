"""The adversary supplies the base of a sample compression: one that has seen the sample, one whose integers may be too
large, one with another layer than the recipe names, one that is exchanged after the certificate was written; and data
on which the features tell nothing apart.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import netpact
from netpact import Data, Pact, PickRecipe, pick, verify_picked
from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.datasets import as_samples
from netpact.picking.base import as_feature_base

RECIPE = PickRecipe(features="base", width=24, margin=3)


@pytest.fixture(scope="module")
def data(digits: Data) -> Data:
    x, y = next(iter(digits.train.batches(400)))
    return Data("sample", 10, as_samples((x, y), classes=10))


def make_base(data: Data, *, seed: int = 0, model: str = "mlp:12", certified: bool = True) -> Pact:
    torch.manual_seed(seed)
    start = netpact.build(netpact.parse_model(model, input_shape=data.input_shape, classes=data.classes))
    for parameter in start.parameters():
        nn.init.normal_(parameter, std=0.2)
    small = netpact.compress(netpact.trace(start, data), netpact.WholeNumber(), samples=data.train)
    return netpact.certify(netpact.seal(small), data) if certified else netpact.seal(small)


@pytest.fixture(scope="module")
def base(digits: Data) -> Pact:
    x, y = next(iter(digits.train.batches(800)))
    return make_base(Data("others", 10, as_samples((x[400:], y[400:]), classes=10)))


def test_a_base_that_has_seen_the_sample(data: Data) -> None:
    seen = make_base(data)
    with pytest.raises(PactError, match="trained on the data of this certificate"):
        pick(data, RECIPE, base=seen)
    # With its certificate removed nobody can tell, and the sentence says what it rests on.
    silent = Pact(seen.message)
    picked = pick(data, RECIPE, base=silent)
    assert picked.certificate is not None
    assert picked.certificate.sentence().startswith('If the base network "base" was fixed before the data')
    assert any("data that are not named" in line for line in picked.certificate.declarations)
    # Whoever has its data finds out; so does who has the file with the certificate.
    assert "trained on the data of this certificate" in str(verify_picked(picked, data, base=silent, base_data=data))
    assert "trained on the data of this certificate" in str(verify_picked(picked, data, base=seen))
    assert verify_picked(picked, data, base=silent)


def test_a_base_that_has_seen_one_of_the_samples(data: Data, base: Pact, digits: Data) -> None:
    x, y = next(iter(digits.train.batches(800)))
    mixed = as_samples((np.concatenate([x[400:], x[17:18]]), np.append(y[400:], 3)), classes=10)
    with pytest.raises(PactError, match="1 of the 400 training samples"):
        pick(data, RECIPE, base=Pact(base.message), base_data=mixed)
    with pytest.raises(PactError, match="no base network"):
        pick(data, PickRecipe(), base_data=mixed)


def test_a_layer_that_is_not_there(data: Data, base: Pact) -> None:
    for layer in (2, 8):
        with pytest.raises(PactError, match=f"there is no layer {layer}"):
            pick(data, replace(RECIPE, layer=layer), base=base)
    with pytest.raises(PactError, match="layer"):
        replace(RECIPE, layer=0)


def test_a_base_without_a_layer_that_reads_integers(data: Data, digits: Data) -> None:
    x, y = next(iter(digits.train.batches(800)))
    flat = make_base(Data("others", 10, as_samples((x[400:], y[400:]), classes=10)), model="linear")
    with pytest.raises(PactError, match="there is no layer 1"):
        pick(data, RECIPE, base=flat)


def test_activations_that_may_be_too_large(base: Pact, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound comes from the message, before any sample is looked at: 4 * features * most^2 below 2^53."""
    found = as_feature_base(base)
    assert found is not None
    reading = found.reading(1)
    assert 4 * reading.count * reading.most**2 < 1 << 53
    monkeypatch.setattr("netpact.picking.reading.EXACT", 4 * reading.count * reading.most**2)
    with pytest.raises(PactError, match="squared distances may reach"):
        replace(found).reading(1)


def widest(compressed: Compressed, *, high: int) -> Compressed:
    """The last layer lets inputs up to `high` through, as its grid says, and rounds nothing."""
    steps = list(compressed.rewrites)
    place = max(number for number, step in enumerate(steps) if step.rewrite.name == "whole")
    rewrite = replace(steps[place].rewrite, high=high, gain=1, divide=0)  # type: ignore[type-var]
    steps[place] = replace(steps[place], rewrite=rewrite)
    return replace(compressed, rewrites=tuple(steps))


def test_a_message_that_lets_large_integers_through(data: Data, base: Pact) -> None:
    """12 features up to 2^24 - 1 have squared distances beyond 2^53; up to 2^22 they are exact."""
    for high, fits in (((1 << 24) - 1, False), (1 << 22, True)):
        pact = netpact.seal(widest(base.decode(), high=high))
        found = as_feature_base(pact)
        assert found is not None
        if fits:
            assert found.reading(1).most == high
            assert verify_picked(pick(data, RECIPE, base=pact), data, base=pact)
        else:
            with pytest.raises(PactError, match="squared distances may reach"):
                pick(data, RECIPE, base=pact)


def test_another_base_than_the_stated_one(data: Data, base: Pact, digits: Data, tmp_path: Path) -> None:
    picked = pick(data, RECIPE, base=base)
    file = picked.write(tmp_path / "some.pick")
    with pytest.raises(PactError, match="there is none"):
        verify_picked(file, data)
    x, y = next(iter(digits.train.batches(800)))
    other = make_base(Data("others", 10, as_samples((x[400:], y[400:]), classes=10)), seed=1)
    assert "sha256" in str(verify_picked(file, data, base=other))
    # One number of a grid is no tensor, and changes the features all the same.
    for_a_tensor_hash_the_same = netpact.seal(widest(base.decode(), high=100))
    verdict = verify_picked(file, data, base=for_a_tensor_hash_the_same)
    assert not verdict
    assert "sha256" in str(verdict)
    with pytest.raises(PactError, match="the certificate names"):
        picked.to_module(data, base=other)


def test_networks_whose_features_are_no_integers(data: Data, tmp_path: Path) -> None:
    module = netpact.build(netpact.parse_model("mlp:12", input_shape=(1, 8, 8), classes=10))
    plain = netpact.seal(netpact.compress(netpact.trace(module, data), netpact.Quantize(bits=8)))
    with pytest.raises(PactError, match="real numbers"):
        pick(data, RECIPE, base=plain)
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))
    small = netpact.compress(netpact.trace(own, data), netpact.WholeNumber(), samples=data.train)
    with pytest.raises(PactError, match="own module"):
        pick(data, RECIPE, base=netpact.seal(small))
    with pytest.raises(PactError, match=r"must be an integer network as a \.pact file"):
        pick(data, RECIPE, base=module)  # type: ignore[arg-type]
    (tmp_path / "weights.safetensors").write_bytes(b"no pact")
    with pytest.raises(PactError):
        pick(data, RECIPE, base=tmp_path / "weights.safetensors")


def test_inputs_of_another_shape(base: Pact) -> None:
    x = np.zeros((30, 1, 9, 9), dtype=np.float32)
    x[:, 0, 0, 0] = np.arange(30) / 30
    with pytest.raises(PactError, match="takes inputs of shape"):
        pick(netpact.as_data((x, np.arange(30) % 10)), RECIPE, base=base)


def test_features_that_tell_nothing_apart(data: Data, base: Pact) -> None:
    """The last layer clamps all that it reads to 0 or 1: many samples with other labels have equal features.

    All orders of the samples give the same picks, the run ends, and the bound says how little it is worth.
    """
    blind = netpact.seal(widest(base.decode(), high=1))
    picked = pick(data, replace(RECIPE, width=0), base=blind)
    assert picked.certificate is not None
    assert picked.certificate.selected > 200
    assert verify_picked(picked, data, base=blind)
    x, y = next(iter(data.train.batches(400)))
    turned = Data("sample", 10, as_samples((x[::-1].copy(), y[::-1].copy()), classes=10))
    again = pick(turned, replace(RECIPE, width=0), base=blind)
    assert sorted(399 - again.picks) == sorted(picked.picks)
    assert again.certificate is not None
    assert again.certificate.bound == picked.certificate.bound


def test_copies_count_once(data: Data, base: Pact) -> None:
    x, y = next(iter(data.train.batches(400)))
    twice = Data("twice", 10, as_samples((np.concatenate([x, x[:90]]), np.concatenate([y, y[:90]])), classes=10))
    once, copied = pick(data, RECIPE, base=base), pick(twice, RECIPE, base=base)
    assert once.certificate is not None
    assert copied.certificate is not None
    assert (copied.certificate.samples, copied.certificate.copies) == (400, 90)
    assert copied.certificate.bound == once.certificate.bound
    assert verify_picked(copied, twice, base=base)
