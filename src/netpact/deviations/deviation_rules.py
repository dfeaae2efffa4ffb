"""What each operation does to the bound on the difference of two networks; everything else is refused by name.

Each rule has two parts: how much the operation enlarges a difference that is there, and what the other network's own
rounding adds, which is proportional to its activations: at most those of the network that is run plus the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.lipschitz import (
    Sides,
    adaptive_pool_constant,
    averaging_norm,
    follow_moves,
    max_pool_constant,
    mixes_samples,
)
from netpact.algebra.outward import norm_up, round_up
from netpact.deviations.attention_rules import ATTENTION_RULES
from netpact.deviations.deviation import (
    Deviation,
    Followed,
    LayerTensor,
    OutsideLayerError,
    Walk,
    make_deviation,
    make_parameter,
    size_of,
)
from netpact.deviations.sample_rules import SAMPLE_RULES, operand, product, quotient, same
from netpact.deviations.step import Placed, Step, as_deviation
from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.norms import NORMS
from netpact.network.rounding.pointwise import POINTWISE, describe, overflow_limits
from netpact.network.rounding.products import MATRIX_PRODUCTS
from netpact.network.rounding.rules import JOINS, MOVES, PRODUCTS, QUOTIENTS, SUMS
from netpact.network.rounding.sum_rules import AVERAGES
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
        return tensor(step) if joined else _pointwise(step)

    return rule


def _pointwise(step: Step) -> Tensor:
    """A function of every entry by itself, n entries; what rounding adds is described by Pointwise.

    e_out = m + gamma (of_value (|f(h)| + m) + of_input (|h| + e) + fixed sqrt(n)),   m = slope e + jump sqrt(n)
    """
    known = describe(step.func.__name__, step.args, step.kwargs)
    other, x = step.walk.other, step.first
    felt = round_up(size_of(x.held) + x.bound)
    moved = round_up(known.slope * x.bound + known.jump * step.root)
    reach = known.of_value * (size_of(step.result) + moved) + known.of_input * felt + known.fixed * step.root
    tiny = other.underflow(1) * (felt + (known.fixed + 1) * step.root)
    bound = round_up(moved + other.gamma(known.roundings) * reach + tiny)
    return bound if not known.roundings else other.limit(bound, felt, **overflow_limits(known))


def _add(step: Step) -> Tensor:
    """A sum or difference: e = e_1 + e_2. An entry that is added in many places counts that many times, by the root."""
    if len(step.args) != 2:
        raise NoRuleError("with named tensors")
    shape = value_of(step.result).shape
    total = torch.zeros(shape[0], dtype=torch.float64)
    for part in step.args:
        if isinstance(part, (int, float)):
            continue
        if isinstance(part, LayerTensor):
            known = operand(step, part)
            total = total + step.copies(known.size[0].numel()) * known.bound
            continue
        x = as_deviation(part)
        own = value_of(x.held).shape
        if len(own) != len(shape) or own[0] != shape[0]:
            raise NoRuleError("that lines the samples up with another axis")
        total = total + step.copies(math.prod(own[1:])) * x.bound
    # Numbers written in the program are rounded before they are added.
    numbers = sum(abs(part) for part in step.args if isinstance(part, (int, float)))
    fixed = step.walk.other.gamma(1) * numbers * step.root
    total = round_up(total + fixed)
    reach = size_of(step.result) + total
    bound = step.picked(round_up(total + step.walk.other.gamma(1) * reach))
    return step.walk.other.limit(bound, reach, plus=numbers)


def _join(step: Step) -> Tensor:
    """Joined along an axis, or a new one: e = sqrt(e_1^2 + e_2^2 + ...)."""
    if not step.args:
        raise NoRuleError("with named tensors")
    tensors = step.args[0]
    axis = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else 0)
    if axis % value_of(step.result).dim() == 0:
        raise NoRuleError("along the samples' axis")
    return norm_up(torch.stack([_joined(step, tensor) for tensor in tensors], dim=1))


def _joined(step: Step, tensor: Any) -> Tensor:
    return operand(step, tensor).bound if isinstance(tensor, LayerTensor) else as_deviation(tensor).bound


def _move(step: Step) -> Placed | list[Placed]:
    """Entries that are moved, copied or dropped. The samples may get another axis, if they have it to themselves."""
    x = step.first
    found = follow_moves(step.repeat, tuple(value_of(x.held).shape), x.axis)
    if found is None:
        raise NoRuleError("across samples")
    placed = [Placed(round_up(norm * x.bound), axis) for norm, axis in found]
    return placed if isinstance(step.result, (tuple, list)) else placed[0]


def _average(terms_of: Callable[[Tensor, Tensor], int]) -> Callable[[Step], Tensor]:
    """Means or sums of n entries: e_out = |A| (e + gamma_{n+1} (|h| + e))."""

    def rule(step: Step) -> Tensor:
        x, values = step.first, value_of(step.first.held)
        norm = averaging_norm(step.repeat, tuple(values.shape[1:]))
        if norm is None:
            raise NoRuleError("across samples")
        terms = terms_of(values, value_of(step.result))
        felt = round_up(size_of(x.held) + x.bound)
        tiny = step.walk.other.underflow(terms) * step.root
        bound = round_up(norm * (x.bound + step.walk.other.gamma(terms + 1) * felt) + tiny)
        return step.walk.other.limit(bound, felt, gain=terms)

    return rule


def _max_pool(axes: int) -> Callable[[Step], Tensor]:
    def rule(step: Step) -> Tensor:
        windows = tuple(value_of(step.result).shape[-axes:])
        call = dict(zip(("kernel_size", "stride", "padding", "dilation"), step.args[1:], strict=False)) | step.kwargs
        kernel = _sides(call["kernel_size"], windows)
        stride = _sides(call["stride"], windows) if call.get("stride") else kernel
        dilation = _sides(call.get("dilation", 1), windows)
        constant = max_pool_constant(kernel=kernel, stride=stride, dilation=dilation, windows=windows)
        return step.picked(constant * step.first.bound)

    return rule


def _sides(value: Any, windows: Sides) -> Sides:
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * len(windows) if len(given) == 1 else given


def _adaptive_max_pool(axes: int) -> Callable[[Step], Tensor]:
    def rule(step: Step) -> Tensor:
        sides, windows = (tuple(value_of(image).shape[-axes:]) for image in (step.first.held, step.result))
        return step.picked(adaptive_pool_constant(sides=sides, windows=windows) * step.first.bound)

    return rule


def _largest(step: Step) -> Tensor:
    """Each entry is looked at once: |max a - max b| <= |a - b|_2 for each group, and the groups have none in common."""
    if mixes_samples(step.repeat, tuple(value_of(step.first.held).shape[1:])):
        raise NoRuleError("across samples")
    return step.picked(step.first.bound)


def _orient(step: Step) -> Tensor:
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
    **dict.fromkeys(JOINS, _join),
    **dict.fromkeys(SUMS, _add),
    **{name: _average(terms_of) for name, (_, terms_of) in AVERAGES.items()},
    **dict.fromkeys(POINTWISE, _pointwise),
    **dict.fromkeys(PRODUCTS, _by_number_or_tensor(product)),
    **dict.fromkeys(QUOTIENTS, _by_number_or_tensor(quotient)),
    **SAMPLE_RULES,
    **ATTENTION_RULES,
    **{f"max_pool{axes}d": _max_pool(axes) for axes in (1, 2, 3)},
    **{f"adaptive_max_pool{axes}d": _adaptive_max_pool(axes) for axes in (1, 2, 3)},
    "amax": _largest,
    "amin": _largest,
    "orient": _orient,
    "preprocess": _orient,
}
