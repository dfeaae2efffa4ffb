"""What each operation does to the spread: one rule per operation, and everything else is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netpact.errors import PactError
from netpact.layers import orient
from netpact.network.pointwise import POINTWISE, describe
from netpact.network.rounding import NoRuleError, Rounding, Spread, make_spread, spread_of, value_of

Rule = Callable[..., tuple[Tensor, Tensor]]


def apply_rule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], rounding: Rounding) -> Any:
    name = getattr(func, "__name__", str(func))
    plain_args, plain_kwargs = _map(args, value_of), {key: _map(value, value_of) for key, value in kwargs.items()}
    if name in _QUERIES:
        found = func(*plain_args, **plain_kwargs)
        # x.T, x.data and their like are tensors, and would come out without their spread.
        return _refuse(_property_name(func), func, plain_args, plain_kwargs, rounding) if _is_float(found) else found
    if name in _SAME_FOR_BOTH:
        unfit = _UNFIT.get(name)
        if unfit is not None and unfit(args, kwargs):
            return _refuse(f"{name} in this form", func, plain_args, plain_kwargs, rounding)
        spread_kwargs = {key: _map(value, spread_of) for key, value in kwargs.items()}
        return _pack(func(*plain_args, **plain_kwargs), func(*_map(args, spread_of), **spread_kwargs))
    if name in _RULES:
        try:
            _check_call(name, args, kwargs)
            value, spread = _RULES[name](rounding, *args, **{k: v for k, v in kwargs.items() if k != "inplace"})
            in_place = name == "relu_" or (name in _EXACT and kwargs.get("inplace"))
            if in_place and bool((spread > spread_of(args[0])).any()):
                raise NoRuleError("in place, which a view would not notice")
        except NoRuleError as reason:
            return _refuse(f"{name} {reason}", func, plain_args, plain_kwargs, rounding)
        if name not in _EXACT_SUMS:
            spread = spread + rounding.smallest  # for products that underflow
        if in_place:
            # Whoever holds the tensor sees the change. A view's spread stays what it was: max(x, 0) cannot widen it.
            # Other changes in place make a new tensor; where an old holder is used, comparing with a plain run tells.
            plain_args[0].copy_(value)
            args[0].spread = spread
            return args[0]
        return make_spread(value, spread)
    return _refuse(name, func, plain_args, plain_kwargs, rounding)


def _check_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The rules bound the effect of the first tensor's spread, and know no other output or type."""
    if name not in SUMS and any(isinstance(entry, Spread) for entry in (*args[1:], *kwargs.values())):
        raise NoRuleError("by a tensor that depends on the input")
    for option in ("dtype", "out"):
        if kwargs.get(option) is not None:
            raise NoRuleError(f"with {option}")


def _property_name(func: Callable[..., Any]) -> str:
    return str(getattr(getattr(func, "__self__", None), "__name__", "of a property"))


def _refuse(name: str, func: Callable[..., Any], args: Any, kwargs: Any, rounding: Rounding) -> Any:
    if not rounding.collect:
        raise PactError(
            f"no rounding bound is known for the operation {name}",
            where="network",
            hint=f"supported: {', '.join(supported_operations())}",
        )
    rounding.unknown.append(name)
    result = func(*args, **kwargs)
    return _pack(result, torch.full_like(result, math.inf)) if _is_float(result) else result


def supported_operations() -> list[str]:
    return sorted({name for name in (*_RULES, *_SAME_FOR_BOTH) if not name.startswith("_") and not name.endswith("_")})


