"""Samples in an order that has nothing to do with them: a network must not gain by knowing what comes next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from netpact.datasets.arrays import rows
from netpact.datasets.copies import KeptSamples
from netpact.datasets.samples import ArraySamples, Samples
from netpact.datasets.splits import shuffled_places

MixedBatch = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]


def mixed_batches(samples: Samples, size: int, *, turn: int) -> Iterator[MixedBatch]:
    """Inputs, labels, and the places of these samples. Data in memory come in a fixed order of no meaning.

    Data are often sorted by class. A module that counts its calls, or that looks at the rest of its batch, could then
    name the class without looking at the sample. What is read from a loader comes as it comes.

    turn  which order: whoever counts again takes another one
    """
    whole, places = samples, np.arange(samples.count)
    if isinstance(samples, KeptSamples):
        whole, places = samples.whole, np.flatnonzero(samples.kept)
    if isinstance(whole, ArraySamples):
        order = places[shuffled_places(samples.count, counter=turn)]
        for part in rows(len(order), size=size):
            x, y = next(iter(whole.take(order[part], name=samples.name).batches(size)))
            yield x, y, order[part]
        return
    seen = 0
    for x, y in samples.batches(size):
        yield x, y, np.arange(seen, seen + len(y))
        seen += len(y)
