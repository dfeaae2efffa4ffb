from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Fingerprinter, load_data


def images(count: int = 37) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.integers(0, 256, (count, 5, 4), dtype=np.uint8), generator.integers(0, 3, count)


def test_digits_are_the_digits_we_know() -> None:
    data = load_data("digits")
    assert data.test is not None
    assert data.train.fingerprint() == "sha256:9d228def3642dcde82c4da709d222d1f00d31d48a71acf9da7bca5e11c9a70ea"
    assert data.test.fingerprint() == "sha256:8d2eaaf7eb4aefeff30f4b48a5bc858a700f2405d55a6a1bfdafcf7da4a3c96e"


def test_definition_written_out_again() -> None:
    x, y = images()
    header = b"netpact-data-1 shape=1,5,4 count=37 inputs=float32 labels=int64\n"
    inputs = b"".join((row.astype("<f4") / np.float32(255)).tobytes() for row in x)
    labels = b"".join(int(label).to_bytes(8, "little") for label in y)
    whole = hashlib.sha256(header + hashlib.sha256(inputs).digest() + hashlib.sha256(labels).digest())
    assert ArraySamples(x, y, "images", 3).fingerprint() == f"sha256:{whole.hexdigest()}"


@pytest.mark.parametrize("size", [1, 2, 5, 36, 37, 1000])
def test_batch_size_makes_no_difference(size: int) -> None:
    samples = ArraySamples(*images(), "images", 3)
    running = Fingerprinter(samples.input_shape)
    for x, y in samples.batches(size):
        running.update(x, y)
    assert running.digest() == samples.fingerprint()


def test_uint8_and_the_same_numbers_as_floats_agree() -> None:
    x, y = images()
    as_floats = ArraySamples(x.astype(np.float32) / 255, y, "floats", 3)
    assert ArraySamples(x, y, "bytes", 3).fingerprint() == as_floats.fingerprint()
    big_endian = ArraySamples((x.astype(np.float32) / 255).astype(">f4"), y.astype(">i2"), "big-endian", 3)
    assert big_endian.fingerprint() == as_floats.fingerprint()


def test_everything_a_network_sees_makes_a_difference() -> None:
    x, y = images()
    other_pixel, other_label = x.copy(), y.copy()
    other_pixel[-1, -1, -1] ^= 1
    other_label[-1] = (other_label[-1] + 1) % 3
    variants = [
        (x, y),
        (other_pixel, y),
        (x, other_label),
        (x[::-1].copy(), y[::-1].copy()),
        (x[:-1], y[:-1]),
        (x.reshape(37, 4, 5), y),
        (x.reshape(37, 20), y),
    ]
    assert len({ArraySamples(a, b, "images", 3).fingerprint() for a, b in variants}) == len(variants)


def test_fingerprint_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = ArraySamples(*images(), "images", 3)
    before = samples.fingerprint()
    monkeypatch.setattr(Fingerprinter, "digest", lambda self: "computed again")
    assert samples.fingerprint() == before


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros((2, 3), np.float64), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(2, np.int32)),
        (np.zeros((2, 4), np.float32), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.int64)),
    ],
)
def test_only_what_a_network_receives_is_fingerprinted(x: np.ndarray, y: np.ndarray) -> None:
    with pytest.raises(PactError, match="sample 0"):
        Fingerprinter((3,)).update(x, y)


def test_full_mnist(mnist_folder: Path) -> None:
    data = load_data("mnist")
    assert data.test is not None
    assert (data.train.count, data.test.count, data.input_shape, data.classes) == (60_000, 10_000, (1, 28, 28), 10)
    assert data.train.fingerprint() == "sha256:3e732f1b401496e711a9c11a3a18e5a5ed376324a2753e1d14217952246d5525"
    assert data.test.fingerprint() == "sha256:15ecc1dcf353e8ed93ade0ecb07652697d141021426afae04906424f8a28ce02"
