"""A number of parameters shared out among layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from netpact.core.checks import check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.table import Table
from netpact.datasets import Samples
from netpact.network import Network


class LayerAccuracy(NamedTuple):
    """A fixed product u^T A v of a layer may be off by exp(log_eps) |A|_F |u| |v|, and more with probability eta."""

    log_eps: float
    eta: float


class MeasuredShares(Protocol):
    """How many coefficients each layer gets, none above its cap, by what was measured on the network."""

    def split(self, total: int, *, caps: Sequence[int]) -> tuple[int, ...]: ...

    def count_for_output(self, eps: float, *, delta: float, caps: Sequence[int]) -> tuple[int, ...]:
        """For an accuracy eps of the outputs, but for a probability of delta/2."""

    def count_for_gamma(self, gamma: float, *, delta: float, caps: Sequence[int]) -> tuple[int, ...]:
        """So that no margin above gamma is lost."""

    def accuracies_for_output(self, eps: float, *, delta: float) -> tuple[LayerAccuracy, ...]:
        """What each layer may be off by, for an accuracy eps of the outputs but for a probability of delta/2."""

    def accuracies_for_gamma(self, gamma: float, *, delta: float) -> tuple[LayerAccuracy, ...]:
        """So that no margin above gamma is lost."""


@dataclass(frozen=True)
class MeasuredBudget:
    """measure(network, samples, names of the weight tensors, progress)"""

    name: str
    measure: Callable[[Network, Samples, Sequence[str], Progress | None], MeasuredShares]


MEASURED_BUDGETS: Table[MeasuredBudget] = Table("budget", "netpact.papers.*.budgets")


def samples_to_measure(network: Network, samples: Samples | None, *, of_outputs: bool, instead: str) -> Samples:
    """What cushions are measured on. of_outputs: an accuracy of the outputs is to follow; instead: what needs none."""
    if samples is None:
        raise PactError(
            "cushions are measured on samples, and there are none",
            where="samples",
            hint=f"compress(network, method, samples=data.train), or {instead}",
        )
    if of_outputs and any(layer.kind == "batch_norm" for layer in network.layers):
        raise PactError(
            "an accuracy of the outputs is known for networks without batch norm",
            where=network.name,
            hint="fold it first: netpact.fold_batch_norm(module, data); on the command line --fold",
        )
    return samples


def split_budget(total: int, *, weights: Sequence[float], caps: Sequence[int]) -> tuple[int, ...]:
    """Integers in proportion to the weights, none above its cap, none below 1; they add up to `total`.

    weights  how much each layer asks for, positive
    caps     how many parameters each layer has: more coefficients than that would not pay

    What a capped layer leaves over goes to the others, in the same proportion. If the caps add up to less than `total`,
    every layer gets its cap.
    """
    _check(total, weights, caps)
    waiting = dict(enumerate(weights))
    counts: dict[int, int] = {}
    left = min(total, sum(caps))
    while waiting:
        # Beside the largest of those that are left, again each time: once it is settled, small ones differ too.
        asked = {layer: weight / max(waiting.values()) for layer, weight in waiting.items()}
        rate = left / math.fsum(asked.values())
        few = [layer for layer in asked if rate * asked[layer] < 1]
        full = [layer for layer in asked if rate * asked[layer] >= caps[layer]]
        # Within their limits they take more than there is: the rate will fall, so whoever has too few stays at 1.
        # Otherwise it will rise, and whoever is full stays full.
        taken = math.fsum(min(max(rate * asked[layer], 1), caps[layer]) for layer in asked)
        settled = (few or full) if taken > left else (full or few)
        if not settled:
            counts |= _round_shares(left, asked)
            break
        least = settled is few
        for layer in settled:
            counts[layer] = 1 if least else caps[layer]
            left -= counts[layer]
            del waiting[layer]
    return tuple(counts[layer] for layer in range(len(caps)))


def _round_shares(total: int, asked: dict[int, float]) -> dict[int, int]:
    """Integers that add up to the total: what rounding down leaves over goes to the largest remainders."""
    shares = {layer: total * weight / math.fsum(asked.values()) for layer, weight in asked.items()}
    counts = {layer: math.floor(share) for layer, share in shares.items()}
    missing = total - sum(counts.values())
    for layer in sorted(shares, key=lambda layer: (counts[layer] - shares[layer], layer))[:missing]:
        counts[layer] += 1
    return counts


def _check(total: int, weights: Sequence[float], caps: Sequence[int]) -> None:
    if len(weights) != len(caps):
        raise PactError(f"{len(caps)} layers need as many weights, got {len(weights)}", where="weights")
    for layer, weight in enumerate(weights):
        check_number(weight, where=f"weights, layer {layer}", above=0)
    for layer, cap in enumerate(caps):
        if cap < 1:
            raise PactError(f"a layer has at least one parameter, got {cap}", where=f"caps, layer {layer}")
    if total < len(caps):
        raise PactError(f"{total} parameters for {len(caps)} layers; each needs at least one", where="total")
