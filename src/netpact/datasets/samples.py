"""Samples: what a network receives, in a fixed order; and Data: a training set with or without a test set."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.datasets.arrays import (
    as_network_input,
    check_classes,
    check_inputs,
    check_labels,
    check_range,
    rows,
    rows_at_once,
    to_array,
    to_inputs,
)
from netpact.datasets.fingerprint import Fingerprinter
from netpact.datasets.layout import Layout, layout_of, layout_of_array, shape_of
from netpact.datasets.sources.spool import take_rows
from netpact.datasets.standardising import Standardise, constants_of

Batch = tuple[NDArray[np.float32], NDArray[np.int64]]


@runtime_checkable
class Samples(Protocol):
    """Inputs and labels as the network receives them: every pass gives the same samples in the same order."""

    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Channels first, (1, 28, 28) for example, or (64,) for vectors."""

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        """float32 inputs (n, *input_shape) and int64 labels (n,), n = size except in the last batch."""

    def fingerprint(self) -> str:
        """The word sha256, a colon and the hex digest that Fingerprinter defines."""


@dataclass(frozen=True, eq=False, repr=False)
class ArraySamples(Displayed):
    """Samples in memory, or in a file that is mapped into it. uint8 images stay uint8 and become x/255 batch by batch.

    The arrays are not copied where they fit already: whoever changes them afterwards changes the data.

    standardised  by which declared constants the inputs are standardised, batch by batch; None: not at all
    origin  the samples that these are a named variant or the first ones of; None for any others. It is set by
            derived_from alone and does not survive dataclasses.replace, so that nobody keeps it by accident
    """

    inputs: NDArray[Any]
    labels: NDArray[Any]
    name: str
    classes: int
    standardised: Standardise | None = None
    origin: ArraySamples | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        classes = check_classes(self.classes)
        inputs = check_inputs(to_inputs(self.inputs, where=f"{self.name}, inputs"), where=self.name)
        labels = check_labels(to_array(self.labels, where=f"{self.name}, labels"), count=len(inputs), where=self.name)
        if not len(labels):
            raise PactError("no samples", where=self.name, hint="give at least one sample")
        check_range(labels, classes=classes, where=self.name)
        if self.standardised is not None:
            self.standardised.check_shape(shape_of(inputs), where=self.name)
        for part, array in (("inputs", inputs), ("labels", labels)):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, part, view)
        object.__setattr__(self, "classes", classes)

    @property
    def count(self) -> int:
        return len(self.labels)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return shape_of(self.inputs)

    @property
    def layout(self) -> Layout:
        """What the network is called with, where that is not one tensor of real numbers."""
        return layout_of_array(self.inputs)

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        check_integer(size, where="batch size", least=1)
        return ((self._received(part), self.labels[part].copy()) for part in rows(self.count, size=size))

    def _received(self, part: slice) -> NDArray[np.float32]:
        x = as_network_input(self.inputs[part])
        return x if self.standardised is None else self.standardised.apply(x, where=self.name)

    def display_facts(self) -> dict[str, object]:
        return samples_facts(self)

    def fingerprint(self) -> str:
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        running = Fingerprinter(self.input_shape, self.layout)
        for x, y in self.batches(rows_at_once(self.input_shape)):
            running.update(x, y)
        return running.digest()

    def derived_from(self, origin: ArraySamples) -> ArraySamples:
        """The same samples, known to be a fixed function of others that keeps their order."""
        same = copy.copy(self)
        object.__setattr__(same, "origin", origin)
        return same

    def take(self, indices: NDArray[np.int64] | slice, *, name: str) -> ArraySamples:
        """The samples at these places, in this order, under a name that says what was taken."""
        inputs = self.inputs[indices] if isinstance(indices, slice) else take_rows(self.inputs, indices, where=name)
        return ArraySamples(inputs, self.labels[indices], name, self.classes, self.standardised)


def samples_facts(samples: Samples) -> dict[str, object]:
    """What is known without a pass over the samples."""
    shape = "x".join(map(str, samples.input_shape))
    return {"name": samples.name, "count": samples.count, "classes": samples.classes, "input_shape": shape}


@dataclass(frozen=True, eq=False, repr=False)
class Data(Displayed):
    """A training set, an optional test set, and their source.

    class_names   of the classes in their order, where the source has names for them
    standardised  the declared constants by which the inputs were standardised; None: not at all
    """

    name: str
    classes: int
    train: Samples
    test: Samples | None = None
    source: str = "memory"
    class_names: tuple[str, ...] = ()
    standardised: Standardise | None = None

    def __post_init__(self) -> None:
        if self.standardised is None:
            object.__setattr__(self, "standardised", constants_of(self.train))
        if self.test is not None and constants_of(self.test) not in (None, self.standardised):
            raise PactError(
                f"the test part is standardised by {constants_of(self.test)}, the training part by "
                f"{self.standardised or 'nothing'}",
                where=self.name,
            )
        if len(self.class_names) not in (0, self.classes):
            raise PactError(f"{len(self.class_names)} names for {self.classes} classes", where=self.name)
        for part, samples in (("train", self.train), ("test", self.test)):
            if samples is None:
                continue
            if samples.input_shape != self.input_shape:
                raise PactError(
                    f"inputs have shape {samples.input_shape}, those of the training set {self.input_shape}",
                    where=f"{self.name}, {part}",
                )
            if layout_of(samples) != self.layout:
                told = [
                    ", ".join(map(str, of)) or "one tensor of real numbers" for of in (layout_of(samples), self.layout)
                ]
                raise PactError(
                    f"inputs are {told[0]}, those of the training set {told[1]}", where=f"{self.name}, {part}"
                )
            if samples.classes != self.classes:
                raise PactError(
                    f"{samples.classes} classes instead of {self.classes}",
                    where=f"{self.name}, {part}",
                    hint="give the number of classes with classes=",
                )

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.train.input_shape

    @property
    def layout(self) -> Layout:
        return layout_of(self.train)

    def display_facts(self) -> dict[str, object]:
        shape = "x".join(map(str, self.input_shape))
        counts = {"train": self.train.count, "test": 0 if self.test is None else self.test.count}
        return {"name": self.name, **counts, "classes": self.classes, "input_shape": shape, "source": self.source}

    def display_rows(self) -> list[dict[str, object]]:
        """One row a part, with its fingerprint."""
        parts = {"train": self.train} if self.test is None else {"train": self.train, "test": self.test}
        return [
            {"part": part, **samples_facts(samples), "fingerprint": samples.fingerprint()}
            for part, samples in parts.items()
        ]
