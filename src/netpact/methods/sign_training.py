"""Training a sparse matrix of signs by gradient, under a price for its code length: where the search starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from netpact.core.progress import Progress, Stop
from netpact.core.seed import Seed
from netpact.methods.annealing import bound_of
from netpact.methods.flips import Flips
from netpact.methods.sign_code import SignCode

# Constants of the training. They steer it and appear in no bound.
_BATCH = 500
_FEWEST_STEPS, _MOST_STEPS, _FREE_STEPS = 2400, 16000, 600
_SAMPLES_A_STEP = 4  # large sets of samples are worth a longer training
_RATE = 0.01  # Adam's learning rate, in units of the step between two signs
_FREE_RATE = 0.02  # the same of the plain regression before
_ALONE = 0.5  # the share of the steps in which entries are priced by their number alone, which finds sparse matrices
_REPRICE = 5  # steps between two looks at what entries cost
_JUDGED = 32  # looks at the bound in the second half of a training: single steps differ by whole points
_SHARPNESS = 8.0  # of the smooth count of entries that round to a sign
_SPREAD = 0.5  # standard deviation of the starting entries: about a third of them round to a sign
_TEMPERATURE = 0.05  # of the logits at the start; learned
_TEMPERATURES, _FITTED = [2.0 ** (power / 4) for power in range(-40, 41)], 10_000  # tried, on so many samples
_SHAKE = 0.15  # standard deviation of what is added to signs that are trained again
_SIGN = 0.75  # where they start: half way between a sign and what rounds to zero

Prices = Callable[[int, torch.Tensor], torch.Tensor]
Signs = NDArray[np.int8]


class _Samples(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class _Pace(NamedTuple):
    """How many steps are taken, and who looks on."""

    steps: int
    progress: Progress | None
    stop: Stop | None

    def is_over(self, done: int) -> bool:
        if self.progress is not None:
            self.progress(done, self.steps)
        return self.stop is not None and self.stop()


def train_signs(
    known: Flips,
    start: NDArray[np.float64],
    *,
    rate: float,
    seed: Seed,
    steps: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> NDArray[np.int8]:
    """Signs (classes, features) that lower cross-entropy plus `rate` times the message length, both in nats a sample.

    Entries are rounded to -1, 0 or 1 on the way forward and treated as if they were not on the way back. What an entry
    that is not zero costs is what the code says at this moment, its influence on its neighbours' cost included.

    known  the samples and the code; its signs are not looked at
    steps  of gradient; by default as many as the number of samples is worth
    stop   asked after every step: where it is true, the entries are rounded as they are
    """
    samples = _prepare(known)
    generator = seed.torch()
    steps = steps or _steps(len(samples.y))
    alone = SignCode(start.shape)
    begin = _train_freely(samples, torch.from_numpy(start).float(), generator, stop)
    entries = begin / begin.std().clamp(min=1e-12) * _SPREAD

    def prices(step: int, now: torch.Tensor) -> torch.Tensor:
        return mark_prices(known.code if step >= _ALONE * steps else alone, now)

    pace = _Pace(steps, progress, stop)
    return _train(samples, entries, prices, Best(known), speed=_RATE, rate=rate, generator=generator, pace=pace)


def retrain_signs(
    known: Flips,
    signs: NDArray[np.int8],
    *,
    rate: float,
    seed: Seed,
    steps: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> NDArray[np.int8]:
    """Signs that were found before, shaken and trained again: a way out where no single change helps any more."""
    samples = _prepare(known)
    generator = seed.torch()
    entries = _SIGN * torch.from_numpy(signs).float() + _SHAKE * torch.randn(signs.shape, generator=generator)
    pace = _Pace(max(1, (steps or _steps(len(samples.y))) // 4), progress, stop)
    code = known.code.cheapest(signs)

    def prices(_: int, now: torch.Tensor) -> torch.Tensor:
        return mark_prices(code, now)

    temperature = _fit_temperature(samples, torch.from_numpy(signs).float())
    return _train(
        samples,
        entries,
        prices,
        Best(known),
        temperature=temperature,
        speed=_RATE / 2,
        rate=rate,
        generator=generator,
        pace=pace,
    )


class Best:
    """The signs with the lowest bound among those that were shown."""

    def __init__(self, known: Flips) -> None:
        self._known = known
        self.signs: Signs | None = None
        self.score = math.inf

    def look(self, signs: Signs) -> None:
        score = bound_of(self._known, signs)
        if score < self.score:
            self.signs, self.score = signs, score


def _fit_temperature(samples: _Samples, signs: torch.Tensor) -> float:
    """The one with the least cross-entropy: from a wrong one the first steps would change the signs, not it."""
    logits, y = samples.x[:_FITTED] @ signs.T, samples.y[:_FITTED]
    return min(_TEMPERATURES, key=lambda scale: float(functional.cross_entropy(scale * logits, y)))


def _prepare(known: Flips) -> _Samples:
    """The length of a sample's features changes no prediction of a head without bias, so it is taken out."""
    x = torch.from_numpy(known.features).float()
    x = x / (x.norm(dim=1, keepdim=True) + 1e-12)
    return _Samples(x / x.std().clamp(min=1e-12), torch.from_numpy(known.labels))


def _steps(samples: int) -> int:
    return min(max(samples // _SAMPLES_A_STEP, _FEWEST_STEPS), _MOST_STEPS)


def _train(
    samples: _Samples,
    entries: torch.Tensor,
    prices: Prices,
    best: Best,
    *,
    temperature: float = _TEMPERATURE,
    speed: float,
    rate: float,
    generator: torch.Generator,
    pace: _Pace,
) -> NDArray[np.int8]:
    x, y = samples
    entries = entries.requires_grad_()
    log_scale = torch.tensor(math.log(temperature), requires_grad=True)
    optimizer = torch.optim.Adam([entries, log_scale], lr=speed)
    price = entries.new_zeros(())
    for step in range(pace.steps):
        optimizer.param_groups[0]["lr"] = speed * (1 - step / pace.steps)
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
        over = pace.is_over(step + 1)
        if step + 1 == pace.steps or over or (2 * step > pace.steps and step % max(1, pace.steps // 2 // _JUDGED) == 0):
            best.look(torch.round(entries.detach().clamp(-1, 1)).numpy().astype(np.int8))
        if over:
            break
    assert best.signs is not None, "the last step is always looked at"
    return best.signs


def mark_prices(code: SignCode, entries: torch.Tensor) -> torch.Tensor:
    """For every entry, how many bits a mark with its sign costs more than a zero."""
    values = entries.numpy()
    change = code.all_change_bits(np.round(np.clip(values, -1, 1)).astype(np.int8))
    return torch.from_numpy(np.where(values < 0, change[0], change[2]) - change[1]).float()


def _train_freely(
    samples: _Samples, start: torch.Tensor, generator: torch.Generator, stop: Stop | None
) -> torch.Tensor:
    """Plain logistic regression first: which entries are large then says which to begin with. Rows have mean zero."""
    x, y = samples
    weights = (start - start.mean(dim=0)).requires_grad_()
    optimizer = torch.optim.Adam([weights], lr=_FREE_RATE)
    for step in range(_FREE_STEPS):
        optimizer.param_groups[0]["lr"] = _FREE_RATE * (1 - step / _FREE_STEPS)
        picked = torch.randint(len(y), (min(_BATCH, len(y)),), generator=generator)
        loss = functional.cross_entropy(x[picked] @ weights.T, y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if stop is not None and stop():
            break
    return (weights - weights.mean(dim=0)).detach()
