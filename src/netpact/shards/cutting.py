"""How samples are cut into shards: by the samples and the size of a batch, never by who goes through them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from netpact.core.errors import PactError
from netpact.datasets.arrays import rows
from netpact.datasets.copies import KeptSamples
from netpact.datasets.layout import layout_of, restore
from netpact.datasets.samples import ArraySamples, Batch, Samples
from netpact.datasets.splits import shuffled_places
from netpact.shards.shard import Shard

_SAMPLES = 1024  # of a shard, where batches are small enough: work of seconds, of which a kill costs the last
_BATCHES = 8  # of a shard at most: large networks have small batches


@dataclass(frozen=True, eq=False)
class Shards:
    """The shards of some samples.

    batch  samples that are run together; a shard is a whole number of batches
    each   batches of a shard; default: for work of some seconds
    turn   which order of no meaning (see mixed_batches); None: that of the samples. What is read from a loader comes
           as it comes
    """

    samples: Samples
    batch: int
    turn: int | None = None
    each: int | None = None

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Which samples each shard has, in the order in which they are gone through."""
        count, size = self.samples.count, self.batch * (self.each or max(1, min(_BATCHES, _SAMPLES // self.batch)))
        if not count:
            raise PactError("no samples to go through", where=self.samples.name)
        return tuple(rows(count, size=size))

    @cached_property
    def fingerprint(self) -> str:
        """Of all samples: a pass over them in most cases."""
        return self.samples.fingerprint()

    @cached_property
    def token(self) -> str:
        """For results that are not kept: nobody else has the same."""
        return uuid.uuid4().hex

    def name(self, index: int, *, kept: bool) -> str:
        """Says which samples a shard has."""
        part, order = self.parts[index], "own order" if self.turn is None else f"order {self.turn}"
        whole = self.fingerprint if kept else self.token
        return f"samples {part.start} to {part.stop} of {whole}, {order}, batches of {self.batch}"

    def read(self, index: int) -> Shard:
        return self._reader.read(index)

    def finish(self) -> None:
        """After the last shard was read: a loader shows now whether it gave the same samples as before."""
        self._reader.finish()

    @cached_property
    def _reader(self) -> _FromArrays | _FromPasses:
        whole = self.samples.whole if isinstance(self.samples, KeptSamples) else self.samples
        return _FromArrays(self, whole) if isinstance(whole, ArraySamples) else _FromPasses(self)


class _FromArrays:
    """Any shard at any time."""

    def __init__(self, shards: Shards, whole: ArraySamples) -> None:
        samples, turn = shards.samples, shards.turn
        self._whole, self._shards = whole, shards
        places = np.flatnonzero(samples.kept) if isinstance(samples, KeptSamples) else np.arange(samples.count)
        self._order = places if turn is None else places[shuffled_places(samples.count, counter=turn)]

    def read(self, index: int) -> Shard:
        places = self._order[self._shards.parts[index]]
        return Shard(self._whole.take(places, name=self._shards.samples.name), places)

    def finish(self) -> None:
        pass


class _FromPasses:
    """One after the other, by passes over samples that are read from a loader."""

    def __init__(self, shards: Shards) -> None:
        self._shards, self._samples = shards, shards.samples
        self._next = 0  # shard of the pass that goes on
        self._pass: Iterator[Batch] | None = None

    def read(self, index: int) -> Shard:
        if index < self._next:
            self.finish()  # a worker died; what it was given came from a pass that has to be whole as well
        if self._pass is None:
            self._pass, self._next = self._samples.batches(self._shards.batch), 0
        while True:
            part, here = self._shards.parts[self._next], self._next
            batches = list(islice(self._pass, -(-(part.stop - part.start) // self._shards.batch)))
            self._next += 1
            if here == index:
                break
        if self._next == len(self._shards.parts):
            self.finish()
        inputs, labels = np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])
        # As the network receives them: what standardises them was applied already, and is not applied again.
        samples = self._samples
        made = ArraySamples(restore(inputs, layout_of(samples)), labels, samples.name, samples.classes)
        return Shard(made, np.arange(part.start, part.stop))

    def finish(self) -> None:
        if self._pass is not None:
            for _ in self._pass:
                pass
        self._pass, self._next = None, 0
