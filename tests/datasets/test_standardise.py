"""Standardised inputs: exact values, what a certificate says of the constants, constants computed from the sample."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import netpact
from netpact.certificates import Certificate
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import (
    Data,
    Reading,
    Standardise,
    add_label_noise,
    as_data,
    check_data,
    load_data,
    set_aside,
    sort_samples,
    standardise,
)
from netpact.datasets.order import published_name
from netpact.datasets.splits import Split
from netpact.datasets.standardising import looks_computed, parse_standardise

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (60, 3, 4, 4), dtype=np.uint8)
LABELS = np.arange(60) % 3
CONSTANTS = Standardise((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def received(data: Data) -> np.ndarray:
    return np.concatenate([x for x, _ in data.train.batches(7)])


def test_values_are_those_of_torch_bit_for_bit() -> None:
    tensor = torch.from_numpy(IMAGES).float().div(255)
    mean, std = (
        torch.tensor(numbers, dtype=torch.float32).reshape(3, 1, 1) for numbers in (CONSTANTS.mean, CONSTANTS.std)
    )
    expected = tensor.sub(mean).div(std).numpy()
    data = as_data((IMAGES, LABELS), reading=Reading(standardise=CONSTANTS))
    assert np.array_equal(received(data), expected)
    assert data.train.fingerprint() == as_data((expected, LABELS)).train.fingerprint()
    assert (data.name, data.standardised) == (f"own data:standardise={CONSTANTS}", CONSTANTS)
    loader = DataLoader(TensorDataset(tensor, torch.from_numpy(LABELS)), batch_size=8)
    stream = standardise(as_data(loader), CONSTANTS)
    assert np.array_equal(received(stream), expected)
    assert stream.train.fingerprint() == data.train.fingerprint()


def test_whatever_is_taken_from_them_is_standardised_too() -> None:
    data = as_data((IMAGES, LABELS), test=(IMAGES[:9], LABELS[:9]), reading=Reading(standardise=CONSTANTS))
    expected = received(data)
    assert data.test is not None
    assert np.array_equal(next(iter(data.test.batches()))[0], expected[:9])
    seen, certified = set_aside(data.train, Split(50))
    both = np.concatenate([next(iter(part.batches()))[0] for part in (seen, certified)])
    assert np.array_equal(np.sort(both, axis=None), np.sort(expected, axis=None))
    noisy = add_label_noise(data, kind="symmetric", rate=0.5, seed=Seed(0))
    assert np.array_equal(received(noisy), expected)
    tidy = sort_samples(data)
    assert np.array_equal(np.sort(received(tidy), axis=None), np.sort(expected, axis=None))
    for changed in (noisy, tidy):
        assert changed.standardised == CONSTANTS


def test_published_order_is_kept() -> None:
    assert published_name(load_data("digits:standardise=0.5/0.5").train) == "digits"


@pytest.mark.parametrize("text", ["0.5/0.25", "0.1,0.2,0.3/1.0,2.0,3.0", "-1e-05/0.125"])
def test_text_there_and_back(text: str) -> None:
    assert str(parse_standardise(text)) == text


@pytest.mark.parametrize("text", ["", "0.5", "0.5/0", "0.5/-1", "nan/1", "a/b", "1,2/1", "1/1/1", "0/inf", "coco"])
def test_constants_that_are_none(text: str) -> None:
    with pytest.raises(PactError, match="standardise"):
        parse_standardise(text)


def test_shapes_and_twice() -> None:
    with pytest.raises(PactError, match=r"2 constants for inputs of shape \(3, 4, 4\)"):
        standardise(as_data((IMAGES, LABELS)), Standardise((0.0, 0.0), (1.0, 1.0)))
    data = standardise(as_data((IMAGES, LABELS)), CONSTANTS)
    with pytest.raises(PactError, match="already standardised"):
        standardise(data, CONSTANTS)
    with pytest.raises(PactError, match="only one tensor of real numbers"):
        standardise(as_data((IMAGES.reshape(60, -1).astype(np.int64), LABELS)), Standardise((0.5,), (0.5,)))
    large = as_data((np.full((4, 2), 1e30, dtype=np.float32), np.arange(4) % 2))
    with pytest.raises(PactError, match="too large for float32"):
        standardise(large, Standardise((0.0,), (1e-20,))).train.fingerprint()


def own_constants(spread: str) -> Standardise:
    scaled = IMAGES / 255
    if spread == "altogether":
        return Standardise((round(float(scaled.mean()), 4),), (round(float(scaled.std()), 4),))
    deviations = scaled.std(axis=(0, 2, 3)) if spread == "each channel" else scaled.std(axis=(2, 3)).mean(axis=0)
    return Standardise(tuple(scaled.mean(axis=(0, 2, 3)).round(4)), tuple(deviations.round(4)))


@pytest.mark.parametrize("spread", ["each channel", "each image", "altogether"])
def test_constants_of_this_very_sample_are_found(spread: str) -> None:
    data = as_data((IMAGES, LABELS), reading=Reading(standardise=own_constants(spread)))
    assert looks_computed(data.train)
    assert any("look computed from this sample" in problem.what for problem in check_data(data))
    # The same where somebody else has done it beforehand.
    assert any("look computed from this sample" in problem.what for problem in check_data((received(data), LABELS)))


def test_other_constants_are_not() -> None:
    for constants in (CONSTANTS, Standardise((0.5,), (0.5,))):
        data = as_data((IMAGES, LABELS), reading=Reading(standardise=constants))
        assert not looks_computed(data.train)
        assert not any("computed" in problem.what for problem in check_data(data))


def small_pact(data: Data) -> netpact.Pact:
    torch.manual_seed(0)
    network = netpact.trace(nn.Sequential(nn.Flatten(), nn.Linear(48, 3)), data)
    return netpact.seal(netpact.compress(network, netpact.Quantize(bits=3)))


def make() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 3))


def test_a_certificate_says_so_and_verify_repeats_it() -> None:
    raw = as_data((IMAGES, LABELS), test=(IMAGES[:9], LABELS[:9]))
    data = standardise(raw, CONSTANTS)
    pact = netpact.certify(small_pact(data), data, model=make)
    certificate = pact.certificate
    assert certificate is not None
    assert certificate.standardised == "0.485,0.456,0.406/0.229,0.224,0.225"
    told = "mean 0.485, 0.456, 0.406, std 0.229, 0.224, 0.225"
    assert f"If the constants that standardise the inputs ({told}) were fixed before the data" in certificate.sentence()
    assert any(
        told in premise and "fixed before the sample was drawn" in premise for premise in certificate.assumptions
    )
    assert any(told in declared for declared in certificate.declarations)
    again = Certificate.from_json(json.loads(json.dumps(certificate.to_json())))
    assert again == certificate
    assert netpact.verify(pact, data, model=make).agreed
    assert netpact.verify(pact, raw, model=make).agreed
    other = standardise(raw, Standardise((0.5,), (0.5,)))
    refused = netpact.verify(pact, other, model=make)
    assert not refused.agreed
    assert any("standardisation" in reason for reason in refused.reasons)
    silent = pact.with_certificate(replace(certificate, standardised=""))
    assert any("standardisation" in reason for reason in netpact.verify(silent, data, model=make).reasons)


def test_none_is_made_with_constants_of_the_sample_and_none_agreed_to() -> None:
    raw = as_data((IMAGES, LABELS))
    honest = standardise(raw, CONSTANTS)
    data = standardise(raw, own_constants("each channel"))
    with pytest.raises(PactError, match=r"look computed from this sample.*into the module as buffers"):
        netpact.certify(small_pact(data), data, model=make)
    pact = netpact.certify(small_pact(honest), honest, model=make)
    assert pact.certificate is not None
    lie = replace(pact.certificate, standardised=str(data.standardised), data_fingerprint=data.train.fingerprint())
    verdict = netpact.verify(pact.with_certificate(lie), data, model=make)
    assert not verdict.agreed
    assert "look computed from this sample" in verdict.reasons[0]


@pytest.mark.parametrize("text", ["0.5", "0.5/x", "0.5/0.5\nagreed", "a/b", "/"])
def test_hostile_constants_in_a_file(text: str) -> None:
    data = as_data((IMAGES, LABELS))
    certificate = netpact.certify(small_pact(data), data, model=make).certificate
    assert certificate is not None
    with pytest.raises(PactError, match="MEAN/STD"):
        replace(certificate, standardised=text)
