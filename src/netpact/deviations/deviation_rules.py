"""What each operation does to the bound on the difference of two networks; everything else is refused by name.

Each rule has two parts: how much the operation enlarges a difference that is there, and what the other network's own
rounding adds, which is proportional to its activations: at most those of the network that is run plus the bound. Many
are those of rounding in the Euclidean norm (network/rounding/lipschitz_rules.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.lipschitz import follow_moves
from netpact.algebra.outward import round_up
from netpact.deviations.attention_rules import ATTENTION_RULES
from netpact.deviations.deviation import (
    Deviation,
    Followed,
    LayerTensor,
    OutsideLayerError,
    Walk,
    make_deviation,
    make_parameter,
)
from netpact.deviations.sample_rules import SAMPLE_RULES, product, quotient, same
from netpact.deviations.step import Placed, Step
from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.lipschitz_rules import POOLS, join, pointwise, sum_of_two
from netpact.network.rounding.norms import NORMS
from netpact.network.rounding.pointwise import POINTWISE
from netpact.network.rounding.products import MATRIX_PRODUCTS
from netpact.network.rounding.rules import JOINS, MOVES, PRODUCTS, QUOTIENTS, SUMS
from netpact.network.rounding.tokens import CASTS, PICKS, is_whole
from netpact.network.rounding.tolerance import NoRuleError, Spread, value_of


def apply_rule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", str(func))
    found = [tensor for tensor in tensors_in((args, kwargs)) if isinstance(tensor, Followed)]
    walks = [entry.walk for entry in found if isinstance(entry, Deviation)]
    plain_args, plain_kwargs = map_tensors(args, _plain), map_tensors(kwargs, _plain)
    refused_before = len(walks[0].own.unknown) if walks else 0
    result = func(*plain_args, **plain_kwargs)
    if not any(True for _ in tensors_in(result)):
        return result  # a question such as x.shape
    if (
        not walks
        and name in (*MOVES, "embedding")
        and all(isinstance(entry, LayerTensor) and entry.is_known for entry in found)
    ):
        return _moved(func, args, kwargs, result)
    if not walks:
        raise OutsideLayerError(name)
    walk = walks[0]
    if len(walk.own.unknown) > refused_before:
        return _pack(result, math.inf, walk)
    try:
        held = [entry for entry in found if isinstance(entry, LayerTensor)]
        if held and not (name in _WITH_PARAMETERS and all(entry.is_known for entry in held)):
            raise NoRuleError("by a parameter or buffer outside its layer")
        if is_whole(result):
            return _pack(result, same(Step(func, args, kwargs, result, walk)), walk)
        if name not in _RULES:
            raise NoRuleError("")
        if name not in _OF_MANY and len(found) - len(held) > 1:
            raise NoRuleError("by a tensor that depends on the input")
        if name not in _ALONG_ANY and any(entry.axis for entry in found if isinstance(entry, Deviation)):
            raise NoRuleError("across samples")
        bounds = _RULES[name](Step(func, args, kwargs, result, walk))
    except NoRuleError as reason:
        walk.unknown.append(f"{name} {reason}".strip())
        return _pack(result, math.inf, walk)
    if result is plain_args[0]:  # changed in place, or nothing to do: whoever holds the tensor sees it, and its bound
        args[0].bound = bounds.bound if isinstance(bounds, Placed) else bounds
        return args[0]
    return _pack(result, bounds, walk)


def _moved(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Entries of a parameter in other places: the other network's are in the same ones."""
    if not isinstance(result, Tensor):
        raise NoRuleError("of a parameter in several parts")
    other = func(*map_tensors(args, _other), **map_tensors(kwargs, _other))
    return make_parameter(result, other)


def _other(tensor: Tensor) -> Tensor:
    return tensor.pair()[1] if isinstance(tensor, LayerTensor) else tensor


def _by_number_or_tensor(tensor: Callable[[Step], Tensor]) -> Callable[[Step], Tensor]:
    """By a number of the program, or by another tensor."""

    def rule(step: Step) -> Tensor:
        joined = len(step.args) == 2 and all(isinstance(entry, Tensor) for entry in step.args)
        return tensor(step) if joined else pointwise(step)

    return rule


def _move(step: Step) -> Placed | list[Placed]:
    """Entries that are moved, copied or dropped. The samples may get another axis, if they have it to themselves."""
    x = step.first
    found = follow_moves(step.repeat, tuple(value_of(x.held).shape), x.axis)
    if found is None:
        raise NoRuleError("across samples")
    placed = [Placed(round_up(norm * x.bound), axis) for norm, axis in found]
    return placed if isinstance(step.result, (tuple, list)) else placed[0]


def _stem(step: Step) -> Tensor:
    """Integers from the sample itself: the same in both networks. Of anything else it has no constant."""
    if bool(step.first.bound.any()):
        raise NoRuleError("of anything but the input")
    return step.first.bound.clone()


def _pack(result: Any, bounds: Any, walk: Walk) -> Any:
    if isinstance(result, (tuple, list)):
        each = bounds if isinstance(bounds, list) else [bounds] * len(result)
        return type(result)(_pack(part, bound, walk) for part, bound in zip(result, each, strict=True))
    if not isinstance(result, Spread):
        return result
    if isinstance(bounds, Placed):
        return make_deviation(result, bounds.bound, walk, bounds.axis)
    if not isinstance(bounds, Tensor):
        shape = value_of(result).shape[:1] or (1,)
        bounds = torch.full(shape, bounds, dtype=torch.float64)
    return make_deviation(result, bounds, walk)


def _plain(tensor: Tensor) -> Tensor:
    if isinstance(tensor, Deviation):
        return tensor.held
    return tensor.as_subclass(Tensor) if isinstance(tensor, LayerTensor) else tensor


# May join several tensors that come from the input
_OF_MANY = {*SUMS, *JOINS, *PRODUCTS, *QUOTIENTS, *MATRIX_PRODUCTS, *CASTS, *PICKS, *ATTENTION_RULES}
# May use a parameter outside its layer, where both networks are known
_WITH_PARAMETERS = {*SUMS, *JOINS, *PRODUCTS, *QUOTIENTS, *NORMS, "embedding", *ATTENTION_RULES}
# Know which axis counts the samples; for all others it is the first
_ALONG_ANY = {*MOVES, "multi_head_attention_forward"}

_RULES: dict[str, Callable[[Step], Any]] = {
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(JOINS, join),
    **dict.fromkeys(SUMS, sum_of_two),
    **dict.fromkeys(POINTWISE, pointwise),
    **POOLS,
    **dict.fromkeys(PRODUCTS, _by_number_or_tensor(product)),
    **dict.fromkeys(QUOTIENTS, _by_number_or_tensor(quotient)),
    **SAMPLE_RULES,
    **ATTENTION_RULES,
    "orient": _stem,
    "contour": _stem,
    "sobel": _stem,
    "preprocess": _stem,
}
