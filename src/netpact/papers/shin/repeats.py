"""Noise drawn several times over, and the accuracy that each draw leaves (Table 1: mean and deviation of ten)."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from netpact.core.checks import check_integer
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.methods import HeavyTail, compress
from netpact.methods.tail_split import TailSplit
from netpact.network import Network
from netpact.training import error_rate

REPEATS = 10  # section 6


@dataclass(frozen=True)
class Repeats:
    """original: the accuracy before compression; accuracies: one for each draw, in the order of the seeds.

    kept, weights  of the tensors that were split: how many entries are kept, and how many there are
    """

    method: str
    original: float
    accuracies: tuple[float, ...]
    kept: int
    weights: int

    @property
    def mean(self) -> float:
        return statistics.fmean(self.accuracies)

    @property
    def std(self) -> float:
        """Of the sample, n - 1 below; 0 for one draw."""
        return statistics.stdev(self.accuracies) if len(self.accuracies) > 1 else 0.0

    @property
    def lost(self) -> float:
        return self.original - self.mean

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "mean": self.mean, "std": self.std}

    @staticmethod
    def read(record: Mapping[str, Any]) -> Repeats:
        known = {name: value for name, value in record.items() if name not in ("mean", "std")}
        return Repeats(**{**known, "accuracies": tuple(known["accuracies"])})

    def __str__(self) -> str:
        after = f"{self.mean:.2%} +- {self.std:.2%} after"
        return f"{self.original:.2%} before, {after}, {self.kept:,} of {self.weights:,} kept"


def repeat_noise(
    network: Network,
    data: Data | Samples,
    method: HeavyTail | None = None,
    *,
    repeats: int = REPEATS,
    rounded: bool = False,
    samples: Samples | None = None,
    progress: Progress | None = None,
) -> Repeats:
    """Compress a network with the seeds method.seed, method.seed + 1, ... and test it each time.

    data     what it is tested on; of Data the test part, or the training part where there is none
    method   default: the recipe of Table 1, HeavyTail()
    rounded  False: kept entries and all other tensors are left as they are, as in the paper; True: what a file holds
    samples  training samples, for thresholds by eps or gamma
    """
    chosen = HeavyTail() if method is None else method
    check_integer(repeats, where="repeats", least=1)
    parts = as_data(data)
    tested = parts.train if parts.test is None else parts.test
    splits = chosen.split(network, samples)
    found = []
    for done in range(repeats):
        seed = chosen.seed + done
        if rounded:
            pact = compress(network, replace(chosen, seed=seed), samples=samples)
            module = put_weights(network.module, {name: tensor.weights() for name, tensor in pact.tensors.items()})
        else:
            module = put_weights(network.module, _draw(splits, seed))
        found.append(_accuracy(module, tested))
        if progress is not None:
            progress(done + 1, repeats)
    return Repeats(
        repr(chosen),
        _accuracy(network.module, tested),
        tuple(found),
        kept=sum(split.kept_count for split in splits.values()),
        weights=sum(split.values.size for split in splits.values()),
    )


def _draw(splits: Mapping[str, TailSplit], seed: int) -> dict[str, Any]:
    return {name: split.with_seed(seed).weights() for name, split in splits.items()}


def put_weights(module: nn.Module, weights: Mapping[str, Any]) -> nn.Module:
    """A copy with other numbers in some of its tensors."""
    other = copy.deepcopy(module)
    own = {**dict(other.named_parameters()), **dict(other.named_buffers())}
    with torch.no_grad():
        for name, values in weights.items():
            own[name].copy_(torch.from_numpy(np.ascontiguousarray(values)))
    return other


def _accuracy(module: nn.Module, samples: Samples) -> float:
    errors, count = error_rate(module, samples)
    return 1 - errors / count
