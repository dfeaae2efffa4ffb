"""The networks that are compressed, and how files of them are judged: everyone gets the same weights and samples."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rows import FileRow
from torch import nn

import netpact
from netpact.certificates import code_bits
from netpact.training import error_rate

DELTA = 0.05
TOLERANCE = 0.001  # files are compared at equal accuracy: a test error at most this much above the network's own
REPEATS = 3
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Subject:
    """A trained network with the data it was trained on."""

    name: str
    module: nn.Module
    data: netpact.Data
    test_error: float

    @property
    def test(self) -> netpact.datasets.Samples:
        assert self.data.test is not None
        return self.data.test

    @property
    def most_error(self) -> float:
        return self.test_error + TOLERANCE + 1e-12


def train_subject(name: str, data: netpact.Data, *, epochs: int, seed: netpact.Seed, folder: Path) -> Subject:
    """Plain training by netpact; a run that was stopped goes on from its checkpoint in the folder."""
    architecture = netpact.parse_model(name, input_shape=data.input_shape, classes=data.classes)
    options = netpact.TrainOptions(epochs=epochs, seed=seed)
    checkpoint = folder / f"{data.name}-{name.replace(':', '-')}-{epochs}.ckpt"
    trained = netpact.train(netpact.build(architecture), data.train, options, checkpoint=checkpoint, test=data.test)
    subject = Subject(name, trained.module, data, 0.0)
    return Subject(name, trained.module, data, measure_test_error(trained.module, subject))


def measure_test_error(module: nn.Module, subject: Subject) -> float:
    errors, count = error_rate(module, subject.test)
    return errors / count


def bound_if_message(size_bytes: int, *, errors: int, subject: Subject) -> float:
    """The bound if these bytes were a message: 8 bits for each and their announcement.

    A concession to every format but netpact's: it assumes that the decoder was fixed before the data, that the bytes
    name the architecture too, and that the machine's rounding changes no prediction.
    """
    count = subject.data.train.count
    return netpact.risk_bound(errors=errors, samples=count, code_bits=code_bits(size_bytes), delta=DELTA)


def count_train_errors(module: nn.Module, subject: Subject) -> int:
    return error_rate(module, subject.data.train)[0]


def time_work(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work gives, and the median of its processor time in milliseconds: the machine may be busy."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        result = work()
        times.append(time.process_time() - started)
    return result, 1000.0 * statistics.median(times)


def smallest(rows: list[FileRow], subject: Subject) -> FileRow | None:
    """The smallest file that is as accurate as the network itself, or None."""
    good = [row for row in rows if row.test_error <= subject.most_error]
    return min(good, key=lambda row: row.size_bytes) if good else None
