"""Splits that are a fixed function of the number of samples and a counter, so that the data cannot influence them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer, plain
from netpact.core.errors import PactError
from netpact.datasets.layout import layout_of, restore
from netpact.datasets.samples import ArraySamples, Samples

_WORD = 2**64
_GAMMA = 0x9E3779B97F4A7C15  # the increment and the two multipliers of SplitMix64 (Steele, Lea, Flood 2014)
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


@dataclass(frozen=True)
class Split:
    """Which part of a sample a helper network may see; independent of inputs and labels.

    percent  1 to 99: the helper sees floor(percent * count / 100) samples, and the bound is about all others
    counter  which of the possible splits
    """

    percent: int = 50
    counter: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (("percent", 1, 99), ("counter", 0, 2**32 - 1)):
            value = check_integer(plain(getattr(self, name)), where=name, least=least, most=most)
            object.__setattr__(self, name, value)

    def indices(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places of the samples that the helper may see, and of those that the bound is about."""
        seen = self.percent * count // 100
        if not 1 <= seen < count:
            raise PactError(
                f"{self.percent} % of {count} samples are {seen}: both parts need at least one", where="percent"
            )
        return split_indices(count, held_out=count - seen, counter=self.counter)

    def __str__(self) -> str:
        return f"{self.percent} % by counter {self.counter}"


def set_aside(samples: Samples, split: Split) -> tuple[Samples, Samples]:
    """The helper's part of the samples, and the part that the bound is about, both in the order of the samples.

    Samples that are read from a loader are brought into memory.
    """
    seen, certified = split.indices(samples.count)
    return (
        _take(samples, seen, name=f"{samples.name}, the helper's {split}"),
        _take(samples, certified, name=f"{samples.name}, all but the helper's {split}"),
    )


def _take(samples: Samples, indices: NDArray[np.int64], *, name: str) -> ArraySamples:
    if isinstance(samples, ArraySamples):
        return samples.take(indices, name=name)
    wanted = np.zeros(samples.count, dtype=np.bool_)
    wanted[indices] = True
    inputs, labels, first = [], [], 0
    for x, y in samples.batches():
        here = wanted[first : first + len(y)]
        inputs.append(x[here])
        labels.append(y[here])
        first += len(y)
    return ArraySamples(
        restore(np.concatenate(inputs), layout_of(samples)), np.concatenate(labels), name, samples.classes
    )


def split_indices(count: int, *, held_out: int, counter: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the samples 0 .. count-1 into two parts, the second with held_out samples; both parts in ascending order.

    Sample i gets the key of place i in the SplitMix64 stream whose start depends on (count, counter) only:

        mix(z)  = c ^ c>>31,  b = (z ^ z>>30) * 0xBF58476D1CE4E5B9,  c = (b ^ b>>27) * 0x94D049BB133111EB
        start   = mix( mix(count + GAMMA) ^ counter ),   GAMMA = 0x9E3779B97F4A7C15
        key(i)  = mix( start + (i + 1) * GAMMA )         everything modulo 2^64

    The held_out samples with the smallest keys are the second part. mix is a bijection and GAMMA is odd, so no two keys
    are equal, and the result is the same with every sorting routine, machine and library version.
    """
    check_integer(plain(count), where="count", least=2, most=2**40)
    check_integer(plain(held_out), where="held_out", least=1, most=count - 1)
    keys = _keys(count, counter)
    chosen = keys <= np.partition(keys, held_out - 1)[held_out - 1]
    return np.flatnonzero(~chosen).astype(np.int64), np.flatnonzero(chosen).astype(np.int64)


def shuffled_places(count: int, *, counter: int) -> NDArray[np.int64]:
    """The places 0 .. count-1 in the order of their keys: an order that the samples have no part in."""
    return np.argsort(_keys(count, counter)).astype(np.int64)


def _keys(count: int, counter: int) -> NDArray[np.uint64]:
    check_integer(plain(counter), where="counter", least=0, most=_WORD - 1)
    start = _mix(_mix((count + _GAMMA) % _WORD) ^ counter)
    return _mix_words(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(start))


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * _MIX_1) % _WORD
    z = ((z ^ (z >> 27)) * _MIX_2) % _WORD
    return z ^ (z >> 31)


def _mix_words(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """mix for a whole array: unsigned array arithmetic wraps around at 2^64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX_2)
    return z ^ (z >> np.uint64(31))
