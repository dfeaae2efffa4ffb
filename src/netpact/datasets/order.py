"""What fixed the order of samples: places decide which of them a helper network sees, and which are certified."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from netpact.datasets.catalogue import PUBLISHED_TRAINING_SETS
from netpact.datasets.copies import key_samples
from netpact.datasets.layout import layout_of, restore
from netpact.datasets.reading import SORTED
from netpact.datasets.samples import ArraySamples, Data, Samples


def published_name(samples: Samples) -> str:
    """The published training set whose order these samples have, known by its fingerprint; "" if there is none.

    Variants and first samples of a published set keep its order: they are fixed functions of it.
    """
    if isinstance(samples, ArraySamples) and samples.origin is not None:
        return published_name(samples.origin)
    return PUBLISHED_TRAINING_SETS.get(samples.fingerprint(), "")


def sort_samples(data: Data | object) -> Data:
    """The same data with the training samples in an order that does not depend on how they were stored.

    They are sorted by the SHA-256 of their inputs, then by label; samples of a loader are read into memory. Train a
    helper on the result, and certify and verify with it.
    """
    from netpact.datasets.own import as_data  # which loads data by name, sorted if the name says so

    data = as_data(data)
    keys = key_samples(data.train)
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    name = f"{data.name}:{SORTED}"
    whole = data.train if isinstance(data.train, ArraySamples) else in_memory(data.train)
    train = whole.take(order, name=f"{name} train")
    return replace(data, name=name, train=train.derived_from(whole) if published_name(whole) else train)


def is_sorted(samples: Samples, *, repeats: bool = False) -> bool:
    """Whether samples are in the order of sort_samples; without exact copies, unless the distribution repeats values.

    The split depends on the number of samples: with copies, which nobody counts, one could try many numbers.
    """
    keys = key_samples(samples)
    return all(first < second or (repeats and first == second) for first, second in itertools.pairwise(keys))


def in_memory(samples: Samples) -> ArraySamples:
    inputs, labels = zip(*samples.batches(), strict=True)
    return ArraySamples(
        restore(np.concatenate(inputs), layout_of(samples)), np.concatenate(labels), samples.name, samples.classes
    )
