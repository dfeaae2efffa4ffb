"""describe: what there is to know about a data set before anything is trained on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netpact.datasets.copies import INPUT_BYTES, key_samples
from netpact.datasets.samples import Data, Samples


@dataclass(frozen=True)
class _Contents:
    class_counts: list[int]
    inputs: list[bytes]


def describe(data: Data) -> dict[str, object]:
    """A JSON-ready summary: counts, shape, classes, fingerprints, duplicates, source.

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
        "train": _describe_part(data.train, train),
        "test": _describe_part(data.test, test) if data.test is not None and test is not None else None,
        "train_inputs_in_test": None if test is None else _count_shared(train, test),
    }


def _describe_part(samples: Samples, contents: _Contents) -> dict[str, object]:
    return {
        "name": samples.name,
        "count": samples.count,
        "class_counts": contents.class_counts,
        "fingerprint": samples.fingerprint(),
        "duplicates": len(contents.inputs) - len(set(contents.inputs)),
    }


def _read(samples: Samples) -> _Contents:
    """One pass: a key is the hash of an input and the label behind it."""
    keys = key_samples(samples)
    labels = np.frombuffer(b"".join(key[INPUT_BYTES:] for key in keys), dtype=">i8").astype(np.int64)
    counts = np.bincount(labels, minlength=samples.classes).tolist()
    return _Contents(counts, [key[:INPUT_BYTES] for key in keys])


def _count_shared(train: _Contents, test: _Contents) -> int:
    known = set(test.inputs)
    return sum(one in known for one in train.inputs)
