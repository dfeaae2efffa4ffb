"""Label noise: labels changed by chance, each sample for itself, so that the noisy samples are i.i.d. again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_choice, check_instance, check_number
from netpact.core.seed import Seed
from netpact.datasets.order import in_memory
from netpact.datasets.samples import ArraySamples, Data, Samples

_PARTS = ("both", "train")


def add_label_noise(data: Data, *, kind: str, rate: float, seed: Seed, parts: str = "both") -> Data:
    """The same data with noisy labels. Samples that are read from a loader are brought into memory.

    kind   symmetric: to each of the other classes alike; pair-flip: to the next class, from the last to the first
    rate   the probability with which a label changes. Coins are tossed for each sample: an exact share of all labels
           would tie the samples to each other
    parts  both: a certificate is about noisy labels, and so is the test error beside it
           train: the test set stays clean, and its error is comparable with certificates.clean_risk_bound
    """
    check_choice(kind, KINDS, where="kind")
    check_number(rate, where="rate", least=0, most=1)
    check_instance(seed, Seed, where="seed", hint="write Seed(0)")
    check_choice(parts, _PARTS, where="parts")
    short = next(short for short, long in _SHORT.items() if long == kind)
    name = f"{data.name}:{short}-{rate:g}" + ("-clean-test" if parts == "train" else "")

    def noisy(samples: Samples, which: str) -> ArraySamples:
        whole = samples if isinstance(samples, ArraySamples) else in_memory(samples)
        labels = whole.labels
        random = seed.child("label noise", kind, which).numpy()
        changed = random.random(len(labels)) < rate
        away = np.where(changed, KINDS[kind](random, len(labels), data.classes), 0)
        return replace(whole, labels=(labels + away) % data.classes, name=f"{name} {which}")

    test = data.test if data.test is None or parts == "train" else noisy(data.test, "test")
    return replace(data, name=name, train=noisy(data.train, "train"), test=test)


def find_noise(variant: str) -> tuple[str, float, str] | None:
    """kind, rate and parts of symmetric-0.2, pair-0.4 or symmetric-0.2-clean-test; None for any other text."""
    found = re.fullmatch(r"(symmetric|pair)-(0\.[0-9]{1,6})(-clean-test)?", variant, re.ASCII)
    if found is None:
        return None
    return _SHORT[found[1]], float(found[2]), "train" if found[3] else "both"


def _any_other(random: np.random.Generator, count: int, classes: int) -> NDArray[np.int64]:
    return random.integers(1, classes, count)


def _next(random: np.random.Generator, count: int, classes: int) -> NDArray[np.int64]:
    return np.ones(count, dtype=np.int64)


_SHORT = {"symmetric": "symmetric", "pair": "pair-flip"}
# By how many classes a label moves where it changes.
KINDS: dict[str, Callable[[np.random.Generator, int, int], NDArray[np.int64]]] = {
    "symmetric": _any_other,
    "pair-flip": _next,
}
