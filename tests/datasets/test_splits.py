from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Split, open_stream, set_aside, split_indices


def test_golden_values() -> None:
    first, second = split_indices(10, held_out=4, counter=0)
    assert (first.tolist(), second.tolist()) == ([0, 3, 4, 6, 7, 8], [1, 2, 5, 9])
    assert split_indices(10, held_out=4, counter=1)[1].tolist() == [4, 5, 6, 9]
    assert split_indices(10**6, held_out=200_000, counter=0)[1][:5].tolist() == [0, 4, 12, 14, 16]
    assert first.dtype == second.dtype == np.int64


def slow_second(count: int, held_out: int, counter: int) -> list[int]:
    """The documented formula with Python's integers and a plain sort."""

    def mix(z: int) -> int:
        b = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        c = (b ^ (b >> 27)) * 0x94D049BB133111EB % 2**64
        return c ^ (c >> 31)

    gamma = 0x9E3779B97F4A7C15
    start = mix(mix((count + gamma) % 2**64) ^ counter)
    return sorted(sorted(range(count), key=lambda i: mix((start + (i + 1) * gamma) % 2**64))[:held_out])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data(), st.integers(2, 300), st.integers(0, 2**64 - 1))
def test_disjoint_covering_and_as_documented(data: st.DataObject, count: int, counter: int) -> None:
    held_out = data.draw(st.integers(1, count - 1))
    first, second = split_indices(count, held_out=held_out, counter=counter)
    assert len(second) == held_out
    assert sorted([*first.tolist(), *second.tolist()]) == list(range(count))
    assert (np.diff(first) > 0).all()
    assert second.tolist() == slow_second(count, held_out, counter)


def test_every_sample_is_held_out_about_equally_often() -> None:
    hits = np.zeros(100, dtype=int)
    for counter in range(400):
        hits[split_indices(100, held_out=25, counter=counter)[1]] += 1
    # 100 samples are tested at once, hence the small level.
    assert min(binomtest(int(hit), 400, 0.25).pvalue for hit in hits) > 1e-4
    halves = split_indices(100_000, held_out=50_000, counter=7)[1]
    assert binomtest(int((halves < 50_000).sum()), 50_000, 0.5).pvalue > 1e-3
    assert binomtest(int((halves % 2).sum()), 50_000, 0.5).pvalue > 1e-3


def test_counters_and_counts_give_different_splits() -> None:
    chosen = {tuple(split_indices(50, held_out=20, counter=counter)[1]) for counter in range(50)}
    assert len(chosen) == 50
    assert (
        split_indices(50, held_out=20, counter=0)[1].tolist() != split_indices(51, held_out=20, counter=0)[1].tolist()
    )


def test_a_million_samples_take_less_than_half_a_second() -> None:
    started = time.process_time()
    split_indices(10**6, held_out=10**5, counter=3)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("count", "held_out", "counter", "option"),
    [
        (1, 1, 0, "count"),
        (10, 0, 0, "held_out"),
        (10, 10, 0, "held_out"),
        (10, True, 0, "held_out"),
        (10, 0.5, 0, "held_out"),
        (10, 5, -1, "counter"),
        (10, 5, 2**64, "counter"),
    ],
)
def test_bad_options(count: int, held_out: int, counter: int, option: str) -> None:
    with pytest.raises(PactError) as caught:
        split_indices(count, held_out=held_out, counter=counter)
    assert caught.value.where == option


def test_a_split_is_a_share_by_counter() -> None:
    seen, certified = Split(percent=30, counter=7).indices(101)
    assert (len(seen), len(certified)) == (30, 71)
    first, second = split_indices(101, held_out=71, counter=7)
    assert seen.tolist() == first.tolist()
    assert certified.tolist() == second.tolist()
    assert str(Split(30, 7)) == "30 % by counter 7"
    for options, where in (
        ({"percent": 0}, "percent"),
        ({"percent": 100}, "percent"),
        ({"percent": 0.5}, "percent"),
        ({"percent": True}, "percent"),
        ({"counter": -1}, "counter"),
        ({"counter": 2**32}, "counter"),
    ):
        with pytest.raises(PactError) as caught:
            Split(**options)
        assert caught.value.where == where
    with pytest.raises(PactError, match="1 % of 99 samples are 0"):
        Split(percent=1).indices(99)


def test_samples_set_aside_are_the_same_from_arrays_and_from_loaders() -> None:
    random = np.random.default_rng(4)
    x, y = random.random((2500, 3), dtype=np.float32), random.integers(0, 4, 2500)
    arrays = ArraySamples(x, y, "a", 4)
    loader = [(x[start : start + 700], y[start : start + 700]) for start in range(0, 2500, 700)]
    stream = open_stream(loader, name="a", classes=4)
    split = Split(percent=60, counter=2)
    places = split.indices(2500)
    for one, other, indices in zip(set_aside(arrays, split), set_aside(stream, split), places, strict=True):
        assert one.fingerprint() == other.fingerprint() == arrays.take(indices, name="b").fingerprint()
        assert one.count == len(indices)
        assert one.classes == other.classes == 4
