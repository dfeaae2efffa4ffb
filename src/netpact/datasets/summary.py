"""describe: what there is to know about a data set before anything is trained on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.datasets.samples import Data, Samples


@dataclass(frozen=True)
class _Contents:
    class_counts: NDArray[np.int64]
    row_hashes: NDArray[np.uint64]


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
        "train_inputs_in_test": None if test is None else int(np.isin(train.row_hashes, test.row_hashes).sum()),
    }


def _describe_part(samples: Samples, contents: _Contents) -> dict[str, object]:
    return {
        "name": samples.name,
        "count": samples.count,
        "class_counts": contents.class_counts.tolist(),
        "fingerprint": samples.fingerprint(),
        "duplicates": len(contents.row_hashes) - len(np.unique(contents.row_hashes)),
    }


def _read(samples: Samples) -> _Contents:
    """One pass. 64 bits of hash per input: a million different inputs collide with probability below 1e-7."""
    counts = np.zeros(samples.classes, dtype=np.int64)
    hashes = []
    for x, y in samples.batches():
        counts += np.bincount(y, minlength=samples.classes)
        x = x + np.float32(0)  # -0.0 becomes 0.0: equal numbers, equal bytes
        hashes.append(b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in x))
    return _Contents(counts, np.frombuffer(b"".join(hashes), dtype=np.uint64))
