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
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.algebra.outward import norm_up
from netpact.core.errors import PactError
from netpact.layers import Factored
from netpact.layers.rewrites import Fold, Step, replace_part
from netpact.network.folding import carry_fold
from netpact.network.rounding.counting import ToleranceRun

TWIN_ARITHMETIC = "float64"
_EXACT_BITS = 52  # one below the mantissa of float64: the sum of magnitudes may be rounded itself
_SMALLEST_UNIT = 2.0**-1000


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


def compose_exactly(module: nn.Module) -> nn.Module:
    """Every factored layer as the one layer that it computes, without any rounding; refused where that takes more bits.

    So a statement about the composed map is the same on every machine. A module without such layers is handed back.
    """
    if not any(isinstance(part, Factored) for part in module.modules()):
        return module
    twin = copy.deepcopy(module).double().eval()
    while factored := [part for part in twin.modules() if isinstance(part, Factored)]:
        part: Any = factored[-1]  # of nested ones the inner one
        if not _is_exact(part.second.weight.detach().flatten(1), part.first.weight.detach().flatten(1)):
            raise PactError(
                f"a product of two factors takes more than {_EXACT_BITS} bits",
                where="compressed",
                hint="compress with fewer bits",
            )
        twin = replace_part(twin, part, part.dense())
    return twin


def _is_exact(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether float64 adds up left @ right without rounding, in every order: all sums are few multiples of one unit."""
    unit = _unit(left) * _unit(right)
    largest = float((left.abs() @ right.abs()).max())
    return largest == 0 or (unit >= _SMALLEST_UNIT and largest < 2.0**_EXACT_BITS * unit)


def _unit(matrix: torch.Tensor) -> float:
    """The largest power of two that all entries are multiples of; 1 for zeros."""
    mantissas, exponents = np.frexp(matrix.numpy()[matrix.numpy() != 0])
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponents - 53).min(initial=1.0))


def _stand_in(module: nn.Module, twin: nn.Module, arithmetic: str) -> Twin:
    """Both logits are within their spreads of what is computed here: in real numbers, and in any run."""
    runs = ToleranceRun(module, arithmetic), ToleranceRun(twin, TWIN_ARITHMETIC)

    def gap(inputs: NDArray[np.float32]) -> torch.Tensor:
        one, other = (run(inputs) for run in runs)
        return norm_up((one.values - other.values).abs() + one.spread + other.spread)

    return Twin(twin, TWIN_ARITHMETIC, gap)
