"""Integers and truth values that come from the input: every machine computes the same ones.

They are Spread tensors of another type, without any spread. Real numbers become integers where they are whole for
certain; integers become real numbers again, pick rows of a table, and say what is masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.network.nested import map_tensors
from netpact.network.rounding.products import as_rounded
from netpact.network.rounding.sum_rules import Rule
from netpact.network.rounding.tolerance import (
    SMALLEST_FLOAT32,
    BadSampleError,
    NoRuleError,
    Rounding,
    Spread,
    make_spread,
    spread_of,
    value_of,
)

_EXACT = 1 << 24  # integers up to this are float32 numbers
_CASTS = ("to", "type", "long", "int", "bool", "float", "double", "type_as")
_NAMED = {"long": torch.int64, "int": torch.int32, "bool": torch.bool, "float": torch.float32, "double": torch.float64}

# Operations on integers and truth values alone; what moves entries is allowed as well.
WHOLE = {
    *("eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not"),
    *("__and__", "__or__", "__invert__", "__xor__", "__rand__", "__ror__"),
    *("add", "__add__", "__radd__", "sub", "__sub__", "rsub", "__rsub__", "mul", "__mul__", "__rmul__", "neg"),
    *("sum", "cumsum", "amax", "amin", "clamp", "clamp_min", "clamp_max", "any", "all", "one_hot", "argmax", "argmin"),
    *("zeros_like", "ones_like", "floor_divide", "__floordiv__", "remainder", "__mod__", "tril", "triu"),
}


def is_whole(tensor: object) -> bool:
    return isinstance(tensor, Spread) and not value_of(tensor).is_floating_point()


def spread_argument(tensor: Tensor) -> Tensor:
    """What stands for an argument where an operation is repeated on the spreads: integers stay what they are."""
    plain = value_of(tensor)
    return spread_of(tensor) if plain.is_floating_point() else plain


def follow_whole(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Nothing but integers went in. Real numbers that come out are the same ones everywhere, too."""
    found = func(*map_tensors(args, value_of), **map_tensors(kwargs, value_of))
    return map_tensors(found, lambda tensor: make_spread(tensor, torch.zeros(tensor.shape, dtype=torch.float64)))


def cast_rule(name: str) -> Rule:
    """To another type: real numbers to integers where they are whole, integers to real numbers up to 2^24."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        wanted = _NAMED.get(name) or _wanted(args, kwargs)
        given, s = value_of(x), spread_of(x)
        if wanted is None or (wanted.is_floating_point and given.is_floating_point()):
            if wanted not in (None, torch.float64):
                raise NoRuleError(f"to {wanted}")
            return given, s
        if given.is_floating_point() and not bool(((given == given.round()) & (s <= SMALLEST_FLOAT32)).all()):
            raise NoRuleError("to integers, of numbers that are not whole")
        if wanted.is_floating_point and bool((given.double().abs() > _EXACT).any()):
            raise NoRuleError("to real numbers, of integers beyond 2^24")
        found = given.to(torch.float64 if wanted.is_floating_point else wanted)
        return found, torch.zeros(found.shape, dtype=torch.float64)

    return rule


def _wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype | None:
    for entry in (*args, *kwargs.values()):
        if isinstance(entry, torch.dtype):
            return entry
        if isinstance(entry, Tensor):
            return value_of(entry).dtype
    return None


def embedding_rule(r: Rounding, ids: Tensor, weight: Tensor, *more: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """Rows of a table: nothing is computed. A number that is no row of it is an error of the sample."""
    if named.get("max_norm") is not None or any(entry is not None for entry in more[1:2]):
        raise NoRuleError("with max_norm")
    places, table = value_of(ids), value_of(weight)
    if places.is_floating_point():
        raise NoRuleError("of numbers that are no integers")
    rows = places.flatten(1) if places.dim() > 1 else places[:, None]
    bad = torch.nonzero(((rows < 0) | (rows >= len(table))).any(dim=1))
    if len(bad):
        row = int(bad[0, 0])
        raise BadSampleError(
            f"a token that the table of {len(table)} rows does not have: {places[row].tolist()[:8]}",
            row=row,
            hint="tokens are from 0 to the number of rows - 1",
        )
    return table[places], spread_of(weight)[places]


def masked_fill_rule(r: Rounding, x: Tensor, mask: Tensor, value: Any) -> tuple[Tensor, Tensor]:
    """-inf for certain has no spread: softmax takes it for an entry that is not there."""
    gone = value_of(mask)
    if gone.dtype != torch.bool or isinstance(value, Tensor):
        raise NoRuleError("by a tensor, or where no truth values say")
    number = float(value)
    wide = 0.0 if math.isinf(number) else float(spread_of(as_rounded(r, number, like=x)))
    given, s = value_of(x), spread_of(x)
    return given.masked_fill(gone, number), s.masked_fill(gone, wide)


def where_rule(r: Rounding, condition: Tensor, first: Any, second: Any) -> tuple[Tensor, Tensor]:
    chosen = value_of(condition)
    if chosen.dtype != torch.bool:
        raise NoRuleError("where no truth values say")
    one, other = as_rounded(r, first, like=second), as_rounded(r, second, like=first)
    value = torch.where(chosen, value_of(one), value_of(other))
    return value, torch.where(chosen, spread_of(one), spread_of(other)).expand(value.shape)


def like_rule(number: float) -> Rule:
    def rule(r: Rounding, x: Tensor, **named: Any) -> tuple[Tensor, Tensor]:
        shape = value_of(x).shape
        return torch.full(shape, number, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)

    return rule


CASTS: dict[str, Rule] = {name: cast_rule(name) for name in _CASTS}
PICKS: dict[str, Rule] = {
    "embedding": embedding_rule,
    **dict.fromkeys(("masked_fill", "masked_fill_"), masked_fill_rule),
    "where": where_rule,
    "zeros_like": like_rule(0.0),
    "ones_like": like_rule(1.0),
}