def _pack(value: Any, spread: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(make_spread(v, s) for v, s in zip(value, spread, strict=True))
    return make_spread(value, spread)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _map(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_map(entry, change) for entry in value)
    return value


def _linear(r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """spread = |W| (s + gamma (|x| + s)) + gamma |b|, n + 1 terms: the products and the bias."""
    value, spread = value_of(x), spread_of(x)
    if _sums_exactly(r, value, spread, weight, bias):
        product = functional.linear(value, weight, bias)
        return product, torch.zeros_like(product)
    gamma = r.gamma(weight.shape[1] + 1)
    reach = spread + gamma * (value.abs() + spread)
    bias_reach = None if bias is None else gamma * bias.abs()
    spread = functional.linear(reach, weight.abs(), bias_reach) + r.underflow(weight.shape[1])
    return functional.linear(value, weight, bias), spread


def _sums_exactly(r: Rounding, value: Tensor, spread: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whole numbers times whole numbers: below 1/u, 2^24 in float32, every partial sum in every order is exact."""
    tensors = [weight, value] if bias is None else [weight, bias, value]
    if bool((spread != 0).any()) or not all(torch.equal(tensor, torch.round(tensor)) for tensor in tensors):
        return False
    sums = functional.linear(value.abs(), weight.abs(), None if bias is None else bias.abs())
    return bool((sums * r.unit <= 1).all())


def _conv2d(
    r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None, *where: Any, **named: Any
) -> tuple[Tensor, Tensor]:
    gamma = r.gamma(weight[0].numel() + 1)
    value, spread = value_of(x), spread_of(x)
    reach = spread + gamma * (value.abs() + spread)
    bias_reach = None if bias is None else gamma * bias.abs()
    spread = functional.conv2d(reach, weight.abs(), bias_reach, *where, **named) + r.underflow(weight[0].numel())
    return functional.conv2d(value, weight, bias, *where, **named), spread


def _average(pool: Callable[..., Tensor], terms: Callable[[Tensor, Tensor], int]) -> Rule:
    """An average of n numbers: spread = mean(s) + gamma_{n+1} mean(|x| + s)."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        value, spread = value_of(x), spread_of(x)
        result = pool(value, *args, **kwargs)
        count = terms(value, result)
        reach = spread + r.gamma(count + 1) * (value.abs() + spread)
        # A divisor of the caller's own may be negative.
        return result, pool(reach, *args, **kwargs).abs() + r.underflow(count)

    return rule


def _line_size(value: Tensor, result: Tensor) -> int:
    # More terms than a window can have; the slack is far below anything that matters.
    return value.shape[-1]


def _image_size(value: Tensor, result: Tensor) -> int:
    return value.shape[-1] * value.shape[-2]


def _summed(value: Tensor, result: Tensor) -> int:
    return value.numel() // max(1, result.numel())


def _sum_of_two(combine: Callable[[Tensor, Tensor], Tensor]) -> Rule:
    """A sum or difference of two tensors, or of a tensor and a number."""

    def rule(r: Rounding, a: Any, b: Any, *, alpha: float = 1) -> tuple[Tensor, Tensor]:
        if alpha != 1:
            raise NoRuleError("with alpha")
        left, right = _as_tensor(a, b), _as_tensor(b, a)
        value = combine(value_of(left), value_of(right))
        spread = spread_of(left) + spread_of(right)
        # A number written in the program is rounded to the precision before it is added.
        spread = spread + sum(r.gamma(1) * abs(number) for number in (a, b) if not isinstance(number, Tensor))
        return value, spread + r.gamma(1) * (value.abs() + spread)

    return rule


def _pointwise(name: str) -> Rule:
    """spread = slope s + jump + gamma_n (of_value (|f(x)| + slope s + jump) + of_input (|x| + s) + fixed)."""
    function = next(getattr(home, name) for home in (torch, functional, Tensor) if hasattr(home, name))

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        known = describe(name, (x, *args), kwargs)
        given, spread = value_of(x), spread_of(x)
        value = function(given.clone() if name in _IN_PLACE else given, *args, **kwargs)
        if not known.roundings:
            return value, spread
        moved = known.slope * spread + known.jump
        felt = given.abs() + spread
        reach = known.of_value * (value.abs() + moved) + known.of_input * felt + known.fixed
        return value, moved + r.gamma(known.roundings) * reach + r.underflow(1) * (felt + known.fixed + 1)

    return rule


def _largest(pick: Callable[..., Tensor]) -> Rule:
    """The largest or smallest of some entries: |max a - max b| and |min a - min b| are at most max |a - b|."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return pick(value_of(x), *args, **kwargs), torch.amax(spread_of(x), *args, **kwargs)

    return rule


def _batch_norm(
    r: Rounding,
    x: Tensor,
    mean: Tensor | None,
    variance: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor]:
    """Per channel (x - mean) * scale + bias in whatever order: at most ten roundings of numbers of these magnitudes."""
    if training or mean is None or variance is None:
        raise NoRuleError("in training mode or without running statistics")
    value, spread = value_of(x), spread_of(x)
    axes = (1, -1, *(1,) * (value.dim() - 2))
    scale = (torch.ones_like(variance) if weight is None else weight.abs()) / (variance + eps).sqrt()
    offset = scale * mean.abs() + (0 if bias is None else bias.abs())
    reach = scale.view(axes) * (value.abs() + spread) + offset.view(axes)
    normed = functional.batch_norm(value, mean, variance, weight, bias, False, 0.0, eps)
    # The scale itself may underflow, and meet a large x or mean.
    tiny = r.underflow(1) * (value.abs() + spread + mean.abs().view(axes) + 1)
    return normed, scale.view(axes) * spread + r.gamma(10) * reach + tiny


def _orient(r: Rounding, x: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    """Whole numbers in, whole numbers out, the same on every machine; but only for the sample itself as its input."""
    if bool((spread_of(x) != 0).any()):
        raise NoRuleError("of anything but the input")
    features = orient(value_of(x), **options)
    return features, torch.zeros_like(features)


def _as_tensor(a: Any, other: Any) -> Tensor:
    if isinstance(a, Tensor):
        return a
    reference = value_of(other)
    if not isinstance(a, (int, float)):
        raise NoRuleError(f"of a tensor and a {type(a).__name__}")
    return torch.full_like(reference, a)


_QUERIES = {"dim", "size", "__get__", "numel", "__len__", "is_floating_point", "get_device", "stride", "is_contiguous"}

# Moving entries, or taking the largest of some: |max a - max b| <= max |a - b|. The same operation serves the spread.
MOVES = (
    *("flatten", "unflatten", "view", "reshape", "permute", "transpose", "swapaxes", "movedim", "squeeze", "unsqueeze"),
    *("contiguous", "clone", "detach", "dropout", "dropout2d"),
    *("pad", "expand", "repeat", "roll", "flip", "interpolate"),
    *("chunk", "split", "unbind", "narrow", "select", "__getitem__"),
    *("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
)
JOINS = ("cat", "stack")
_SAME_FOR_BOTH = {*MOVES, *JOINS, "max_pool1d", "max_pool2d", "adaptive_max_pool2d"}


def _gives_indices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("return_indices"))


def _is_training(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("training", True))


def _is_no_plain_copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Copies of the nearest pixel are certain where the factor is a power of two: no machine rounds the place."""
    factor = kwargs.get("scale_factor")
    factors = factor if isinstance(factor, (tuple, list)) else (factor,)
    powers = all(isinstance(f, (int, float)) and f >= 1 and math.frexp(f)[0] == 0.5 for f in factors)
    return len(args) > 1 or kwargs.get("mode", "nearest") != "nearest" or kwargs.get("size") is not None or not powers


# Ways of calling these that would not be the same for both.
_UNFIT: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], bool]] = {
    **dict.fromkeys(("dropout", "dropout2d"), _is_training),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "adaptive_max_pool2d"), _gives_indices),
    "interpolate": _is_no_plain_copy,
    "pad": lambda args, kwargs: bool(kwargs.get("value")) or len(args) > 3,
    "view": lambda args, kwargs: any(isinstance(entry, torch.dtype) for entry in (*args, *kwargs.values())),
}

