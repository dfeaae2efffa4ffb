"""A second rounding bound, in the Euclidean norm: beside the entries' spreads, or in their place.

Spreads are multiplied with |W| from layer to layer, lengths with operator norms, which are far smaller: a residual
network of 20 layers is hopeless for the one and easy for the other in float64. Of each entry the smaller counts:

    spread <= length of its row,    length <= norm of the row's spreads

While lengths are followed alone, an operation that has no rule for them is followed entry by entry, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.outward import norm_up, round_up
from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.convolving import Convolver
from netpact.network.rounding.layer_lengths import LAYER_LENGTHS
from netpact.network.rounding.length_call import Call, length_of
from netpact.network.rounding.length_rules import rules_without_weights
from netpact.network.rounding.norm_lengths import NORM_LENGTHS
from netpact.network.rounding.rules import ADDITIONS, JOINS, MOVES, REVERSED, SUBTRACTIONS, apply_rule, is_covered
from netpact.network.rounding.tokens import is_whole
from netpact.network.rounding.tolerance import Constant, NoRuleError, Rounding, Spread, make_spread, value_of

_RULES = rules_without_weights(moves=MOVES, joins=JOINS, sums=(ADDITIONS, SUBTRACTIONS, REVERSED)) | {
    name: (None, rule) for name, rule in (LAYER_LENGTHS | NORM_LENGTHS).items()
}
_HALVED = {"relu", "relu_"}  # cut off at 0: what is certainly below is 0 on every machine
_CUT_IN_PLACE = {"relu", "relu_", "relu6", "hardtanh"}


def follow(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], run: Rounding) -> Any:
    """apply_rule, with lengths."""
    assert run.lengths is not None
    name = getattr(func, "__name__", str(func))
    if _changes_its_tensor(name, kwargs):
        run.lengths.changes += 1
    if any(map(is_whole, tensors_in((args, kwargs)))):
        return _with_lengths(apply_rule(func, args, kwargs, run))
    if run.lengths.alone and name in _RULES:
        try:
            return _follow_lengths(name, func, args, kwargs, run)
        except NoRuleError:
            pass  # entry by entry, which may refuse it
    cut = _sure_zeros(args[0]) if name in _HALVED and args and isinstance(args[0], Spread) else None
    result = apply_rule(func, args, kwargs, run)
    found = [part for part in tensors_in(result) if isinstance(part, Spread)]
    if found:
        if cut is not None:
            found[0].spread = torch.minimum(found[0].spread, cut)
        _attach(name, func, args, kwargs, (found, result, run))
    return result


def _with_lengths(result: Any) -> Any:
    """What integers had a part in has the lengths that its spreads have."""
    for part in tensors_in(result):
        if isinstance(part, Spread) and part.dim() and not isinstance(part, Constant):
            _tighten(part, None)
    return result


def _changes_its_tensor(name: str, kwargs: dict[str, Any]) -> bool:
    return (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") or bool(kwargs.get("inplace"))


def _sure_zeros(x: Spread) -> Tensor:
    """What is left of an entry's spread behind max(x, 0): nothing where the entry is certainly below 0.

    v + s >= 0 > v:  the result is between 0 and v + s, and computed as 0
    """
    return round_up((value_of(x) + x.spread).clamp(min=0))


def _follow_lengths(
    name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], run: Rounding
) -> Any:
    """Without spreads. Tensors whose spreads are known entry by entry keep them where entries only move."""
    given = [tensor for tensor in tensors_in((args, kwargs)) if isinstance(tensor, Spread)]
    moves = name in MOVES or name in JOINS
    if not is_covered(name, args, kwargs) or (moves and any(tensor.has_spread for tensor in given)):
        raise NoRuleError("")
    if not args or not isinstance(args[0], (Tensor, tuple, list)):
        raise NoRuleError("of a number")
    compute, rule = _RULES[name]
    plain_args, plain_kwargs = map_tensors(args, value_of), map_tensors(kwargs, value_of)
    in_place = name in _CUT_IN_PLACE and _changes_its_tensor(name, kwargs)
    if name == "conv2d":
        assert run.lengths is not None
        compute = run.lengths.norms.setdefault(Convolver, Convolver())
    value = (compute or func)(*plain_args, **plain_kwargs)
    if not all(part.dim() and part.numel() for part in tensors_in(value)):
        raise NoRuleError("without rows")
    call = Call(func, args, kwargs, value, run)
    length = rule(call)
    if isinstance(value, (tuple, list)):
        return type(value)(make_spread(part, None, bound) for part, bound in zip(value, length, strict=True))
    assert isinstance(length, Tensor)
    if in_place:
        return _change(given[0], value, length, most=round_up(length_of(given[0]) + call.tiny))
    result = make_spread(value, call.spread, length)
    result.sums = call.sums
    return result


def _change(x: Spread, value: Tensor, length: Tensor, *, most: Tensor) -> Spread:
    """Whoever holds the tensor sees the change. A view's length stays what it was: it cannot have grown."""
    if x.has_spread or bool((length > most).any()):
        raise NoRuleError("in place")
    value_of(x).copy_(value)
    x.length, x.sums = length, None
    return x


def _attach(name: str, func: Any, args: Any, kwargs: Any, outcome: tuple[list[Spread], Any, Rounding]) -> None:
    """Lengths for what has spreads; of both the smaller."""
    found, result, run = outcome
    values = map_tensors(result, value_of)
    lengths: Any = None
    sums = None
    if name in _RULES and all(part.dim() and part.numel() for part in found):
        call = Call(func, args, kwargs, values, run)
        try:
            lengths, sums = _RULES[name][1](call), call.sums
            if call.spread is not None:
                found[0].spread = torch.minimum(_at_most(found[0].spread), _at_most(call.spread))
        except NoRuleError:
            lengths = None
    each = lengths if isinstance(lengths, list) else [lengths] * len(found)
    for part, length in zip(found, each, strict=True):
        if isinstance(part, Constant) or not part.dim():
            continue
        _tighten(part, length)
        part.sums = sums


def _tighten(part: Spread, length: Tensor | None) -> None:
    own = norm_up(part.spread) if part.numel() else torch.zeros(len(part), dtype=torch.float64)
    if length is not None:
        own = torch.minimum(_at_most(own), _at_most(length))
        part.spread = torch.minimum(_at_most(part.spread), own.view(-1, *(1,) * (part.dim() - 1)))
    part.length = own


def _at_most(bound: Tensor) -> Tensor:
    """Infinity less infinity, or times zero, bounds nothing."""
    return bound.nan_to_num(nan=torch.inf, posinf=torch.inf)
