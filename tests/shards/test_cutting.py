"""Shards hold the samples that one pass would give, in its batches, wherever the samples come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Samples, Standardise, mixed_batches, open_stream
from netpact.datasets.copies import KeptSamples
from netpact.shards import Shard, Shards
from netpact.shards.shard import open_shard

COUNT = 70


def arrays() -> ArraySamples:
    drawn = np.random.default_rng(0)
    inputs = drawn.integers(0, 256, (COUNT, 3, 2, 2), dtype=np.uint8)
    return ArraySamples(inputs, drawn.integers(0, 4, COUNT), "images", 4, Standardise((0.5, 0.4, 0.3), (0.2, 0.2, 0.1)))


class Loader:
    """Gives batches of 9; `broken`: another sample in the pass of this number."""

    def __init__(self, broken: int = -1) -> None:
        self.broken, self.passes = broken, 0

    def __iter__(self) -> Iterator[object]:
        self.passes += 1
        x = np.random.default_rng(1).standard_normal((COUNT, 5)).astype(np.float32)
        x[-1] += self.passes == self.broken
        return iter([(x[at : at + 9], np.arange(COUNT)[at : at + 9] % 3) for at in range(0, COUNT, 9)])


def tokens() -> ArraySamples:
    drawn = np.random.default_rng(2)
    return ArraySamples(drawn.integers(0, 50, (COUNT, 6)), drawn.integers(0, 2, COUNT), "tokens", 2)


SOURCES: dict[str, Callable[[], Samples]] = {
    "arrays": arrays,
    "without copies": lambda: KeptSamples(arrays(), np.arange(COUNT) % 7 != 0),
    "loader": lambda: open_stream(Loader(), name="loader"),
    "loader without copies": lambda: KeptSamples(open_stream(Loader(), name="loader"), np.arange(COUNT) % 7 != 0),
    "tokens": tokens,
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("turn", [1, None])
def test_the_shards_are_the_pass(name: str, turn: int | None) -> None:
    samples = SOURCES[name]()
    shards = Shards(samples, 8, turn=turn, each=3)
    if turn is None:
        places = np.flatnonzero(np.arange(COUNT) % 7) if name == "without copies" else np.arange(samples.count)
        whole = [(x, y, places[8 * at : 8 * at + 8]) for at, (x, y) in enumerate(samples.batches(8))]
    else:
        whole = list(mixed_batches(samples, 8, turn=turn))
    sent = [open_shard(shards.read(index).to_bytes()) for index in range(len(shards.parts))]
    found = [batch for shard in sent for batch in shard.batches(8)]
    assert len(found) == len(whole) == -(-samples.count // 8)
    for own, wanted in zip(found, whole, strict=True):
        pairs: Any = zip(own, wanted, strict=True)
        for one, other in pairs:
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


def test_images_travel_as_bytes_and_tokens_as_what_they_are() -> None:
    assert len(Shards(arrays(), COUNT).read(0).to_bytes()) < COUNT * (12 + 16) + 600
    again = open_shard(Shards(tokens(), COUNT).read(0).to_bytes())
    assert again.samples.layout == tokens().layout


def test_a_loader_is_read_once_and_again_only_for_an_earlier_shard() -> None:
    loader = Loader()
    shards = Shards(open_stream(loader, name="loader"), 8, each=2)
    assert loader.passes == 1, "the first pass counts and checks"
    first = shards.read(0)
    for index in (2, 3):
        shards.read(index)
    assert loader.passes == 2
    again = shards.read(0)
    assert loader.passes == 3
    assert np.array_equal(first.samples.inputs, again.samples.inputs)


def test_a_loader_that_changes_is_refused_wherever_the_reading_ends() -> None:
    for broken, order in ((2, (0, 1)), (2, (0, 4)), (2, (1, 0))):
        shards = Shards(open_stream(Loader(broken), name="loader"), 8, each=2)
        with pytest.raises(PactError, match="differs from the first one"):
            _read_all(shards, order)


def _read_all(shards: Shards, order: tuple[int, ...]) -> None:
    for index in order:
        shards.read(index)
    shards.finish()


def test_the_cut_depends_on_samples_and_batch_alone() -> None:
    many = ArraySamples(np.zeros((5000, 1), dtype=np.float32), np.zeros(5000, dtype=np.int64), "many", 2)
    for batch, sizes in ((512, [1024] * 4 + [904]), (100, [800] * 6 + [200]), (4000, [4000, 1000])):
        assert [part.stop - part.start for part in Shards(many, batch).parts] == sizes
    names = {Shards(many, 512, turn=turn).name(index, kept=True) for turn in (1, 2, None) for index in range(5)}
    assert len(names) == 15
    assert Shards(many, 512).name(0, kept=False) != Shards(many, 512).name(0, kept=False)
    assert isinstance(Shards(many, 512).read(4), Shard)
