"""Pick-to-Learn: train on few samples, chosen round after round as those that the network so far does worst on."""

from __future__ import annotations

import copy
import itertools
import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.core.seed import Seed
from netpact.datasets import Samples
from netpact.training.memory import Memory, gather

_BLOCK = 2_000
_BATCH = 128


@dataclass(frozen=True, eq=False)
class Picked:
    """The network, which samples it was trained on in the order of picking, and its errors on all the others."""

    module: nn.Module
    kept: tuple[int, ...]
    errors_left: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class PickOptions:
    """quota: samples picked in a round; steps: of Adam after each round; most: stop when so many are picked."""

    quota: int
    steps: int
    most: int
    learning_rate: float


def pick_to_learn(
    module: nn.Module, samples: Samples, options: PickOptions, *, seed: Seed, base: Samples | None = None
) -> Picked:
    """Add the worst samples to the training set until none of the others is wrong (Paccagnan et al. 2023, Algorithm 1).

    Each round takes those of the wrong samples that have the lowest margins, `quota` of them or all, and goes on
    training on everything picked so far. The network of a round depends on the samples through the picked ones alone,
    so the same rounds on any set between the picked samples and all samples pick the same ones: that is the preference
    property which the bound needs. (Rounding is taken to be the same for a sample whichever others are there.)

    base  samples that the start network has seen; half of every batch comes from them, and the bound is not about them
    """
    data, known = gather(samples), None if base is None else gather(base)
    trainee = copy.deepcopy(module).eval()
    optimizer = torch.optim.Adam(trainee.parameters(), lr=options.learning_rate)
    picked = torch.zeros(0, dtype=torch.int64)
    started = time.perf_counter()
    for round_number in itertools.count():
        margins = _margins(trainee, data)
        margins[picked] = torch.inf
        wrong = int((margins <= 0).sum())
        quota = min(options.quota, wrong, options.most - len(picked))
        if quota == 0:
            break
        picked = torch.cat([picked, torch.argsort(margins, stable=True)[:quota]])
        generator = seed.child("round", round_number).torch()
        for _ in range(options.steps):
            inputs, labels = _batch(data, picked, known, generator)
            loss = nn.functional.cross_entropy(trainee(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Picked(trainee, tuple(picked.tolist()), wrong, time.perf_counter() - started)


def _batch(data: Memory, picked: Tensor, known: Memory | None, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    size = _BATCH if known is None else _BATCH // 2
    inputs, labels = data.pick(picked[torch.randint(len(picked), (size,), generator=generator)])
    if known is None:
        return inputs, labels
    more, more_labels = known.pick(torch.randint(known.count, (size,), generator=generator))
    return torch.cat([inputs, more]), torch.cat([labels, more_labels])


@torch.no_grad()
def _margins(trainee: nn.Module, data: Memory) -> Tensor:
    parts = []
    for places in torch.arange(data.count).split(_BLOCK):
        inputs, labels = data.pick(places)
        logits, column = trainee(inputs), labels[:, None]
        others = logits.scatter(1, column, float("-inf")).amax(dim=1)
        parts.append(logits.gather(1, column)[:, 0] - others)
    return torch.cat(parts)