_EXACT = {"relu", "relu_", "relu6", "hardtanh"}  # computed without rounding, and never widening a spread
_IN_PLACE = {"relu_", "mul_", "div_", "__imul__", "__itruediv__"}
_ADDITIONS = ("add", "add_", "__add__", "__radd__", "__iadd__")
_SUBTRACTIONS = ("sub", "sub_", "__sub__", "__isub__")
_REVERSED = ("rsub", "__rsub__")  # the second minus the first
SUMS = (*_ADDITIONS, *_SUBTRACTIONS, *_REVERSED)  # may join two tensors that depend on the input

# Rules that know when there is no rounding at all; the others always allow for underflow.
_EXACT_SUMS = {"linear", "orient"}

# Means and sums: the function itself, and how many terms one of its results has at most.
AVERAGES: dict[str, tuple[Callable[..., Tensor], Callable[[Tensor, Tensor], int]]] = {
    "avg_pool1d": (functional.avg_pool1d, _line_size),
    "avg_pool2d": (functional.avg_pool2d, _image_size),
    "adaptive_avg_pool2d": (functional.adaptive_avg_pool2d, _image_size),
    "mean": (torch.mean, _summed),
    "sum": (torch.sum, _summed),
}

_RULES: dict[str, Rule] = {
    "linear": _linear,
    "conv2d": _conv2d,
    **{name: _average(*average) for name, average in AVERAGES.items()},
    **dict.fromkeys(_ADDITIONS, _sum_of_two(torch.add)),
    **dict.fromkeys(_SUBTRACTIONS, _sum_of_two(torch.sub)),
    **dict.fromkeys(_REVERSED, _sum_of_two(torch.rsub)),
    **{name: _pointwise(name) for name in POINTWISE},
    "amax": _largest(torch.amax),
    "amin": _largest(torch.amin),
    "batch_norm": _batch_norm,
    "orient": _orient,
}
