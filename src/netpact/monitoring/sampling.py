"""A part of the data, drawn once, so that every look is at the same samples."""

from __future__ import annotations

from dataclasses import replace

from netpact.core.seed import Seed
from netpact.datasets import Data, draw_samples


def draw_data(data: Data, most: int, seed: Seed) -> Data:
    """At most so many training samples, and at most so many test samples."""
    test = None if data.test is None else draw_samples(data.test, most, seed.child("monitor", "test"))
    return replace(data, train=draw_samples(data.train, most, seed.child("monitor", "train")), test=test)
