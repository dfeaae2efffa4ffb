"""Variants of data sets: what they change and what they leave."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, load_data
from netpact.datasets.variants import vary


def arrays(samples: Samples | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    assert samples is not None
    x, y = zip(*samples.batches(), strict=True)
    return np.concatenate(x), np.concatenate(y)


def test_pixels_move_alike_in_all_images() -> None:
    plain, moved = load_data("digits"), load_data("digits:permuted-pixels")
    assert moved.name == "digits:permuted-pixels"
    orders = []
    for before, after in ((plain.train, moved.train), (plain.test, moved.test)):
        (x, y), (x_moved, y_moved) = arrays(before), arrays(after)
        np.testing.assert_array_equal(y, y_moved)
        flat, flat_moved = x.reshape(len(x), -1), x_moved.reshape(len(x), -1)
        assert not np.array_equal(flat, flat_moved)
        np.testing.assert_array_equal(np.sort(flat, axis=1), np.sort(flat_moved, axis=1))
        sums = flat_moved.sum(axis=0)
        orders.append([int(np.argmax((flat == flat_moved[:, [place]]).all(axis=0))) for place in np.argsort(-sums)[:9]])
        for place, source in zip(np.argsort(-sums)[:9], orders[-1], strict=True):
            np.testing.assert_array_equal(flat[:, source], flat_moved[:, place])
    again = load_data("digits:permuted-pixels")
    assert again.train.fingerprint() == moved.train.fingerprint() != plain.train.fingerprint()


def test_classes_are_numbered_otherwise() -> None:
    plain, other = load_data("digits"), load_data("digits:permuted-classes")
    names: dict[int, set[int]] = {}
    for before, after in ((plain.train, other.train), (plain.test, other.test)):
        (x, y), (x_other, y_other) = arrays(before), arrays(after)
        np.testing.assert_array_equal(x, x_other)
        for old, new in zip(y.tolist(), y_other.tolist(), strict=True):
            names.setdefault(old, set()).add(new)
    assert all(len(found) == 1 for found in names.values())
    assert {found.pop() for found in names.values()} == set(range(10))


def test_random_labels_know_nothing() -> None:
    plain, drawn = load_data("digits"), load_data("digits:random-labels")
    (x, y), (x_drawn, y_drawn) = arrays(plain.train), arrays(drawn.train)
    np.testing.assert_array_equal(x, x_drawn)
    assert 0.05 < np.mean(y == y_drawn) < 0.15
    _, test = arrays(drawn.test)
    assert not np.array_equal(test, y_drawn[: len(test)]), "the test set has labels of its own"


def test_colours_stay_together() -> None:

    images = np.arange(2 * 3 * 4 * 4, dtype=np.uint8).reshape(2, 3, 4, 4)
    data = Data("own", 2, ArraySamples(images, np.array([0, 1]), "own train", 2))
    x, _ = arrays(vary(data, "permuted-pixels").train)
    pixels = np.round(255 * x).astype(int).reshape(2, 3, 16)
    np.testing.assert_array_equal(pixels[0, 1] - pixels[0, 0], 16)
    np.testing.assert_array_equal(pixels[1, 2] - pixels[0, 0], 48 + 32)


def test_unknown_variants_are_refused_by_name() -> None:
    with pytest.raises(PactError, match="permuted-pixels, permuted-classes, random-labels"):
        load_data("digits:shuffled")
    with pytest.raises(PactError, match="digits, mnist"):
        load_data("digit:permuted-pixels")
