"""check_data: what looks wrong about data. Nothing is changed or refused; whoever uses the data decides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.display import Displayed, Row
from netpact.datasets.own import as_data
from netpact.datasets.samples import Data, Samples
from netpact.datasets.standardising import COMPUTED, WAY_OUT, looks_computed
from netpact.datasets.summary import describe

_CHANNELS = (1, 3, 4)
_LEAST_SIDE = 8  # a first axis of so many is rows of an image, not channels
_LOOKED_AT = 2048  # samples of each part whose values are compared
_APART = 3.0  # parts whose values spread by such a factor more are not drawn alike
_EXPECTED = 10  # a class of which so many test samples are expected does not miss by chance
_COPIED = 0.002  # the share of copies that is worth a warning; many published data sets have a few
_NAMED = 5


@dataclass(frozen=True, repr=False)
class Problem(Displayed):
    """A likely mistake in the data: what it is, in which part, and how to fix it."""

    what: str
    where: str
    hint: str

    def display_facts(self) -> Row:
        return {"problem": self.what, "where": self.where, "hint": self.hint}

    def display_text(self) -> str:
        return f"{self.where}: {self.what} ({self.hint})"

    def to_json(self) -> dict[str, str]:
        return {"problem": self.what, "where": self.where, "hint": self.hint}


@dataclass(frozen=True)
class _Look:
    """What one pass over a part has found. low, high: the first and the last hundredth of some samples' values."""

    samples: Samples
    class_counts: NDArray[np.int64]
    constant: int
    least: float
    low: float
    high: float


def check_data(data: object, *, copies: bool = False) -> tuple[Problem, ...]:
    """Likely mistakes in data, found by one pass over each part; data is what as_data takes.

    copies  also search for exact copies of inputs, within each part and of the training part in the test part; this
            hashes every input
    """
    source = as_data(data)
    train = _look_at(source.train)
    test = None if source.test is None else _look_at(source.test)
    found = [*_labels(train, test), *_shape(source), *_constant(train), *_standardised(source)]
    if test is not None:
        found += [*_constant(test), *_ranges(train, test)]
    if copies:
        found += copies_in(describe(source))
    return tuple(found)


def copies_in(summary: dict[str, object]) -> Iterator[Problem]:
    """The same for a summary that describe has made: no second pass."""
    parts = {part: content for part in ("train", "test") if isinstance(content := summary[part], dict)}
    for content in parts.values():
        if content["duplicates"] > _COPIED * content["count"]:
            yield Problem(
                f"{content['duplicates']:,} of {content['count']:,} inputs are copies of an earlier one",
                content["name"],
                "certify counts each of them once, unless the distribution is declared to repeat values",
            )
    shared = summary["train_inputs_in_test"]
    if isinstance(shared, int) and shared > _COPIED * min(content["count"] for content in parts.values()):
        yield Problem(
            f"{shared:,} training inputs are in the test part as well",
            parts["test"]["name"],
            "the test error then says little about new samples; take them out of one of the parts",
        )


def _look_at(samples: Samples) -> _Look:
    counts = np.zeros(samples.classes, dtype=np.int64)
    constant, least, seen = 0, math.inf, 0
    step, some = max(1, samples.count // _LOOKED_AT), []
    for x, y in samples.batches():
        counts += np.bincount(y, minlength=samples.classes)
        flat = x.reshape(len(x), -1)
        lowest = flat.min(axis=1)
        constant += int(np.count_nonzero(lowest == flat.max(axis=1))) if flat.shape[1] > 1 else 0
        least = min(least, float(lowest.min()))
        some.append(flat[-seen % step :: step].copy())
        seen += len(x)
    values = np.concatenate(some).ravel()
    places = [round(share * (len(values) - 1)) for share in (0.01, 0.99)]
    low, high = (float(number) for number in np.partition(values, places)[places])
    return _Look(samples, counts, constant, least, low, high)


def _labels(train: _Look, test: _Look | None) -> Iterator[Problem]:
    counts = train.class_counts if test is None else train.class_counts + test.class_counts
    missing = np.flatnonzero(train.class_counts == 0)
    if counts[0] == 0 and np.all(counts[1:]):
        yield Problem(
            f"no sample has label 0, every label from 1 to {len(counts) - 1} occurs",
            train.samples.name,
            "are the classes numbered from 1? subtract 1, or the network has an output for a class that is not there",
        )
    elif len(missing):
        yield Problem(
            f"no sample of {_classes(missing)}",
            train.samples.name,
            "number the classes without gaps, or give a smaller classes=",
        )
    if test is not None:
        expected = train.class_counts / train.samples.count * test.samples.count
        gone = np.flatnonzero((test.class_counts == 0) & (expected >= _EXPECTED))
        if len(gone):
            yield Problem(
                f"no sample of {_classes(gone)}, which the training part has",
                test.samples.name,
                "were the samples sorted by class before they were split? draw the test part at random",
            )


def _classes(labels: NDArray[np.int64]) -> str:
    named = ", ".join(str(label) for label in labels[:_NAMED])
    if len(labels) == 1:
        return f"class {named}"
    return f"classes {named}{f' and {len(labels) - _NAMED} others' if len(labels) > _NAMED else ''}"


def _shape(data: Data) -> Iterator[Problem]:
    shape = data.input_shape
    if len(shape) == 3 and shape[2] in _CHANNELS and min(shape[:2]) >= _LEAST_SIDE:
        yield Problem(
            f"inputs of shape {shape} look like channels last",
            data.name,
            f"networks here read (channels, rows, columns): x.transpose(0, 3, 1, 2) gives "
            f"({shape[2]}, {shape[0]}, {shape[1]})",
        )


def _standardised(data: Data) -> Iterator[Problem]:
    if looks_computed(data.train):
        yield Problem(COMPUTED, data.train.name, WAY_OUT)


def _constant(look: _Look) -> Iterator[Problem]:
    if look.constant:
        yield Problem(
            f"{look.constant:,} of {look.samples.count:,} inputs are one number throughout",
            look.samples.name,
            "empty images or failed readings? leave them out before anything is trained",
        )


def _ranges(train: _Look, test: _Look) -> Iterator[Problem]:
    narrow, wide = sorted((train.high - train.low, test.high - test.low))
    # A hundredth of the values below 0 in one part, and none at all in the other.
    signs = (train.low < 0 <= test.least) or (test.low < 0 <= train.least)
    if wide > _APART * narrow or signs:
        yield Problem(
            f"most values lie from {test.low:.4g} to {test.high:.4g}, those of the training part from "
            f"{train.low:.4g} to {train.high:.4g}",
            test.samples.name,
            "prepare both parts alike: divide both by 255, or neither",
        )
