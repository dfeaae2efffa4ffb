from __future__ import annotations

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, as_samples


def vectors(count: int = 6, features: int = 3) -> np.ndarray:
    return np.arange(count * features, dtype=np.float32).reshape(count, features)


LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_uint8_becomes_x_over_255_and_stays_small_in_memory() -> None:
    x = np.arange(256, dtype=np.uint8).reshape(4, 8, 8)
    samples = ArraySamples(x, np.array([0, 1, 0, 1]), "images", 2)
    assert isinstance(samples, Samples)
    assert samples.inputs.dtype == np.uint8
    assert np.shares_memory(samples.inputs, x)
    received = np.concatenate([batch for batch, _ in samples.batches(3)])
    assert received.dtype == np.float32
    assert np.array_equal(received.ravel(), np.arange(256, dtype=np.float32) / np.float32(255))


@pytest.mark.parametrize(
    ("given", "dtype", "shape"),
    [
        ((6, 7), np.uint8, (7,)),
        ((6, 7), np.float64, (7,)),
        ((6, 9, 8), np.uint8, (1, 9, 8)),
        ((6, 9, 8), np.float32, (1, 9, 8)),
        ((6, 9, 8, 3), np.uint8, (3, 9, 8)),
        ((6, 9, 8, 1), np.uint8, (1, 9, 8)),
        ((6, 3, 9, 8), np.uint8, (3, 9, 8)),
        ((6, 1, 5, 3), np.uint8, (1, 5, 3)),
        ((6, 9, 8, 4), np.uint8, (9, 8, 4)),
        ((6, 9, 8, 3), np.float32, (9, 8, 3)),
    ],
)
def test_input_shapes(given: tuple[int, ...], dtype: type, shape: tuple[int, ...]) -> None:
    samples = ArraySamples(np.ones(given, dtype), LABELS, "shapes", 3)
    assert samples.input_shape == shape
    again = ArraySamples(samples.inputs, samples.labels, "again", 3)
    assert again.fingerprint() == samples.fingerprint()


def test_channels_move_with_their_pixels() -> None:
    x = np.random.default_rng(0).integers(0, 256, (6, 9, 8, 3), dtype=np.uint8)
    samples = ArraySamples(x, LABELS, "colour", 3)
    assert samples.inputs[4, 2, 7, 5] == x[4, 7, 5, 2]


def test_batches_are_whole_fresh_and_in_order() -> None:
    samples = ArraySamples(vectors(), LABELS, "vectors", 3)
    batches = list(samples.batches(4))
    assert [len(y) for _, y in batches] == [4, 2]
    assert np.array_equal(np.concatenate([x for x, _ in batches]), vectors())
    assert np.array_equal(np.concatenate([y for _, y in batches]), LABELS)
    for x, y in batches:
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        x[:] = 99
        y[:] = 99
    assert np.array_equal(next(samples.batches())[0], vectors())
    assert np.array_equal(next(samples.batches())[1], LABELS)


def test_arrays_are_read_only() -> None:
    samples = ArraySamples(vectors(), LABELS, "vectors", 3)
    with pytest.raises(ValueError, match="read-only"):
        samples.inputs[0] = 1


def spoiled(value: float, dtype: type = np.float32) -> np.ndarray:
    x: np.ndarray = vectors(9000, 2).astype(dtype)
    x[4711, 1] = value
    return x


@pytest.mark.parametrize(
    "x", [spoiled(np.nan), spoiled(np.inf), spoiled(-np.inf), spoiled(np.nan, np.float64), spoiled(1e300, np.float64)]
)
def test_inputs_that_are_not_finite_are_named(x: np.ndarray) -> None:
    with pytest.raises(PactError, match=r"sample 4711: .*NaN, an infinite number or one too large"):
        ArraySamples(x, np.arange(9000) % 2, "spoiled", 2)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1, 2, 3, 1, 0], r"sample 3: labels must be from 0 to 2, got 3"),
        ([0, 1, -1, 2, 1, 0], r"sample 2: labels must be from 0 to 65535, got -1"),
        ([0, 1, 2, 1, 1.5, 0], r"sample 4: labels must be integers, got float64 1.5"),
        ([0, 1, 2, 1, np.nan, 0], r"sample 4: labels must be integers"),
        ([0.0, 1, 2, 1, 1, 0], r"sample 0: labels must be integers, got float64"),
        ([True, False] * 3, r"sample 0: labels must be integers, got bool"),
        (["a", "b"] * 3, r"sample 0: labels must be integers"),
        ([0, 1, 2], r"6 inputs and 3 labels: sample 3 has only one"),
        ([0, 1, 2, 0, 1, 2, 0], r"6 inputs and 7 labels: sample 6 has only one"),
        (np.eye(6, dtype=int), r"labels must have shape \(n,\), got \(6, 6\)"),
        (
            np.array([0, 1, 2, 1, 1, 2**63], dtype=np.uint64),
            r"sample 5: labels must be from 0 to 65535, got 9223372036854775808",
        ),
    ],
)
def test_bad_labels(labels: object, words: str) -> None:
    with pytest.raises(PactError, match=words):
        ArraySamples(vectors(), np.asarray(labels), "bad labels", 3)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.ones(6), r"inputs must have shape .* got \(6,\)"),
        (np.ones((6, 0)), "inputs must have shape"),
        (np.float32(3), r"inputs must have shape .* got \(\)"),
        (np.array([[object()]] * 6), "got object"),
        (np.ones((6, 2), dtype=complex), "got complex128"),
        (np.ma.masked_array(np.ones((6, 2))), "masked"),
        ([[1.0], [1.0, 2.0]], "cannot be converted to an array"),
        (np.ones((0, 2)), "0 inputs and 6 labels"),
    ],
)
def test_bad_inputs(x: np.ndarray, words: str) -> None:
    with pytest.raises(PactError, match=words):
        ArraySamples(x, LABELS, "bad inputs", 3)


def test_no_samples() -> None:
    with pytest.raises(PactError, match="no samples"):
        ArraySamples(np.ones((0, 2)), np.ones(0, dtype=int), "nothing", 2)
    with pytest.raises(PactError, match="no samples"):
        as_samples((np.ones((0, 2)), np.ones(0, dtype=int)))


@pytest.mark.parametrize("classes", [0, 1, 65_537, True, 2.0, None])
def test_bad_number_of_classes(classes: int) -> None:
    with pytest.raises(PactError, match="classes: must be an integer from 2 to 65,536"):
        ArraySamples(vectors(), LABELS, "vectors", classes)


@pytest.mark.parametrize("size", [0, -1, True, 2.5])
def test_bad_batch_size_dies_at_once(size: int) -> None:
    with pytest.raises(PactError, match="batch size"):
        ArraySamples(vectors(), LABELS, "vectors", 3).batches(size)


def test_train_and_test_have_to_fit_together() -> None:
    train = ArraySamples(vectors(), LABELS, "train", 3)
    with pytest.raises(PactError, match=r"data, test: inputs have shape \(4,\)"):
        Data("data", 3, train, ArraySamples(vectors(6, 4), LABELS, "test", 3))
    with pytest.raises(PactError, match="data, test: 4 classes instead of 3"):
        Data("data", 3, train, ArraySamples(vectors(), LABELS, "test", 4))
    with pytest.raises(PactError, match="data, train: 3 classes instead of 2"):
        Data("data", 2, train)
