"""Which filters are removed: those of the smallest norm (Li et al. 2016), so many, or until few operations are left."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.core.checks import check_choice, check_integer, check_number
from netpact.core.errors import PactError
from netpact.methods.choices import take_one
from netpact.network.channels import STAYS, Channels, probe_inputs
from netpact.network.flops import run_sample
from netpact.network.narrowing import Kept, chosen

GLOBAL, BY_LAYER = "global", "layer"
SCOPES = (GLOBAL, BY_LAYER)
NORMS = ("l1", "l2")
_DEFAULT_KEEP = 0.5

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class FilterChoice:
    """keep      the share of the filters that is kept, of those that can be removed; by default a half
    flops     instead of it: the share of floating-point operations that is left, at most
    scope     "layer": the same share of every layer; "global": filters of all layers are compared
    norm      "l1" or "l2" of a filter, divided by that of a filter of ones
    multiple  of which the number of filters that are left is one, in each group; a smaller group stays
    """

    keep: float | None = None
    flops: float | None = None
    scope: str = BY_LAYER
    norm: str = NORMS[0]
    multiple: int = 1

    def __post_init__(self) -> None:
        take_one(self, ("keep", "flops"), default=("keep", _DEFAULT_KEEP))
        for name in ("keep", "flops"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=1)
        check_choice(self.scope, SCOPES, where="scope")
        check_choice(self.norm, NORMS, where="norm")
        check_integer(self.multiple, where="multiple", least=1)

    def choose(self, module: nn.Module, channels: Channels, input_shape: tuple[int, ...]) -> Kept:
        """Whether each unit is kept. Of every group at least one is."""
        if not channels.count:
            told = "\n  ".join(f"{name or 'the module itself'}: {why}" for name, why in channels.reasons.items())
            raise PactError(f"no filter can be removed:\n  {told}", where=type(module).__name__)
        scores = score_units(module, channels, norm=self.norm)
        order, cuts = self._order(channels, scores)
        if self.flops is not None:
            return self._for_flops(self.flops, order, cuts, FlopCount.of(module, channels, input_shape))
        assert self.keep is not None
        if self.scope == GLOBAL:
            removed = channels.count - round(self.keep * channels.count)
            return _without(channels, order[: cuts[np.argmin(np.abs(cuts - removed))]])
        kept = np.ones(channels.count, dtype=np.bool_)
        for units in channels.groups.values():
            count = min(len(units), self.multiple * max(1, round(self.keep * len(units) / self.multiple)))
            kept[units[np.argsort(scores[units], kind="stable")[: len(units) - count]]] = False
        return kept

    def _order(self, channels: Channels, scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The units in the order in which they are removed, in portions that leave a multiple and never nothing; and
        how many units the first portions have together."""
        rows = []
        for group, units in enumerate(channels.groups.values()):
            ranked, left = units[np.argsort(scores[units], kind="stable")], np.arange(len(units))[::-1]
            left = left // self.multiple * self.multiple  # when the portion of this unit is gone
            ends = len(units) - 1 - left
            keys = (ends + 1) / len(units) if self.scope == BY_LAYER else scores[ranked[ends]]
            rows += [
                (float(key), group, int(end), int(unit))
                for key, end, unit, rest in zip(keys, ends, ranked, left, strict=True)
                if rest
            ]
        rows.sort(key=lambda row: row[:3])
        order = np.array([row[3] for row in rows], dtype=np.int64)
        portions = [row[1:3] for row in rows]
        cuts = [place for place in range(1, len(rows)) if portions[place] != portions[place - 1]]
        return order, np.array([0, *cuts, len(rows)], dtype=np.int64)

    def _for_flops(self, share: float, order: NDArray[np.int64], cuts: NDArray[np.int64], count: FlopCount) -> Kept:
        """The fewest removals that leave no more than this share; each one removes operations: found by bisection."""
        least = count.left(_without(count.channels, order)) / count.total if count.total else 1.0
        if least > share:
            raise PactError(
                f"{share:.4g} of the operations cannot be reached: with the fewest filters in each layer "
                f"{least:.4g} of them are left",
                where="flops",
            )
        low, high = -1, len(cuts) - 1
        while high - low > 1:
            middle = (low + high) // 2
            enough = count.left(_without(count.channels, order[: cuts[middle]])) <= share * count.total
            low, high = (low, middle) if enough else (middle, high)
        return _without(count.channels, order[: cuts[high]])


def score_units(module: nn.Module, channels: Channels, *, norm: str) -> Scores:
    """The mean magnitude (l1), or root mean square (l2), of all weights of the filters that make up each unit.

    Within one layer this orders filters as their norms do; between layers it does not depend on their sizes.
    """
    sums, counts = np.zeros(channels.count), np.zeros(channels.count)
    for name, layer in channels.layers.items():
        if not layer.is_filter:
            continue
        weight = module.get_submodule(name).get_parameter("weight").detach().double().flatten(1)
        rows = (weight.abs() if norm == NORMS[0] else weight.square()).sum(dim=1).numpy()
        mine = layer.outputs != STAYS
        np.add.at(sums, layer.outputs[mine], rows[mine])
        np.add.at(counts, layer.outputs[mine], weight.shape[1])
    means = sums / np.maximum(counts, 1)
    return means if norm == NORMS[0] else np.sqrt(means)


@dataclass(frozen=True, eq=False)
class FlopCount:
    """Operations of one sample by layer, and how many a network with fewer channels has."""

    by_layer: Mapping[str, int]
    total: int
    channels: Channels

    @classmethod
    def of(cls, module: nn.Module, channels: Channels, input_shape: tuple[int, ...]) -> FlopCount:
        twin = copy.deepcopy(module).eval()
        owners = {name: twin.get_submodule(name) for name in channels.layers}
        run = run_sample(twin, owners, probe_inputs(input_shape, count=1).to(next(twin.parameters()).dtype))
        if run.failure:
            raise PactError(f"the network does not run on one sample: {run.failure}", where=type(module).__name__)
        return cls({name: run.flops[name] for name in channels.layers}, run.total, channels)

    def left(self, kept: Kept) -> float:
        """Of a product or a convolution in proportion to outputs times inputs."""
        removed = 0.0
        for name, layer in self.channels.layers.items():
            outputs, inputs = chosen(layer, kept)
            share = len(outputs) / len(layer.outputs) * (len(inputs) / len(layer.inputs) if layer.is_filter else 1.0)
            removed += self.by_layer[name] * (1 - share)
        return self.total - removed


def _without(channels: Channels, removed: NDArray[np.int64]) -> Kept:
    kept = np.ones(channels.count, dtype=np.bool_)
    kept[removed] = False
    return kept
