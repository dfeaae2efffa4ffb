"""describe: what there is to know about a data set before anything is trained on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netpact.datasets.arrays import rows_at_once
from netpact.datasets.copies import INPUT_BYTES, key_batch
from netpact.datasets.samples import Data, Samples


@dataclass(frozen=True)
class _Contents:
    class_counts: list[int]
    inputs: list[bytes]
    least: float
    most: float


def describe(data: Data) -> dict[str, object]:
    """A JSON-ready summary: counts, shape, classes, range of the values, fingerprints, duplicates, source.

    Duplicates are reported, never removed: taking samples out after looking at them would break the i.i.d. assumption
    that a certificate states. Inputs count as equal if all their numbers are, whatever their labels.
    """
    train = _read(data.train)
    test = _read(data.test) if data.test is not None else None
    return {
        "name": data.name,
        "source": data.source,
        "input_shape": list(data.input_shape),
        "classes": data.classes,
        "class_names": list(data.class_names),
        "standardised": None if data.standardised is None else str(data.standardised),
        "train": _describe_part(data.train, train),
        "test": _describe_part(data.test, test) if data.test is not None and test is not None else None,
        "train_inputs_in_test": None if test is None else _count_shared(train, test),
    }


def _describe_part(samples: Samples, contents: _Contents) -> dict[str, object]:
    return {
        "name": samples.name,
        "count": samples.count,
        "class_counts": contents.class_counts,
        "range": [contents.least, contents.most],
        "fingerprint": samples.fingerprint(),
        "duplicates": len(contents.inputs) - len(set(contents.inputs)),
    }


def _read(samples: Samples) -> _Contents:
    """One pass over all samples."""
    counts = np.zeros(samples.classes, dtype=np.int64)
    inputs: list[bytes] = []
    least, most = math.inf, -math.inf
    for x, y in samples.batches(rows_at_once(samples.input_shape)):
        counts += np.bincount(y, minlength=samples.classes)
        inputs += [key[:INPUT_BYTES] for key in key_batch(x, y)]
        least, most = min(least, float(x.min()) + 0.0), max(most, float(x.max()) + 0.0)
    return _Contents(counts.tolist(), inputs, least, most)


def _count_shared(train: _Contents, test: _Contents) -> int:
    known = set(test.inputs)
    return sum(one in known for one in train.inputs)
