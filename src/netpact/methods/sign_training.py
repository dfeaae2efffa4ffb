"""Training a sparse matrix of signs by gradient, under a price for its code length: where the search starts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from netpact.core.progress import Progress, Stop
from netpact.core.seed import Seed
from netpact.methods.sign_code import SignCode

# Constants of the training. They steer it and appear in no bound.
_BATCH = 500
_FEWEST_STEPS, _MOST_STEPS, _FREE_STEPS = 2400, 16000, 600
_SAMPLES_A_STEP = 4  # large sets of samples are worth a longer training
_RATE = 0.02  # Adam's learning rate, in units of the step between two signs
_ALONE = 0.5  # the share of the steps in which entries are priced by their number alone, which finds sparse matrices
_REPRICE = 5  # steps between two looks at what entries cost
_SHARPNESS = 8.0  # of the smooth count of entries that round to a sign
_SPREAD = 0.5  # standard deviation of the starting entries: about a third of them round to a sign
_TEMPERATURE = 0.05  # of the logits at the start; learned
_SHAKE = 0.15  # standard deviation of what is added to signs that are trained again
_SIGN = 0.75  # where they start: half way between a sign and what rounds to zero

Prices = Callable[[int, torch.Tensor], torch.Tensor]


def train_signs(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    start: NDArray[np.float64],
    *,
    code: SignCode,
    rate: float,
    seed: Seed,
    steps: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> NDArray[np.int8]:
    """Signs (classes, features) that lower cross-entropy plus `rate` times the message length, both in nats a sample.

    Entries are rounded to -1, 0 or 1 on the way forward and treated as if they were not on the way back. What an entry
    that is not zero costs is what the code says at this moment, its influence on its neighbours' cost included.

    steps  of gradient; by default as many as the number of samples is worth
    stop   asked after every step: where it is true, the entries are rounded as they are
    """
    x, y = _prepare(features, labels)
    generator = seed.torch()
    steps = steps or _steps(len(y))
    classes, width = start.shape
    alone = SignCode((classes, width))
    begin = _train_freely(x, y, torch.from_numpy(start).float(), generator, stop)
    entries = begin / begin.std().clamp(min=1e-12) * _SPREAD

    def prices(step: int, now: torch.Tensor) -> torch.Tensor:
        return _mark_prices(code if step >= _ALONE * steps else alone, now)

    return _train(
        x,
        y,
        entries,
        prices,
        steps=steps,
        speed=_RATE,
        rate=rate,
        generator=generator,
        progress=progress,
        stop=stop,
    )


def retrain_signs(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    signs: NDArray[np.int8],
    *,
    code: SignCode,
    rate: float,
    seed: Seed,
    steps: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> NDArray[np.int8]:
    """Signs that were found before, shaken and trained again: a way out where no single change helps any more."""
    x, y = _prepare(features, labels)
    generator = seed.torch()
    entries = _SIGN * torch.from_numpy(signs).float() + _SHAKE * torch.randn(signs.shape, generator=generator)
    return _train(
        x,
        y,
        entries,
        lambda _, now: _mark_prices(code, now),
        steps=max(1, (steps or _steps(len(y))) // 4),
        speed=_RATE / 2,
        rate=rate,
        generator=generator,
        progress=progress,
        stop=stop,
    )


def _prepare(features: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
    """The length of a sample's features changes no prediction of a head without bias, so it is taken out."""
    x = torch.from_numpy(features)
    x = x / (x.norm(dim=1, keepdim=True) + 1e-12)
    return x / x.std().clamp(min=1e-12), torch.from_numpy(labels)


def _steps(samples: int) -> int:
    return min(max(samples // _SAMPLES_A_STEP, _FEWEST_STEPS), _MOST_STEPS)


def _train(
    x: torch.Tensor,
    y: torch.Tensor,
    entries: torch.Tensor,
    prices: Prices,
    *,
    steps: int,
    speed: float,
    rate: float,
    generator: torch.Generator,
    progress: Progress | None,
    stop: Stop | None,
) -> NDArray[np.int8]:
    entries = entries.requires_grad_()
    log_scale = torch.tensor(math.log(_TEMPERATURE), requires_grad=True)
    optimizer = torch.optim.Adam([entries, log_scale], lr=speed)
    price = entries.new_zeros(())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = speed * (1 - step / steps)
        picked = torch.randint(len(y), (min(_BATCH, len(y)),), generator=generator)
        soft = entries.clamp(-1, 1)
        hard = torch.round(soft)
        if step % _REPRICE == 0:
            price = prices(step, entries.detach())
        bits = (price * torch.sigmoid(_SHARPNESS * (entries.abs() - 0.5))).sum()
        logits = log_scale.exp() * (x[picked] @ (soft + (hard - soft).detach()).T)
        loss = functional.cross_entropy(logits, y[picked]) + rate * math.log(2) * bits / len(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if progress is not None:
            progress(step + 1, steps)
        if stop is not None and stop():
            break
    signs: NDArray[np.int8] = torch.round(entries.detach().clamp(-1, 1)).numpy().astype(np.int8)
    return signs


def _mark_prices(code: SignCode, entries: torch.Tensor) -> torch.Tensor:
    """For every entry, how many bits a mark with its sign costs more than a zero."""
    values = entries.numpy()
    change = code.all_change_bits(np.round(np.clip(values, -1, 1)).astype(np.int8))
    return torch.from_numpy(np.where(values < 0, change[0], change[2]) - change[1]).float()


def _train_freely(
    x: torch.Tensor, y: torch.Tensor, start: torch.Tensor, generator: torch.Generator, stop: Stop | None
) -> torch.Tensor:
    """Plain logistic regression first: which entries are large then says which to begin with. Rows have mean zero."""
    weights = (start - start.mean(dim=0)).requires_grad_()
    optimizer = torch.optim.Adam([weights], lr=_RATE)
    for step in range(_FREE_STEPS):
        optimizer.param_groups[0]["lr"] = _RATE * (1 - step / _FREE_STEPS)
        picked = torch.randint(len(y), (min(_BATCH, len(y)),), generator=generator)
        loss = functional.cross_entropy(x[picked] @ weights.T, y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if stop is not None and stop():
            break
    return (weights - weights.mean(dim=0)).detach()
