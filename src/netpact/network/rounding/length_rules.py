"""How far a tensor can be off in the Euclidean norm, row by row: operations without weights.

Row i of a tensor is what belongs to index i of its first axis: a sample. Its length e_i bounds

    |row i of any run in the stated precision - row i as computed here|_2 <= e_i

Rounding errors enter additively: unlike the entries' spreads they are not multiplied with |W|, layer after layer, but
with operator norms (lipschitz_rules.py). Where a call is not covered NoRuleError says so, and the entries' spreads take
over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netpact.algebra.lipschitz import copying_norm
from netpact.algebra.outward import round_up
from netpact.network.nested import tensors_in
from netpact.network.rounding.length_call import Call, first_of, length_of
from netpact.network.rounding.lipschitz_rules import POOLS, join, pointwise, sum_of_two
from netpact.network.rounding.pointwise import POINTWISE
from netpact.network.rounding.sum_rules import AVERAGES
from netpact.network.rounding.tolerance import NoRuleError, Spread


def _pointwise(call: Call) -> Tensor:
    first_of(call)
    if any(isinstance(entry, Spread) for entry in tensors_in((call.args[1:], call.kwargs))):
        raise NoRuleError("by another tensor")
    return pointwise(call)


def _move(call: Call) -> Tensor | list[Tensor]:
    """Entries that are moved, copied or dropped: the root of how many copies of one entry there are at most."""
    x = first_of(call)
    shape = tuple(x.shape)
    norms = call.once(shape, lambda: copying_norm(call.repeat, shape))
    if norms is None:
        raise NoRuleError("across rows")
    moved = [round_up(norm * length_of(x)) for norm in norms]
    return moved if isinstance(call.value, (tuple, list)) else moved[0]


LengthRule = Callable[[Call], "Tensor | list[Tensor]"]
Pair = tuple[Callable[..., Any] | None, LengthRule]


def rules_without_weights(
    *, moves: tuple[str, ...], joins: tuple[str, ...], sums: tuple[tuple[str, ...], ...]
) -> dict[str, Pair]:
    """By the names that rules.py has, too: how the value is computed, and the rule for its length.

    The value's function is None where the operation itself gives it, without changing what it was given.
    """
    pairs: dict[str, Pair] = {name: (_function(name), _pointwise) for name in POINTWISE}
    combines: tuple[Callable[..., Any], ...] = (torch.add, torch.sub, torch.rsub)
    for names, combine in zip(sums, combines, strict=True):
        for name in names:
            pairs[name] = (combine, sum_of_two)
    pairs |= dict.fromkeys(moves, (None, _move)) | dict.fromkeys(joins, (None, join))
    values: dict[str, Callable[..., Any]] = {name: function for name, (function, _) in AVERAGES.items()}
    values |= {"amax": torch.amax, "amin": torch.amin}
    return pairs | {name: (values.get(name), rule) for name, rule in POOLS.items()}


def _function(name: str) -> Callable[..., Any]:
    """The same function, never in place."""
    found = next(getattr(home, name) for home in (torch, functional, Tensor) if hasattr(home, name))

    def apply(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        kept = {key: value for key, value in kwargs.items() if key != "inplace"}
        return found(x.clone() if name.endswith("_") else x, *args, **kept)

    return apply
