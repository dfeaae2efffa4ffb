"""Data that look wrong are told, each way with what it is, where, and what to do; data as they should be are not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpact.datasets import Data, Problem, as_data, check_data
from netpact.datasets.variants import VARIANTS

RNG = np.random.default_rng(3)
SHAPE = (1, 9, 9)


def _part(count: int = 300, *, shape: tuple[int, ...] = SHAPE, classes: int = 4, scale: float = 1.0) -> Any:
    return (RNG.random((count, *shape)) * scale).astype(np.float32), np.arange(count) % classes


def _data(train: Any = None, test: Any = None, **options: Any) -> Data:
    return as_data(train or _part(), test=test or _part(100), name="own", **options)


def _only(data: Data, **options: bool) -> Problem:
    found = check_data(data, **options)
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


def test_nothing_is_said_about_data_as_they_should_be() -> None:
    assert check_data(_data(), copies=True) == ()
    assert check_data(_part(), copies=True) == ()  # what as_data takes will do


@pytest.mark.parametrize("variant", ["", *VARIANTS, "symmetric-0.2", "pair-0.4-clean-test"])
def test_digits_raise_no_alarm(variant: str) -> None:
    assert check_data(f"digits:{variant}" if variant else "digits", copies=True) == ()


def test_labels_from_1() -> None:
    (x, y), test = _part(), _part(100)
    problem = _only(_data((x, y + 1), (test[0], test[1] + 1), classes=5))
    assert "label 0" in problem.what
    assert "from 1 to 4" in problem.what
    assert problem.where == "own train"
    assert "subtract 1" in problem.hint


def test_labels_from_1_without_a_test_part() -> None:
    x, y = _part()
    assert "label 0" in _only(as_data((x, y + 1))).what


def test_empty_classes() -> None:
    x, y = _part()
    problem = _only(_data((x, y * 2), (x[:100], y[:100] * 2), classes=9))
    assert problem.what == "no sample of classes 1, 3, 5, 7, 8"
    assert _only(_data((x, y), (x[:100], y[:100]), classes=5)).what == "no sample of class 4"
    odd = _only(_data((x, y * 2 + 1), (x[:100], y[:100] * 2 + 1)))
    assert odd.what == "no sample of classes 0, 2, 4, 6"  # not numbered from 1: there are gaps
    many = _only(_data((x, y), (x[:100], y[:100]), classes=24)).what
    assert many.endswith("4, 5, 6, 7, 8 and 15 others")


def test_a_test_part_without_a_class() -> None:
    x, y = _part(100)
    problem = _only(_data(test=(x[y != 2], y[y != 2])))
    assert problem.where == "own test"
    assert problem.what == "no sample of class 2, which the training part has"
    # Among a dozen samples a class may be missing by chance.
    assert check_data(_data(test=(x[y != 2][:12], y[y != 2][:12]))) == ()


@pytest.mark.parametrize("scale", [255.0, 1 / 255])
def test_parts_with_other_ranges(scale: float) -> None:
    problem = _only(_data(test=_part(100, scale=scale)))
    assert problem.where == "own test"
    assert "255" in problem.hint


def test_parts_with_other_signs() -> None:
    x, y = _part(100)
    assert "from -0.9" in _only(_data(test=(2 * x - 1, y))).what
    x, y = _part()
    assert "most values" in _only(_data((2 * x - 1, y))).what


def test_heavy_tails_are_not_other_ranges() -> None:
    def part(count: int) -> Any:
        return np.exp(2 * RNG.standard_normal((count, 6))).astype(np.float32), np.arange(count) % 2

    for _ in range(20):
        assert check_data(as_data(part(2000), test=part(500))) == ()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_last(channels: int) -> None:
    shape = (12, 10, channels)
    problem = _only(_data(_part(shape=shape), _part(100, shape=shape)))
    assert "channels last" in problem.what
    assert f"({channels}, 12, 10)" in problem.hint


@pytest.mark.parametrize("shape", [(3, 12, 12), (1, 12, 12), (12, 12, 12), (12, 3, 3), (30,)])
def test_other_shapes_are_not_channels_last(shape: tuple[int, ...]) -> None:
    assert check_data(_data(_part(shape=shape), _part(100, shape=shape))) == ()


def test_constant_inputs() -> None:
    x, y = _part()
    x[[3, 200]] = 0.0
    assert _only(_data((x, y))).what == "2 of 300 inputs are one number throughout"
    x, y = _part(100)
    x[7] = 1.0
    assert _only(_data(test=(x, y))).where == "own test"


def test_vectors_of_one_feature_are_not_constant() -> None:
    assert check_data(_data(_part(shape=(1,)), _part(100, shape=(1,)))) == ()


def test_copies_within_a_part() -> None:
    x, y = _part()
    x[250:] = x[:50]
    assert check_data(_data((x, y))) == ()  # only where they are asked for
    problem = _only(_data((x, y)), copies=True)
    assert problem.what == "50 of 300 inputs are copies of an earlier one"
    assert problem.where == "own train"


def test_training_inputs_in_the_test_part() -> None:
    train = _part()
    problem = _only(_data(train, (train[0][:100], train[1][:100])), copies=True)
    assert problem.what == "100 training inputs are in the test part as well"
    assert problem.where == "own test"


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    x, y = _part(shape=(12, 12, 3))
    x[0] = 0.0
    path = tmp_path / "odd.npz"
    np.savez(path, x_train=x, y_train=y + 1, x_test=x[:100] * 255, y_test=y[:100] + 1)
    found = check_data(path, copies=True)
    assert len(found) == 6
    assert all(problem.to_json()["hint"] for problem in found)
    assert str(found[0]).startswith("odd train: no sample has label 0")


def test_a_look_is_cheap() -> None:
    data = as_data((np.zeros((20_000, 28, 28), dtype=np.uint8), np.arange(20_000) % 10))
    start = time.perf_counter()
    check_data(data)
    assert time.perf_counter() - start < 5
