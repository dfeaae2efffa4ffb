"""How far a tensor can be off in the Euclidean norm, row by row: operations without weights.

Row i of a tensor is what belongs to index i of its first axis: a sample. Its length e_i bounds

    |row i of any run in the stated precision - row i as computed here|_2 <= e_i

An operation f that is Lipschitz with constant L on rows, and is computed up to rounding errors of norm at most r, gives

    e_out <= L e_in + r

Rounding errors enter additively: unlike the entries' spreads they are not multiplied with |W|, layer after layer, but
with operator norms. Where a call is not covered here NoRuleError says so, and the entries' spreads take over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netpact.algebra.lipschitz import (
    Sides,
    adaptive_pool_constant,
    averaging_norm,
    copying_norm,
    max_pool_constant,
    mixes_samples,
)
from netpact.algebra.outward import norm_up, round_up, round_up_float
from netpact.network.nested import tensors_in
from netpact.network.rounding.length_call import Call, first_of, length_of, size_of
from netpact.network.rounding.pointwise import POINTWISE, describe, overflow_limits
from netpact.network.rounding.sum_rules import AVERAGES
from netpact.network.rounding.tolerance import Constant, NoRuleError, Spread, value_of


def _pointwise(call: Call) -> Tensor:
    """A function of every entry by itself, n entries; what rounding adds is described by Pointwise.

    e_out = m + gamma (of_value (|f(x)| + m) + of_input (|x| + e) + fixed sqrt(n)),   m = slope e + jump sqrt(n)
    """
    x, r = first_of(call), call.rounding
    if any(isinstance(entry, Spread) for entry in tensors_in((call.args[1:], call.kwargs))):
        raise NoRuleError("by another tensor")
    known, length = describe(call.name, call.args, call.kwargs), length_of(x)
    if not known.roundings:
        return round_up(length + call.tiny)
    felt = round_up(size_of(x) + length)
    moved = round_up(known.slope * length + known.jump * call.root)
    reach = known.of_value * (norm_up(call.value) + moved) + known.of_input * felt + known.fixed * call.root
    lost = r.underflow(1) * (felt + (known.fixed + 1) * call.root) + call.tiny
    return r.limit(round_up(moved + r.gamma(known.roundings) * reach + lost), felt, **overflow_limits(known))


def _sum_of_two(call: Call) -> Tensor:
    """A sum or difference: e = e_1 + e_2. An entry that is added in many places counts that many times, by the root."""
    if len(call.args) != 2 or call.kwargs.get("alpha", 1) != 1:
        raise NoRuleError("with named tensors or alpha")
    shape, r = call.value.shape, call.rounding
    total = torch.zeros(shape[0], dtype=torch.float64)
    for part in call.args:
        if isinstance(part, Constant):
            total = total + norm_up(part.spread.expand(shape))
        elif isinstance(part, Spread):
            if part.dim() != len(shape) or part.shape[0] != shape[0]:
                raise NoRuleError("that lines the rows up with another axis")
            total = total + round_up_float(math.sqrt(math.prod(shape) // part.numel())) * length_of(part)
    # Numbers written in the program are rounded before they are added.
    numbers = sum(abs(part) for part in call.args if not isinstance(part, Tensor))
    total = round_up(total + r.gamma(1) * numbers * call.root)
    reach = round_up(norm_up(call.value) + total)
    return r.limit(round_up(total + r.gamma(1) * reach + call.tiny), reach, plus=numbers)


def _join(call: Call) -> Tensor:
    """Joined along an axis, or a new one: e = sqrt(e_1^2 + e_2^2 + ...)."""
    if not call.args:
        raise NoRuleError("with named tensors")
    axis = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else 0)
    rows = len(call.value)
    if axis % call.value.dim() == 0:
        raise NoRuleError("along the rows' axis")
    found = []
    for part in call.args[0]:
        if part.dim() < 1 or len(part) != rows:
            raise NoRuleError("of other rows")
        if isinstance(part, Constant):
            found.append(norm_up(part.spread))
        elif isinstance(part, Spread):
            found.append(length_of(part))
    return norm_up(torch.stack(found, dim=1))


def _move(call: Call) -> Tensor | list[Tensor]:
    """Entries that are moved, copied or dropped: the root of how many copies of one entry there are at most."""
    x = first_of(call)
    shape = tuple(x.shape)
    norms = call.once(shape, lambda: copying_norm(call.repeat, shape))
    if norms is None:
        raise NoRuleError("across rows")
    moved = [round_up(norm * length_of(x)) for norm in norms]
    return moved if isinstance(call.value, (tuple, list)) else moved[0]


def _average(call: Call) -> Tensor:
    """Means or sums of n entries: e_out = |A| (e + gamma_{n+1} (|x| + e))."""
    x, r = first_of(call), call.rounding
    shape = tuple(x.shape)
    norm = call.once(shape[1:], lambda: averaging_norm(call.repeat, shape[1:]))
    if norm is None:
        raise NoRuleError("across rows")
    terms = AVERAGES[call.name][1](value_of(x), call.value)
    felt = round_up(size_of(x) + length_of(x))
    lost = r.underflow(terms + 1) * call.root
    length = round_up(norm * (length_of(x) + r.gamma(terms + 1) * felt) + lost)
    return r.limit(length, felt, gain=terms)


def _max_pool(call: Call) -> Tensor:
    x = first_of(call)
    axes = int(call.name[-2])
    if x.dim() != axes + 2:
        raise NoRuleError("without rows")
    windows = tuple(call.value.shape[-axes:])
    told = dict(zip(("kernel_size", "stride", "padding", "dilation"), call.args[1:], strict=False)) | call.kwargs
    kernel = _sides(told["kernel_size"], windows)
    stride = _sides(told["stride"], windows) if told.get("stride") else kernel
    dilation = _sides(told.get("dilation", 1), windows)
    constant = max_pool_constant(kernel=kernel, stride=stride, dilation=dilation, windows=windows)
    return round_up(constant * length_of(x))


def _sides(value: Any, windows: Sides) -> Sides:
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * len(windows) if len(given) == 1 else given


def _adaptive_max_pool(call: Call) -> Tensor:
    x = first_of(call)
    axes = int(call.name[-2])
    if x.dim() != axes + 2:
        raise NoRuleError("without rows")
    sides, windows = (tuple(image.shape[-axes:]) for image in (x, call.value))
    return round_up(adaptive_pool_constant(sides=sides, windows=windows) * length_of(x))


def _largest(call: Call) -> Tensor:
    """Each entry is looked at once: |max a - max b| <= |a - b|_2 for each group, and the groups have none in common."""
    x = first_of(call)
    shape = tuple(x.shape)
    if call.once(shape[1:], lambda: mixes_samples(call.repeat, shape[1:])):
        raise NoRuleError("across rows")
    return round_up(length_of(x) + call.tiny)


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
            pairs[name] = (combine, _sum_of_two)
    pairs |= {name: (function, _average) for name, (function, _) in AVERAGES.items()}
    pairs |= dict.fromkeys(moves, (None, _move)) | dict.fromkeys(joins, (None, _join))
    pairs |= {f"max_pool{axes}d": (None, _max_pool) for axes in (1, 2, 3)}
    pairs |= {f"adaptive_max_pool{axes}d": (None, _adaptive_max_pool) for axes in (1, 2, 3)}
    return pairs | {"amax": (torch.amax, _largest), "amin": (torch.amin, _largest)}


def _function(name: str) -> Callable[..., Any]:
    """The same function, never in place."""
    found = next(getattr(home, name) for home in (torch, functional, Tensor) if hasattr(home, name))

    def apply(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        kept = {key: value for key, value in kwargs.items() if key != "inplace"}
        return found(x.clone() if name.endswith("_") else x, *args, **kept)

    return apply
