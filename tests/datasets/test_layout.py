"""Integers, truth values, several inputs and many axes: what travels, what is fingerprinted, what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import as_data, draw_samples, load_data, sort_samples
from netpact.datasets.layout import Field, layout_of

TOKENS = np.random.default_rng(0).integers(0, 9, size=(12, 5))
SIGNAL = np.random.default_rng(1).normal(size=(12, 2, 3)).astype(np.float32)
Y = np.arange(12) % 3
SEVERAL = {"tokens": TOKENS, "signal": SIGNAL, "mask": TOKENS == 0}


def test_integers_travel_as_they_are() -> None:
    data = as_data((TOKENS, Y))
    assert data.layout == (Field("0", (5,), "int64"),)
    assert data.input_shape == (5,)
    x, _ = next(iter(data.train.batches(12)))
    assert x.dtype == np.float32
    assert np.array_equal(x, TOKENS)
    assert as_data((TOKENS == 0, Y)).layout == (Field("0", (5,), "bool"),)
    assert as_data((TOKENS.astype(np.uint8), Y)).layout == (), "uint8 is an image, divided by 255"


def test_several_inputs_are_one_row() -> None:
    data = as_data((SEVERAL, Y), test=(SEVERAL, Y))
    assert list(map(str, data.layout)) == ["tokens:int64:5", "signal:float32:2x3", "mask:bool:5"]
    assert data.input_shape == (16,)
    x, _ = next(iter(data.train.batches(12)))
    assert np.array_equal(x, np.concatenate([TOKENS, SIGNAL.reshape(12, 6), TOKENS == 0], axis=1).astype(np.float32))
    assert [field.name for field in as_data(((TOKENS, SIGNAL), Y)).layout] == ["0", "1"]
    assert as_data((np.zeros((4, 2, 3, 2, 2)), np.arange(4))).layout == (Field("0", (2, 3, 2, 2), "float32"),)


def test_fingerprints_say_what_the_numbers_are() -> None:
    """By hand, and different for the same numbers as something else."""
    header = b"netpact-data-1 shape=5 count=12 inputs=0:int64:5 labels=int64\n"
    parts = [hashlib.sha256(part).digest() for part in (TOKENS.astype("<f4").tobytes(), Y.astype("<i8").tobytes())]
    assert as_data((TOKENS, Y)).train.fingerprint() == "sha256:" + hashlib.sha256(header + b"".join(parts)).hexdigest()
    found = {
        as_data((x, Y)).train.fingerprint()
        for x in (TOKENS, TOKENS.astype(np.float32), {"a": TOKENS}, {"b": TOKENS}, SEVERAL, (TOKENS, SIGNAL))
    }
    assert len(found) == 6
    changed = {**SEVERAL, "mask": TOKENS == 1}
    assert as_data((changed, Y)).train.fingerprint() != as_data((SEVERAL, Y)).train.fingerprint()


@pytest.mark.parametrize("x", [TOKENS, SEVERAL, (TOKENS, SIGNAL)], ids=["integers", "named", "in order"])
def test_parts_and_loaders_keep_the_layout(x: object) -> None:
    data = as_data((x, Y))
    drawn = draw_samples(data.train, 5, Seed(0))
    assert layout_of(drawn) == layout_of(sort_samples(data).train) == data.layout
    assert len({drawn.fingerprint(), data.train.fingerprint()}) == 2
    if isinstance(x, np.ndarray):
        loaded = as_data(DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(Y)), batch_size=5))
        assert loaded.layout == data.layout
        assert loaded.train.fingerprint() == data.train.fingerprint()


def test_loaders_of_several_inputs() -> None:
    rows = [({name: torch.from_numpy(part)[i] for name, part in SEVERAL.items()}, int(Y[i])) for i in range(12)]
    loaded = as_data(DataLoader(rows, batch_size=5))  # type: ignore[arg-type]
    assert loaded.train.fingerprint() == as_data((SEVERAL, Y)).train.fingerprint()
    pairs = [((torch.from_numpy(TOKENS)[i], torch.from_numpy(SIGNAL)[i]), int(Y[i])) for i in range(12)]
    loaded = as_data(DataLoader(pairs, batch_size=4))  # type: ignore[arg-type]
    assert loaded.train.fingerprint() == as_data(((TOKENS, SIGNAL), Y)).train.fingerprint()


def test_several_inputs_in_a_file(tmp_path: Path) -> None:
    named = {f"x_train.{name}": part for name, part in SEVERAL.items()}
    np.savez(tmp_path / "own.npz", **named, y_train=Y)
    assert load_data(tmp_path / "own.npz").train.fingerprint() == as_data((SEVERAL, Y)).train.fingerprint()
    np.savez(tmp_path / "both.npz", **named, x_train=TOKENS, y_train=Y)
    with pytest.raises(PactError, match="either one array or several"):
        load_data(tmp_path / "both.npz")


REFUSED = {
    "too large": (np.array([[1], [2**24 + 1]]), "sample 1: integers must be from"),
    "far too large": (np.array([[1], [-(2**63)]]), "sample 1: integers must be from"),
    "unsigned": ({"a": np.array([[1], [2**40]], dtype=np.uint64)}, "at most 2.24"),
    "within several": ({"a": np.array([[1], [2**25]])}, "input a, sample 1: integers must be"),
    "not finite": ({"a": np.array([[1.0], [np.nan]])}, "input a, sample 1: the input holds NaN"),
    "other lengths": ({"a": np.zeros((2, 1)), "b": np.zeros((3, 1))}, "one number of samples"),
    "a name": ({"no name": np.zeros((2, 1))}, "names of arguments"),
    "texts": ({"a": np.array([["x"], ["y"]])}, "numbers or truth values"),
    "none": ({}, "names of arguments"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    x, words = REFUSED[name]
    with pytest.raises(PactError, match=words):
        as_data((x, np.array([0, 1])))


def test_both_parts_are_of_one_layout() -> None:
    with pytest.raises(PactError, match="those of the training set"):
        as_data((TOKENS, Y), test=(TOKENS.astype(np.float32), Y))
