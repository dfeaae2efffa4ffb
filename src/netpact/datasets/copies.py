"""Exact copies among samples: a value drawn once and written down twenty times is one draw."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.datasets.arrays import rows_at_once
from netpact.datasets.fingerprint import Fingerprinter
from netpact.datasets.layout import Layout, layout_of
from netpact.datasets.samples import Batch, Samples
from netpact.datasets.streams import rechunk

INPUT_BYTES = 32  # of a key; the label follows


@dataclass(frozen=True, eq=False)
class KeptSamples:
    """Some of the samples, in their order; read from the others' passes, so that nothing is brought into memory."""

    whole: Samples
    kept: NDArray[np.bool_]

    @property
    def name(self) -> str:
        return f"{self.whole.name} without copies"

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def classes(self) -> int:
        return self.whole.classes

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.whole.input_shape

    @property
    def layout(self) -> Layout:
        return layout_of(self.whole)

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        check_integer(size, where="batch size", least=1)
        return rechunk(self._read(size), size=size)

    def _read(self, size: int) -> Iterator[Batch]:
        first = 0
        for x, y in self.whole.batches(size):
            here = self.kept[first : first + len(y)]
            first += len(y)
            if here.any():
                yield x[here], y[here]

    def fingerprint(self) -> str:
        running = Fingerprinter(self.input_shape, self.layout)
        for x, y in self.batches():
            running.update(x, y)
        return running.digest()


def key_samples(samples: Samples) -> list[bytes]:
    """For every sample sha256(input) and the label: two samples have one key if they are exact copies.

    input = float32 numbers, little-endian, with -0 as 0; label = int64, big-endian, so that keys sort by input first.
    """
    return [key for batch in samples.batches(rows_at_once(samples.input_shape)) for key in key_batch(*batch)]


def key_batch(x: NDArray[np.float32], y: NDArray[np.int64]) -> list[bytes]:
    # Adding zero turns -0 into 0: two inputs with equal numbers are one input, whatever their bits.
    little = np.ascontiguousarray(x + np.float32(0), dtype="<f4")
    labels = y.astype(">i8").tobytes()
    return [
        hashlib.sha256(row.data).digest() + labels[8 * place : 8 * place + 8]
        for place, row in enumerate(little.reshape(len(y), -1))
    ]


def count_copies(samples: Samples) -> tuple[int, int]:
    """How many samples are exact copies of an earlier one, and how many inputs occur with more than one label."""
    keys = key_samples(samples)
    distinct = set(keys)
    inputs: dict[bytes, int] = {}
    for key in distinct:
        inputs[key[:INPUT_BYTES]] = inputs.get(key[:INPUT_BYTES], 0) + 1
    return len(keys) - len(distinct), sum(labels > 1 for labels in inputs.values())


def find_copies(samples: Samples, *, seen: Samples | None = None, labels: bool = True) -> NDArray[np.bool_]:
    """Which samples are exact copies of an earlier one, or of one that was seen.

    labels  inputs and labels are compared: an input under two labels makes two samples, of which no network gets both
            right. Without, inputs alone
    """
    length = None if labels else INPUT_BYTES
    known = set() if seen is None else {key[:length] for key in key_samples(seen)}
    found = np.zeros(samples.count, dtype=np.bool_)
    for place, key in enumerate(key[:length] for key in key_samples(samples)):
        found[place] = key in known
        known.add(key)
    return found


def leave_out(samples: Samples, copies: NDArray[np.bool_]) -> Samples:
    """The samples that are none of the copies."""
    if not copies.any():
        return samples
    if copies.all():
        raise PactError(
            "every sample is an exact copy of one that the helper has seen",
            where=samples.name,
            hint="leave the copies out of the data before the helper is trained",
        )
    return KeptSamples(samples, ~copies)
