"""A random part of some samples."""

from __future__ import annotations

import numpy as np

from netpact.core.seed import Seed
from netpact.datasets.layout import layout_of, restore
from netpact.datasets.samples import ArraySamples, Samples


def draw_samples(samples: Samples, most: int, seed: Seed) -> Samples:
    """At most so many, drawn without return and kept in their order; all of them if there are no more."""
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
    return ArraySamples(
        restore(np.concatenate(inputs), layout_of(samples)), np.concatenate(labels), name, samples.classes
    )
