from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, Dataset, IterableDataset, SubsetRandomSampler, TensorDataset

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, StreamSamples, as_data, as_samples, load_data, open_stream

X = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
Y = np.arange(50) % 3
PRINT = ArraySamples(X, Y, "reference", 3).fingerprint()


class Items(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, noise: bool = False) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return len(Y)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        x = torch.from_numpy(X[index])
        return (x + torch.rand(4) if self.noise else x), int(Y[index])


class Flow(IterableDataset[tuple[np.ndarray, int]]):
    def __iter__(self) -> Iterator[tuple[np.ndarray, int]]:
        return zip(X, Y.tolist(), strict=True)


def pair_set() -> TensorDataset:
    return TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))


@pytest.mark.parametrize(
    "source",
    [
        (X, Y),
        (X.astype(np.float64), Y.astype(np.uint8)),
        (X.tolist(), Y.tolist()),
        (torch.from_numpy(X).requires_grad_(), torch.from_numpy(Y)),
        ArraySamples(X, Y, "array samples", 3),
        pair_set(),
        Items(),
        Flow(),
        DataLoader(pair_set(), batch_size=7),
        DataLoader(Items(), batch_size=100),
        DataLoader(Flow(), batch_size=7),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_kind_of_source_gives_the_same_samples(source: object) -> None:
    samples = as_samples(source)
    assert (samples.count, samples.classes, samples.input_shape) == (50, 3, (4,))
    assert samples.fingerprint() == PRINT
    for _ in range(2):
        batches = list(samples.batches(16))
        assert [len(y) for _, y in batches] == [16, 16, 16, 2]
        assert np.array_equal(np.concatenate([x for x, _ in batches]), X)
        assert np.array_equal(np.concatenate([y for _, y in batches]), Y)


def test_kinds_of_tensors() -> None:
    half = torch.from_numpy(X).to(torch.bfloat16)
    assert np.array_equal(next(as_samples((half, Y)).batches())[0], half.float().numpy())
    colour = torch.randint(0, 256, (50, 3, 5, 5), dtype=torch.uint8)
    assert as_samples((colour, Y)).input_shape == (3, 5, 5)
    with pytest.raises(PactError, match="cannot be converted to an array"):
        as_samples((torch.eye(50).to_sparse(), Y))


def test_a_loader_that_shuffles_is_refused_at_once() -> None:
    for loader in (
        DataLoader(pair_set(), batch_size=7, shuffle=True),
        DataLoader(pair_set(), sampler=SubsetRandomSampler(range(50))),
    ):
        with pytest.raises(PactError, match=r"shuffles.*shuffle=False"):
            as_samples(loader)


class Reshuffled:
    """A loader whose order changes in a way that no type tells."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self.passes += 1
        order = np.arange(50) if self.passes == 1 else np.arange(50)[::-1]
        return ((X[part], Y[part]) for part in np.split(order, 5))


def test_a_pass_that_differs_ends_with_an_error() -> None:
    samples = open_stream(Reshuffled(), name="reshuffled")
    with pytest.raises(PactError, match=r"differs from the first one.*shuffle=False"):
        list(samples.batches(20))
    noisy = as_samples(Items(noise=True))
    with pytest.raises(PactError, match="differs from the first one"):
        list(noisy.batches())


def test_a_stream_that_dries_up_is_noticed() -> None:
    samples = open_stream(iter([(X, Y)]), name="once")
    with pytest.raises(PactError, match=r"this pass \(0 samples\) differs from the first one \(50\)"):
        list(samples.batches())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 60), st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_batches_of_a_stream_have_the_size_asked_for(size: int, sizes: list[int]) -> None:
    ends = np.minimum(np.cumsum(sizes), 50)
    loader = [(X[part], Y[part]) for part in np.split(np.arange(50), ends)]
    batches = list(open_stream(loader, name="pieces").batches(size))
    assert [len(y) for _, y in batches[:-1]] == [size] * (len(batches) - 1)
    assert 0 < len(batches[-1][1]) <= size
    assert np.array_equal(np.concatenate([x for x, _ in batches]), X)


class Wide:
    """64 batches of 1 MiB, made when asked for."""

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number in range(64):
            yield np.full((256, 1024), number, np.float32), np.arange(256) % 2


def test_a_stream_is_not_kept() -> None:
    tracemalloc.start()
    try:
        samples = open_stream(Wide(), name="wide")
        total = sum(len(y) for _, y in samples.batches(300))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == samples.count == 64 * 256
    assert peak < 12 * 2**20


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([], "no samples"),
        ([(X[:0], Y[:0])], "no samples"),
        ([X], "pairs"),
        ([(X, Y, Y)], "pairs"),
        ([{"x": X, "y": Y}], "pairs .*got dict"),
        ([(X, Y), (X[:, :3], Y)], r"batch from sample 50: inputs of shape \(3,\) after inputs of shape \(4,\)"),
        ([(X, Y), (np.full((1, 4), np.nan), np.zeros(1, int))], "sample 50: the input holds NaN"),
        ([(X, Y), (X, np.where(Y == 1, -5, Y))], "sample 51: labels must be from 0"),
        ([(X, Y), (X, Y / 2)], "sample 51: labels must be integers"),
        ([(X, Y), (X, Y[:9])], "sample 59 has only one"),
        ([(X, np.zeros(50, int))], "only one class: every label is 0"),
    ],
)
def test_bad_streams(batches: list[object], words: str) -> None:
    with pytest.raises(PactError, match=words):
        open_stream(batches, name="bad")


def test_samples_that_torch_cannot_batch() -> None:
    class Strange(Items):
        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            return object(), 0  # type: ignore[return-value]

    with pytest.raises(PactError, match=r"the loader failed.*tensors or arrays"):
        as_samples(Strange())


def test_number_of_classes() -> None:
    assert as_samples((X, Y), classes=7).classes == 7
    assert as_samples(Items(), classes=7).classes == 7
    for source in ((X, Y), Items()):
        with pytest.raises(PactError, match="sample 2: labels must be from 0 to 1, got 2"):
            as_samples(source, classes=2)
        with pytest.raises(PactError, match="classes: must be an integer"):
            as_samples(source, classes=1)
    with pytest.raises(PactError, match="only one class: every label is 4"):
        as_samples((X, np.full(50, 4)))
    assert as_samples((X, np.full(50, 4)), classes=5).classes == 5
    with pytest.raises(PactError, match="have 3 classes, not 4"):
        as_samples(as_samples((X, Y)), classes=4)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ((batch for batch in [(X, Y)]), "generator.*only once"),
        (iter([(X, Y)]), "only once"),
        ([X, Y], "cannot be made from list"),
        ((X, Y, Y), "cannot be made from tuple"),
        (X, "cannot be made from ndarray"),
        (None, "cannot be made from NoneType"),
        ("digits", "load_data"),
        (Path("x.npz"), "load_data"),
        (Data("d", 3, ArraySamples(X, Y, "t", 3)), "train or test part"),
    ],
)
def test_other_sources_are_refused(source: object, words: str) -> None:
    with pytest.raises(PactError, match=words):
        as_samples(source)


def test_as_data_takes_all_of_them() -> None:
    digits = load_data("digits")
    assert as_data(digits) is digits
    assert as_data("digits").train.fingerprint() == digits.train.fingerprint()
    data = as_data((X, Y), test=DataLoader(pair_set(), batch_size=8), name="mine")
    assert (data.name, data.classes, data.input_shape, data.source) == ("mine", 3, (4,), "memory")
    assert (data.train.name, data.test.name if data.test else "") == ("mine train", "mine test")
    assert isinstance(data.test, StreamSamples)
    assert as_data(Items()).test is None


def test_as_data_with_a_test_set_of_its_own() -> None:
    few = as_data((X, Y), test=(X[:3], np.zeros(3, int)))
    assert few.test is not None
    assert (few.test.count, few.test.classes) == (3, 3)
    with pytest.raises(PactError, match="own data test, sample 0: labels must be from 0 to 2, got 3"):
        as_data((X, Y), test=(X, np.full(50, 3)))
    with pytest.raises(PactError, match="have 10 classes, not 4"):
        as_data("digits", classes=4)
    with pytest.raises(PactError, match=r"test: inputs have shape \(4,\)"):
        as_data("digits", test=(X, Y))


def test_importing_the_folder_imports_neither_torch_nor_sklearn() -> None:
    code = (
        "import sys, numpy as np, netpact.datasets as d;"
        "d.describe(d.as_data((np.eye(2), np.arange(2))));"
        "print(sorted({'torch', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
