"""How long an experiment will take: a few steps of each network's training are timed and multiplied."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from netpact.core.progress import time_words
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.experiments.presets import Case
from netpact.experiments.studying import start_network, train_options

_FORWARD_SHARE = 1 / 3  # of a step; each epoch ends with a pass over all samples that has no backward half
_TIMED = 2  # steps, after a first one that loads and allocates


@dataclass(frozen=True)
class Forecast:
    """seconds of training that are still to be done, for so many networks; measuring comes on top. Or of simulating."""

    seconds: float
    networks: int
    things: str = "networks"

    def __str__(self) -> str:
        if self.things != "networks":
            if not self.networks:
                return f"all {self.things} are done already"
            return f"{self.networks} {self.things} to run: about {time_words(self.seconds)} of one processor"
        if not self.networks:
            return "all networks are trained and measured already"
        told = f"{self.networks} networks to train: about {time_words(self.seconds)} on this machine"
        return f"{told}; measuring comes on top"


def forecast_training(waiting: Sequence[tuple[Case, Data]]) -> Forecast:
    """Networks that are not in the store yet. A checkpoint of a killed run is not looked at: it may be less."""
    steps: dict[Case, float] = {}
    total = 0.0
    for case, data in waiting:
        if case not in steps:
            steps[case] = _step_seconds(case, data)
        size = train_options(case, Seed(0)).batch_size
        per_epoch = -(-data.train.count // size)
        total += case.epochs * per_epoch * steps[case] * (1 + _FORWARD_SHARE)
    return Forecast(total, len(waiting))


def forecast_simulations(waiting: Sequence[object], time: Callable[[Any], float]) -> Forecast:
    """Cases that are not in the store yet; cases that are equal take equally long."""
    timed: dict[object, float] = {}
    for case in waiting:
        if case not in timed:
            timed[case] = time(case)
    return Forecast(sum(timed[case] for case in waiting), len(waiting), "simulations")


def _step_seconds(case: Case, data: Data) -> float:
    module = start_network(case, data, Seed(0))
    inputs, labels = next(iter(data.train.batches(train_options(case, Seed(0)).batch_size)))
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels)

    def step() -> None:
        nn.functional.cross_entropy(module(x), y).backward()

    step()
    started = time.perf_counter()
    for _ in range(_TIMED):
        step()
    return (time.perf_counter() - started) / _TIMED
