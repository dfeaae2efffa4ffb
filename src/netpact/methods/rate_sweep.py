"""A last look at single symbols: those that the bound is better off without, or with, are changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from netpact.certificates import risk_bound
from netpact.core.progress import Progress
from netpact.datasets.arrays import rows_in_cache
from netpact.methods.rate_symbols import SoftSymbols
from netpact.training.evaluation import wrong
from netpact.training.memory import Memory

_BATCH = 1000
_FIRST_SHARE = 0.02  # of all symbols, changed at once in the first round
_DELTA = 0.05
_VACUOUS = 0.999  # a bound beyond this hardly moves with single symbols


@dataclass(frozen=True)
class Standing:
    """Where a network stands: its errors on the training samples, the estimated length, and the bound from both."""

    errors: int
    bits: float
    bound: float


def sweep(
    module: nn.Module, symbols: SoftSymbols, data: Memory, *, rate: float, rounds: int, progress: Progress | None = None
) -> Standing:
    """Change single symbols by one, many at once, as long as the bound on the training samples falls.

    What a change would do to the loss is foretold from its gradient g and curvature h over all samples:

        g * change + h * change^2 / 2 + rate * ln 2 / number of samples * difference in bits

    The changes that promise most are made together. Where the bound does not fall they are undone and half as many
    are tried; a single one that failed is left alone until others have succeeded.
    """
    symbols.harden()
    best = measure(module, symbols, data)
    if best.bound > _VACUOUS:
        return best
    most = count = max(1, round(_FIRST_SHARE * symbols.values.numel()))
    change, promise = _look(module, symbols, data, price=rate * math.log(2) / data.count)
    for done in range(1, rounds + 1):
        picked = torch.argsort(promise, stable=True)[:count]
        picked = picked[promise[picked] < 0]
        if not len(picked):
            break
        now = _try(module, symbols, data, picked, change, best)
        if now is not best:
            best, count = now, min(2 * count, most)
            change, promise = _look(module, symbols, data, price=rate * math.log(2) / data.count)
        elif len(picked) == 1:
            promise[picked] = math.inf
        else:
            count = len(picked) // 2
        if progress is not None:
            progress(done, rounds)
    return best


@torch.no_grad()
def _try(
    module: nn.Module, symbols: SoftSymbols, data: Memory, picked: Tensor, change: Tensor, best: Standing
) -> Standing:
    """Make the changes, and undo them if the bound did not fall."""
    symbols.values[picked] += change[picked]
    now = measure(module, symbols, data)
    if now.bound < best.bound:
        return now
    symbols.values[picked] -= change[picked]
    return best


@torch.no_grad()
def measure(module: nn.Module, symbols: SoftSymbols, data: Memory) -> Standing:
    weights, errors = symbols.weights(), 0
    for inputs, labels in _batches(data, rows_in_cache(data.input_shape)):
        errors += int(wrong(functional_call(module, weights, (inputs,)), labels).sum())
    bits = symbols.estimate_bits()
    return Standing(errors, bits, risk_bound(errors=errors, samples=data.count, code_bits=round(bits), delta=_DELTA))


def _look(module: nn.Module, symbols: SoftSymbols, data: Memory, *, price: float) -> tuple[Tensor, Tensor]:
    """For every symbol the better of one up and one down, and what that promises: negative is good.

    The curvature is the mean squared gradient of a single sample (empirical Fisher), estimated from those of batches.
    """
    total, squares = torch.zeros_like(symbols.values), torch.zeros_like(symbols.values)
    for inputs, labels in _batches(data):
        gradient = _gradient(module, symbols, inputs, labels)
        share = len(labels) / data.count
        total += share * gradient
        squares += share * len(labels) * gradient.square()
    symbols.price()
    up, down = symbols.neighbour_bits()
    rises = total + squares / 2 + price * up
    falls = -total + squares / 2 + price * down
    return torch.where(rises < falls, 1.0, -1.0), torch.minimum(rises, falls)


def _gradient(module: nn.Module, symbols: SoftSymbols, inputs: Tensor, labels: Tensor) -> Tensor:
    """Of the mean loss, summed over as many samples at a time as caches hold."""
    size = rows_in_cache(tuple(inputs.shape[1:]))
    total = torch.zeros_like(symbols.values)
    for x, y in zip(inputs.split(size), labels.split(size), strict=True):
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(functional_call(module, symbols.weights(), (x,)), y)
            total += len(y) / len(labels) * torch.autograd.grad(loss, [symbols.values])[0]
    return total


def _batches(data: Memory, size: int = _BATCH) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, data.count, size):
        yield data.pick(slice(start, start + size))
