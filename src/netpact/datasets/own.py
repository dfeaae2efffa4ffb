"""The user's own data: arrays, tensors, torch data sets and loaders."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from netpact.core.errors import PactError
from netpact.datasets.arrays import check_labels, count_classes, to_array, to_inputs
from netpact.datasets.loading import load_data
from netpact.datasets.samples import ArraySamples, Data, Samples
from netpact.datasets.streams import open_stream

_ALLOWED = (
    "a pair (x, y) of arrays or tensors, x also a dict or tuple of them, a torch Dataset, a torch DataLoader with "
    "shuffle=False, or Samples"
)
_DATASET_BATCH = 256


def as_samples(source: object, *, name: str = "own data", classes: int | None = None) -> Samples:
    """Samples from a pair (x, y) of arrays or tensors, a torch Dataset or DataLoader, or Samples.

    Data sets and loaders are read once here, and again in every pass: they may be larger than memory, but have to give
    the same samples in the same order each time.

    classes  the number of classes, where it is more than the highest label + 1
    """
    if isinstance(source, Samples):
        if classes is not None and classes != source.classes:
            raise PactError(f"these samples have {source.classes} classes, not {classes}", where=source.name)
        return source
    if isinstance(source, tuple) and len(source) == 2:
        return _array_samples(source[0], source[1], name=name, classes=classes)
    found = _torch_samples(source, name=name, classes=classes) if "torch" in sys.modules else None
    if found is not None:
        return found
    hint = f"give {_ALLOWED}"
    if isinstance(source, Data):
        hint = "give its train or test part"
    elif isinstance(source, (str, Path)):
        hint = "load_data reads names and files"
    elif hasattr(source, "__next__"):
        hint = f"an iterator can be read only once; {hint}"
    raise PactError(f"samples cannot be made from {type(source).__name__}", where=name, hint=hint)


def as_data(source: object, *, test: object = None, name: str = "own data", classes: int | None = None) -> Data:
    """Data from Data, the name or file of a data set, or what as_samples takes; test is what as_samples takes."""
    if isinstance(source, (str, Path)):
        source = load_data(source)
    if isinstance(source, Data):
        if classes is not None and classes != source.classes:
            raise PactError(f"these data have {source.classes} classes, not {classes}", where=source.name)
        data = source
    else:
        train = as_samples(source, name=f"{name} train", classes=classes)
        data = Data(name, train.classes, train)
    if test is None:
        return data
    return replace(data, test=as_samples(test, name=f"{data.name} test", classes=data.classes))


def _array_samples(x: object, y: object, *, name: str, classes: int | None) -> ArraySamples:
    inputs, labels = to_inputs(x, where=f"{name}, inputs"), to_array(y, where=f"{name}, labels")
    if classes is None:
        if not labels.size:
            raise PactError("no samples", where=name, hint="give at least one sample")
        checked = check_labels(labels, count=labels.shape[0] if labels.ndim else 0, where=name)
        classes = count_classes(lowest=int(checked.min()), highest=int(checked.max()), where=name)
    return ArraySamples(inputs, labels, name, classes)


def _torch_samples(source: object, *, name: str, classes: int | None) -> Samples | None:
    """None if the source is no torch Dataset or DataLoader."""
    from torch.utils.data import (
        DataLoader,
        Dataset,
        RandomSampler,
        SubsetRandomSampler,
        TensorDataset,
        WeightedRandomSampler,
    )

    if isinstance(source, TensorDataset) and len(source.tensors) == 2:
        return _array_samples(*source.tensors, name=name, classes=classes)
    if isinstance(source, Dataset):
        source = DataLoader(source, batch_size=_DATASET_BATCH, shuffle=False)
    if not isinstance(source, DataLoader):
        return None
    if isinstance(source.sampler, (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)):
        raise PactError("the loader shuffles", where=name, hint="make it with shuffle=False: the order has to be fixed")
    return open_stream(source, name=name, classes=classes)
