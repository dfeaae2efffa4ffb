"""A rewritten network and its original, brought to one structure: then they can be compared layer by layer.

Layers that were replaced by several become one again, with the composed map; batch norm that was folded in the file is
folded in the original too; channels that were removed are there again, as zeros. Such a twin has float64 weights that
were rounded, so it is another network: how far its logits are from those of the network that it stands for is bounded
by running both.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.algebra.outward import norm_up
from netpact.algebra.units import unit_exponent
from netpact.core.errors import PactError
from netpact.deviations.removed_channels import restore_channels
from netpact.layers import Chain
from netpact.layers.rewrites import Fold, Step, replace_part
from netpact.network.folding import carry_fold
from netpact.network.rounding.counting import ToleranceRun

TWIN_ARITHMETIC = "float64"
_EXACT_BITS = 52  # one below the mantissa of float64: the sum of magnitudes may be rounded itself
_MOST_EXPONENT = 900  # of a unit, of either sign


@dataclass(frozen=True)
class Twin:
    """module  the network itself, or one of another structure in its place
    arithmetic  that it is run in
    gap         for a batch of inputs, at least |logits of any run of the network - logits of the twin|_2; None for none
    """

    module: nn.Module
    arithmetic: str
    gap: Callable[[NDArray[np.float32]], torch.Tensor] | None = None


def prepare_original(module: nn.Module, steps: Iterable[Step], *, arithmetic: str) -> Twin:
    """The folds that the list of rewrites begins with, made in the original, and its chains composed.

    Some folds may have been made before.
    """
    folds = list(takewhile(lambda step: isinstance(step.rewrite, Fold), steps))
    twin = copy.deepcopy(module).double().eval()
    before = repr(twin)
    for step in folds:
        twin = carry_fold(twin, step)
    twin = _compose(twin)
    return _stand_in(module, twin, arithmetic) if repr(twin) != before else Twin(module, arithmetic)


def compose_layers(
    module: nn.Module, *, arithmetic: str, like: nn.Module | None = None, input_shape: tuple[int, ...] = ()
) -> Twin:
    """Every chain of layers as the one layer that it computes, and channels that are missing as channels of zeros.

    like  the network that it is compared with, which has those channels
    """
    twin = _compose(copy.deepcopy(module).double().eval()) if _chains(module) else module
    wide = None if like is None else restore_channels(twin, like, input_shape)
    if wide is None and twin is module:
        return Twin(module, arithmetic)
    return _stand_in(module, twin if wide is None else wide, arithmetic)


def _chains(module: nn.Module) -> list[Chain]:
    """The last one has none within it."""
    return [part for part in module.modules() if isinstance(part, Chain)]


def _compose(twin: nn.Module) -> nn.Module:
    while chains := _chains(twin):
        twin = replace_part(twin, chains[-1], chains[-1].dense())
    return twin


def compose_exactly(module: nn.Module, original: nn.Module | None = None) -> nn.Module:
    """Every chain as the one layer that it computes, without any rounding; refused where that takes more bits.

    So a statement about the composed map is the same on every machine. Where the original has a chain too the chain
    stays: two of one structure are compared factor by factor. A module with nothing to compose is handed back.
    """
    kept = set() if original is None else {name for name, part in original.named_modules() if isinstance(part, Chain)}

    def to_compose(found: nn.Module) -> list[Chain]:
        named = found.named_modules()
        return [part for name, part in named if isinstance(part, Chain) and name not in kept]

    if not to_compose(module):
        return module
    twin = copy.deepcopy(module).double().eval()
    while chains := to_compose(twin):
        if not _is_exact(chains[-1]):
            raise PactError(
                f"a product of factors takes more than {_EXACT_BITS} bits",
                where="compressed",
                hint="compress with fewer bits",
            )
        twin = replace_part(twin, chains[-1], chains[-1].dense())
    return twin


def _is_exact(chain: Chain) -> bool:
    """Whether float64 composes the factors without rounding, in every order: all sums are few multiples of one unit.

    The composed weight is a sum of products of one entry of each factor. Products and sums of some factors are exact as
    well: each is multiplied by at least one unit of the others, or by nothing but zeros.
    """
    units = [unit_exponent(factor.detach().numpy()) for factor in chain.parameters() if factor.dim() >= 2]
    exponents = [unit for unit in units if unit is not None]
    if len(exponents) < len(units):
        return True  # a factor of zeros
    # No product of some of the units leaves the range of float64.
    if any(sum(unit * sign for unit in exponents if unit * sign > 0) > _MOST_EXPONENT for sign in (-1, 1)):
        return False
    largest = float(_magnitudes(chain).dense().weight.detach().max())
    return largest < math.ldexp(1.0, _EXACT_BITS + sum(exponents))


@torch.no_grad()
def _magnitudes(chain: Chain) -> Chain:
    found = copy.deepcopy(chain)
    for parameter in found.parameters():
        parameter.abs_()
    return found


def _stand_in(module: nn.Module, twin: nn.Module, arithmetic: str) -> Twin:
    """Both logits are within their spreads of what is computed here: in real numbers, and in any run."""
    runs = ToleranceRun(module, arithmetic), ToleranceRun(twin, TWIN_ARITHMETIC)

    def gap(inputs: NDArray[np.float32]) -> torch.Tensor:
        one, other = (run(inputs) for run in runs)
        return norm_up((one.values - other.values).abs() + one.spread + other.spread)

    return Twin(twin, TWIN_ARITHMETIC, gap)
