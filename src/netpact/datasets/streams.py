"""Samples that may not fit into memory: read from a loader anew in every pass, and held to the first pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.datasets.arrays import (
    MAX_CLASSES,
    as_network_input,
    check_classes,
    check_inputs,
    check_labels,
    check_range,
    count_classes,
    rows,
    to_array,
    to_inputs,
)
from netpact.datasets.fingerprint import Fingerprinter
from netpact.datasets.layout import Layout, layout_of_array
from netpact.datasets.samples import Batch, samples_facts
from netpact.datasets.standardising import Standardise

_PAIRS = "a loader gives pairs (inputs, labels) of whole batches"


@dataclass(frozen=True, eq=False, repr=False)
class StreamSamples(Displayed):
    """Samples of a loader; made by open_stream, which reads them once.

    Every later pass is fingerprinted again while it runs. If it gave other samples than the first one, or in another
    order, it ends with an error: an error count taken from such a pass would belong to no fixed sample.
    """

    loader: Iterable[object]
    name: str
    input_shape: tuple[int, ...]
    count: int
    classes: int
    digest: str
    layout: Layout = ()
    standardised: Standardise | None = None

    def display_facts(self) -> dict[str, object]:
        return samples_facts(self)

    def fingerprint(self) -> str:
        return self.digest

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        check_integer(size, where="batch size", least=1)
        return self._read_again(size)

    def _read_again(self, size: int) -> Iterator[Batch]:
        running = Fingerprinter(self.input_shape, self.layout)
        batches = ((x, y) for x, y, _ in _read(self.loader, self.name, self.classes, self.standardised))
        for x, y in rechunk(batches, size=size):
            running.update(x, y)
            yield x, y
        if running.digest() != self.digest:
            raise PactError(
                f"this pass ({running.count} samples) differs from the first one ({self.count}), in samples or order",
                where=self.name,
                hint="use shuffle=False and no random augmentation; the order and the inputs have to be fixed",
            )


def open_stream(
    loader: Iterable[object], *, name: str, classes: int | None = None, standardised: Standardise | None = None
) -> StreamSamples:
    """Read the loader once: check every sample, count, fingerprint. Holds one batch at a time."""
    known = None if classes is None else check_classes(classes)
    lowest, highest = MAX_CLASSES, -1
    running: Fingerprinter | None = None
    layout: Layout = ()
    for x, y, layout in _read(loader, name, known, standardised):
        running = running or Fingerprinter(x.shape[1:], layout)
        running.update(x, y)
        lowest, highest = min(lowest, int(y.min())), max(highest, int(y.max()))
    if running is None:
        raise PactError("no samples", where=name, hint="the loader is empty; give at least one sample")
    if known is None:
        known = count_classes(lowest=lowest, highest=highest, where=name)
    shape, count = running.input_shape, running.count
    return StreamSamples(loader, name, shape, count, known, running.digest(), layout, standardised)


def _read(
    loader: Iterable[object], name: str, classes: int | None, standardised: Standardise | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64], Layout]]:
    """One pass: checked batches as the network receives them, of the loader's own sizes, and what they stand for."""
    first, shape = 0, None
    for batch in _iterate(loader, name=name):
        where = f"{name}, batch from sample {first}"
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise PactError(f"{_PAIRS}, got {type(batch).__name__}", where=where)
        x = check_inputs(to_inputs(_inputs_of(batch[0]), where=where), where=name, first=first)
        y = check_labels(to_array(batch[1], where=where), count=len(x), where=name, first=first)
        if classes is not None:
            check_range(y, classes=classes, where=name, first=first)
        kind = (x.shape[1:], layout_of_array(x))
        shape = shape or kind
        if standardised is not None:
            standardised.check_shape(x.shape[1:], where=name)
        if kind != shape:
            raise PactError(f"inputs of shape {x.shape[1:]} after inputs of shape {shape[0]}", where=where)
        if len(y):
            received = as_network_input(x)
            yield received if standardised is None else standardised.apply(received, where=where), y, kind[1]
        first += len(y)


def _inputs_of(found: object) -> object:
    """torch's collating makes lists of tuples."""
    return tuple(found) if isinstance(found, list) and found and not np.isscalar(found[0]) else found


def _iterate(loader: Iterable[object], *, name: str) -> Iterator[object]:
    try:
        yield from loader
    except TypeError as error:  # what torch raises when samples are not arrays, PIL images for example
        raise PactError(
            f"the loader failed: {error}", where=name, hint="samples have to be tensors or arrays of one shape"
        ) from error


def rechunk(batches: Iterator[Batch], *, size: int) -> Iterator[Batch]:
    """The same samples in batches of `size`; keeps less than one batch of either kind waiting."""
    waiting: list[Batch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += len(batch[1])
        if held >= size:
            x, y = _join(waiting)
            whole = held - held % size
            for part in rows(whole, size=size):
                yield x[part], y[part]
            waiting, held = [(x[whole:], y[whole:])], held - whole
    if held:
        yield _join(waiting)


def _join(batches: list[Batch]) -> Batch:
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])
