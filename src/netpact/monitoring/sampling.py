"""A part of the data, drawn once, so that every look is at the same samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netpact.datasets import ArraySamples, Data, Samples
from netpact.seed import Seed


def draw_data(data: Data, most: int, seed: Seed) -> Data:
    """At most so many training samples, and at most so many test samples."""
    test = None if data.test is None else _draw(data.test, most, seed.child("monitor", "test"))
    return replace(data, train=_draw(data.train, most, seed.child("monitor", "train")), test=test)


def _draw(samples: Samples, most: int, seed: Seed) -> Samples:
    """Drawn without return and kept in their order; all of them if there are no more."""
    if samples.count <= most:
        return samples
    keep = np.zeros(samples.count, dtype=bool)
    keep[seed.numpy().permutation(samples.count)[:most]] = True
    inputs, labels, seen = [], [], 0
    for x, y in samples.batches():
        chosen = keep[seen : seen + len(y)]
        inputs.append(x[chosen])
        labels.append(y[chosen])
        seen += len(y)
    name = f"{most} of {samples.name}"
    return ArraySamples(np.concatenate(inputs), np.concatenate(labels), name, samples.classes)
