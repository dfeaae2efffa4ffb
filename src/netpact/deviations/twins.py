"""A rewritten network and its original, brought to one structure: then they can be compared layer by layer.

Layers that were replaced by several become one again, with the composed map; batch norm that was folded in the file is
folded in the original too. Such a twin has float64 weights that were rounded, so it is another network: how far its
logits are from those of the network that it stands for is bounded by running both.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.algebra.outward import norm_up
from netpact.layers import Factored
from netpact.layers.rewrites import Fold, Step, replace_part
from netpact.network.folding import carry_fold
from netpact.network.rounding.counting import ToleranceRun

TWIN_ARITHMETIC = "float64"


@dataclass(frozen=True)
class Twin:
    """module  the network itself, or one of another structure in its place
    arithmetic  that it is run in
    gap         for a batch of inputs, at least |logits of any run of the network - logits of the twin|_2; None for none
    """

    module: nn.Module
    arithmetic: str
    gap: Callable[[NDArray[np.float32]], torch.Tensor] | None = None


def fold_original(module: nn.Module, steps: Iterable[Step], *, arithmetic: str) -> Twin:
    """The folds that the list of rewrites begins with, made in the original; some may have been made before."""
    folds = list(takewhile(lambda step: isinstance(step.rewrite, Fold), steps))
    twin = copy.deepcopy(module).double().eval()
    before = repr(twin)
    for step in folds:
        twin = carry_fold(twin, step)
    return _stand_in(module, twin, arithmetic) if repr(twin) != before else Twin(module, arithmetic)


def compose_layers(module: nn.Module, *, arithmetic: str) -> Twin:
    """Every factored layer as the one layer that it computes."""
    twin = copy.deepcopy(module).double().eval()
    factored = False
    while part := next((part for part in twin.modules() if isinstance(part, Factored)), None):
        twin, factored = replace_part(twin, part, part.dense()), True
    return _stand_in(module, twin, arithmetic) if factored else Twin(module, arithmetic)


def _stand_in(module: nn.Module, twin: nn.Module, arithmetic: str) -> Twin:
    """Both logits are within their spreads of what is computed here: in real numbers, and in any run."""
    runs = ToleranceRun(module, arithmetic), ToleranceRun(twin, TWIN_ARITHMETIC)

    def gap(inputs: NDArray[np.float32]) -> torch.Tensor:
        one, other = (run(inputs) for run in runs)
        return norm_up((one.values - other.values).abs() + one.spread + other.spread)

    return Twin(twin, TWIN_ARITHMETIC, gap)
