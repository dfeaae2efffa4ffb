"""One shard: some of the samples, as they are stored, with their places among all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.json import check_fields, encode_json, read_object
from netpact.datasets.arrays import rows
from netpact.datasets.mixing import MixedBatch
from netpact.datasets.samples import ArraySamples
from netpact.datasets.standardising import parse_standardise

_HEAD_BYTES = 4


@dataclass(frozen=True, eq=False)
class Shard:
    """samples  in the order in which they are gone through; uint8 images are still uint8: a quarter of the bytes
    places   of these samples among all, for what is said about one of them
    """

    samples: ArraySamples
    places: NDArray[np.int64]

    def batches(self, size: int) -> Iterator[MixedBatch]:
        for (x, y), part in zip(self.samples.batches(size), rows(len(self.places), size=size), strict=True):
            yield x, y, self.places[part]

    def to_bytes(self) -> bytes:
        """Text and arrays alone: nothing in it is pickled."""
        samples = self.samples
        told = {
            "name": samples.name,
            "classes": samples.classes,
            "standardised": "" if samples.standardised is None else str(samples.standardised),
        }
        head = encode_json(told, where="shard").encode()
        out = io.BytesIO()
        out.write(len(head).to_bytes(_HEAD_BYTES, "big") + head)
        for array in (samples.inputs, samples.labels, self.places):
            np.save(out, array, allow_pickle=False)
        return out.getvalue()


def open_shard(content: bytes | memoryview) -> Shard:
    source = io.BytesIO(content)
    head = source.read(int.from_bytes(source.read(_HEAD_BYTES), "big"))
    told = check_fields(read_object(head, where="shard"), {"name", "classes", "standardised"}, where="shard")
    inputs, labels, places = (np.load(source, allow_pickle=False) for _ in range(3))
    standardised = parse_standardise(told["standardised"]) if told["standardised"] else None
    return Shard(ArraySamples(inputs, labels, told["name"], told["classes"], standardised), places)
