"""The user's own data: arrays, tensors, DataFrames, data sets and loaders of torch, data sets of Hugging Face."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.datasets.arrays import check_labels, count_classes, to_array, to_inputs
from netpact.datasets.loading import load_data
from netpact.datasets.reading import Reading
from netpact.datasets.samples import ArraySamples, Data, Samples
from netpact.datasets.sources.frames import is_frame, read_frame
from netpact.datasets.sources.hugging_face import is_hugging_face, read_hugging_face
from netpact.datasets.sources.places import tables_to_data
from netpact.datasets.standardising import constants_of, standardise, standardise_samples
from netpact.datasets.streams import open_stream

_ALLOWED = (
    "a pair (x, y) of arrays or tensors, x also a dict or tuple of them, a DataFrame, a torch Dataset, a torch "
    "DataLoader with shuffle=False, a Dataset of Hugging Face, or Samples"
)
_DATASET_BATCH = 256


def as_samples(source: object, *, name: str = "own data", classes: int | None = None) -> Samples:
    """Samples from a pair (x, y) of arrays or tensors, a DataFrame, a Dataset or DataLoader, or Samples.

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
    if is_frame(source) or is_hugging_face(source):
        return _from_columns(source, None, Reading(), name=name, classes=classes).train
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


def as_data(
    source: object,
    *,
    test: object = None,
    name: str = "own data",
    classes: int | None = None,
    reading: Reading | None = None,
) -> Data:
    """Data from Data, the name or place of a data set, or what as_samples takes; test is what as_samples takes.

    reading  of a place, a table or images: how to read them; also constants by which the inputs are standardised
    """
    how = check_instance(reading or Reading(), Reading, where="reading", hint="write Reading(size=32)")
    raw = replace(how, standardise=None)
    if isinstance(source, (str, Path)):
        data = load_data(source, reading=raw if str(raw) else None)
    elif is_frame(source) or is_hugging_face(source):
        data, test = _from_columns(source, test, raw, name=name, classes=classes), None
    else:
        raw.refuse("size", "colours", "label", "columns", where=name)
        data = source if isinstance(source, Data) else _only_train(source, name=name, classes=classes)
    if classes is not None and classes != data.classes:
        raise PactError(f"these data have {data.classes} classes, not {classes}", where=data.name)
    if test is not None:
        samples = as_samples(test, name=f"{data.name} test", classes=data.classes)
        if data.standardised is not None and constants_of(samples) is None:
            samples = standardise_samples(samples, data.standardised, name=samples.name)
        data = replace(data, test=samples)
    return data if how.standardise is None else standardise(data, how.standardise)


def _only_train(source: object, *, name: str, classes: int | None) -> Data:
    train = as_samples(source, name=f"{name} train", classes=classes)
    return Data(name, train.classes, train)


def _from_columns(source: Any, test: Any, reading: Reading, *, name: str, classes: int | None) -> Data:
    """A table, with or without another one as its test part: classes are numbered as in the first."""
    if test is not None and (is_frame(test), is_hugging_face(test)) != (is_frame(source), is_hugging_face(source)):
        raise PactError(f"a table, and a test part that is {type(test).__name__}", where=name, hint="give both alike")
    if is_hugging_face(source):
        if test is not None and isinstance(source, Mapping):
            raise PactError("a dict of parts, and a test part as well", where=name, hint="put it into the dict")
        whole = source if test is None else {"train": source, "test": test}
        return read_hugging_face(whole, reading, name=name)
    tables = {"train": read_frame(source, reading, name=f"{name} train")}
    if test is not None:
        tables["test"] = read_frame(test, reading, name=f"{name} test", like=tables["train"])
    return tables_to_data(tables, name, "memory", classes)


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
