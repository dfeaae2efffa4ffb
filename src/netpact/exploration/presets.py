"""Searches with a name: what to run again to get a record's file, on its own data or on any other.

They steer a search and appear in no bound: what a search chooses is in the message.
"""

from __future__ import annotations

from dataclasses import dataclass

from netpact.core.errors import one_of


@dataclass(frozen=True)
class Preset:
    data: str
    candidates: tuple[str, ...]
    rates: tuple[float, ...]
    rounds: int
    seed: int = 0
    training_steps: int | None = None
    starts: int = 1


PRESETS = {
    "mnist": Preset("mnist", ("sobel:8-5-8-4-1-5",), (8.0,), rounds=48, seed=2, training_steps=4000, starts=4),
    "fashion_mnist": Preset(
        "fashion_mnist", ("sobel:7-6-6-3-1-1",), (8.0,), rounds=32, seed=1, training_steps=4000, starts=4
    ),
    "cifar10": Preset("cifar10", ("contours:8-4-2-3",), (8.0,), rounds=30, seed=3, training_steps=4000, starts=4),
    "digits": Preset("digits", ("linear", "oriented:8-5-4-2-1"), (4.0, 6.0, 8.0), rounds=8),
    "mnist-learned": Preset("mnist", ("p4m:lnconv:4-2-16-1-3-1-16-2-3-1-32-1",), (7.0,), rounds=6),
    "fashion_mnist-learned": Preset(
        "fashion_mnist", ("p4m+mirror:lnconv:4-2-32-1-3-1-32-2-3-1-64-1",), (7.0,), rounds=6
    ),
    "cifar10-learned": Preset("cifar10", ("p4m+mirror:lnconv:4-2-32-1-3-1-32-2-3-1-32-1-3-1-64-2",), (8.0,), rounds=12),
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise one_of(name, tuple(PRESETS), option="preset")
    return PRESETS[name]
