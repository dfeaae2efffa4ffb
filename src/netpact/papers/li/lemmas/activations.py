"""Two networks of one structure, run side by side: how far apart they are at the input of every weight layer."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from netpact.datasets import Samples
from netpact.measurements.quantity import MOST, Numbers, divide
from netpact.measurements.streaming import norms_of

_BATCH = 128


@dataclass(frozen=True, eq=False)
class Activations:
    """For each layer, at the input X of the next one, or at the logits; over the samples.

    errors  the most |X - X^| / |X|
    least   the least |X|
    places  how many numbers a channel, or unit, of the layer's output has
    norms   |f| of every sample
    """

    errors: tuple[float, ...]
    least: tuple[float, ...]
    places: tuple[int, ...]
    norms: Numbers


@torch.no_grad()
def compare_activations(module: nn.Module, other: nn.Module, names: Sequence[str], samples: Samples) -> Activations:
    """Both in float64. names: of the weight layers, in the order they run."""
    runs = [_Inputs(copy.deepcopy(one).double().eval(), names) for one in (module, other)]
    errors, least, norms = np.zeros(len(names)), np.full(len(names), np.inf), []
    for inputs, _ in samples.batches(_BATCH):
        first, second = (run(torch.from_numpy(inputs).double()) for run in runs)
        for place, (one, two) in enumerate(zip(first[1:], second[1:], strict=True)):
            size = norms_of(one).numpy()
            errors[place] = max(errors[place], divide(norms_of(one - two).numpy(), size, side=MOST).max())
            least[place] = min(least[place], size.min())
        norms.append(norms_of(first[-1]).numpy())
    places = tuple(runs[0].places[name] for name in names)
    return Activations(tuple(errors.tolist()), tuple(least.tolist()), places, np.concatenate(norms))


class _Inputs:
    """What the named layers receive in one run, in their order, and the logits."""

    def __init__(self, module: nn.Module, names: Sequence[str]) -> None:
        self._module, self._names, self._seen = module, names, dict[str, Tensor]()
        self.places: dict[str, int] = {}
        for name in names:
            module.get_submodule(name).register_forward_hook(
                lambda _, given, made, name=name: self._look(name, given[0], made)
            )

    def _look(self, name: str, received: Tensor, made: Tensor) -> None:
        self._seen[name] = received
        channels = made.shape[1] if made.dim() == 4 else made.shape[-1]
        self.places[name] = made[0].numel() // channels

    def __call__(self, inputs: Tensor) -> list[Tensor]:
        logits = self._module(inputs)
        return [*(self._seen[name] for name in self._names), logits]
