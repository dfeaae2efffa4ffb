"""How long measuring will take: one piece of each pass is timed and multiplied."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from netpact.core.progress import time_words
from netpact.measurements.passes import Context, Pass
from netpact.network import PartialMap

_TIMED_SAMPLES, _MANY = 4, 64
_QUICK, _LONG = 0.01, 1.0  # seconds: a few samples below the first are quick, timing beyond the second ends


@dataclass(frozen=True)
class Cost:
    """seconds is a forecast, what is a sentence about where they go."""

    seconds: float
    what: str

    def __str__(self) -> str:
        if self.seconds < 1:
            return f"about a second: {self.what}"
        return f"about {time_words(self.seconds)}: {self.what}"


@dataclass(frozen=True, eq=False)
class Timing:
    """What passes are forecast from: seconds for one sample, measured when first asked for."""

    context: Context

    @cached_property
    def few(self) -> Tensor:
        """A few samples; more where they cost next to nothing: a small network spends its time between operations."""
        inputs, module = self.context.inputs, self.context.network.module
        few = inputs[:_TIMED_SAMPLES]
        return few if _seconds(lambda: module(few)) > _QUICK else inputs[:_MANY]

    @cached_property
    def plain(self) -> float:
        """One pass through the network."""
        return self.of(lambda: self.context.network.module(self.few))

    @cached_property
    def push(self) -> float:
        """A derivative from the middle layer that has something after it: what the layers take on average."""
        structure = self.context.structure
        starts = [index for index in structure.indices if structure.ends(index)]
        if not starts:
            return 0.0
        middle = starts[len(starts) // 2]
        partial = PartialMap(self.context.network, middle, structure.ends(middle), self.few)
        return self.of(lambda: partial.push(partial.point()))

    def of(self, work: Callable[[], object]) -> float:
        """Of work on the few samples."""
        return _seconds(work) / len(self.few)


def forecast(context: Context, passes: Iterable[Pass[Any]]) -> Cost:
    timing = Timing(context)
    parts = [cost for each in passes if (cost := each.forecast(timing)) is not None]
    return Cost(sum(part.seconds for part in parts), ", ".join(part.what for part in parts) or "weights only")


def _seconds(work: Callable[[], object]) -> float:
    """The median of three runs after a first one that loads and allocates; slow work is timed once."""
    times: list[float] = []
    with torch.no_grad():
        work()
        while len(times) < 3 and sum(times) < _LONG:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return statistics.median(times)
