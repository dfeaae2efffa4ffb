"""What each operation does to the spread: one rule per operation, and everything else is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from netpact.errors import PactError
from netpact.network.rounding import Rounding, make_spread, spread_of, value_of

_ELEMENTARY_ULPS = 8  # libraries compute exp and its relatives to a few units in the last place

Rule = Callable[..., tuple[Tensor, Tensor]]


def apply_rule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], rounding: Rounding) -> Any:
    name = getattr(func, "__name__", str(func))
    plain_args, plain_kwargs = _map(args, value_of), {key: _map(value, value_of) for key, value in kwargs.items()}
    if name in _QUERIES:
        return func(*plain_args, **plain_kwargs)
    if name in _SAME_FOR_BOTH:
        unfit = _UNFIT.get(name)
        if unfit is not None and unfit(args, kwargs):
            return _refuse(f"{name} in this form", func, plain_args, plain_kwargs, rounding)
        spread_kwargs = {key: _map(value, spread_of) for key, value in kwargs.items()}
        return _pack(func(*plain_args, **plain_kwargs), func(*_map(args, spread_of), **spread_kwargs))
    if name in _RULES:
        try:
            value, spread = _RULES[name](rounding, *args, **{k: v for k, v in kwargs.items() if k != "inplace"})
        except _NoRule as reason:
            return _refuse(f"{name} {reason}", func, plain_args, plain_kwargs, rounding)
        spread = spread + rounding.smallest  # for products that underflow
        if name == "relu_" or kwargs.get("inplace"):
            # Whoever holds the tensor sees the change. A view's spread stays what it was: max(x, 0) cannot widen it.
            plain_args[0].copy_(value)
            args[0].spread = spread
            return args[0]
        return make_spread(value, spread)
    return _refuse(name, func, plain_args, plain_kwargs, rounding)


class _NoRule(Exception):
    """This way of calling an operation has no rule."""


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
    gamma = r.gamma(weight.shape[1] + 1)
    value, spread = value_of(x), spread_of(x)
    reach = spread + gamma * (value.abs() + spread)
    bias_reach = None if bias is None else gamma * bias.abs()
    return F.linear(value, weight, bias), F.linear(reach, weight.abs(), bias_reach)


def _conv2d(
    r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None, *where: Any, **named: Any
) -> tuple[Tensor, Tensor]:
    gamma = r.gamma(weight[0].numel() + 1)
    value, spread = value_of(x), spread_of(x)
    reach = spread + gamma * (value.abs() + spread)
    bias_reach = None if bias is None else gamma * bias.abs()
    return (
        F.conv2d(value, weight, bias, *where, **named),
        F.conv2d(reach, weight.abs(), bias_reach, *where, **named),
    )


def _average(pool: Callable[..., Tensor], terms: Callable[..., int]) -> Rule:
    """An average of n numbers: spread = mean(s) + gamma_{n+1} mean(|x| + s)."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        gamma = r.gamma(terms(x, *args, **kwargs) + 1)
        value, spread = value_of(x), spread_of(x)
        reach = spread + gamma * (value.abs() + spread)
        return pool(value, *args, **kwargs), pool(reach, *args, **kwargs)

    return rule


def _image_size(x: Tensor, *args: Any, **kwargs: Any) -> int:
    # More terms than a window can have; the slack is far below anything that matters.
    return value_of(x)[0].numel()


def _add(r: Rounding, a: Any, b: Any, *, alpha: float = 1) -> tuple[Tensor, Tensor]:
    if alpha != 1:
        raise _NoRule("with alpha")
    left, right = _as_tensor(a, b), _as_tensor(b, a)
    value = value_of(left) + value_of(right)
    spread = spread_of(left) + spread_of(right)
    return value, spread + r.gamma(1) * (value.abs() + spread)


def _exactly(function: Callable[..., Tensor]) -> Rule:
    """Functions of slope at most 1 that are computed without rounding, such as max(x, 0)."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return function(value_of(x), *args, **kwargs), spread_of(x)

    return rule


def _elementary(function: Callable[[Tensor], Tensor]) -> Rule:
    """Smooth functions of slope at most 1 from a mathematical library: plus a few units in the last place."""

    def rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
        value, spread = function(value_of(x)), spread_of(x)
        return value, spread + r.gamma(_ELEMENTARY_ULPS) * (value.abs() + spread)

    return rule


def _leaky_relu(r: Rounding, x: Tensor, negative_slope: float = 0.01) -> tuple[Tensor, Tensor]:
    if not 0 <= negative_slope <= 1:
        raise _NoRule(f"with slope {negative_slope}")
    value, spread = F.leaky_relu(value_of(x), negative_slope), spread_of(x)
    return value, spread + r.gamma(2) * (value.abs() + spread)  # the slope is rounded, and the product


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
        raise _NoRule("in training mode or without running statistics")
    value, spread = value_of(x), spread_of(x)
    axes = (1, -1, *(1,) * (value.dim() - 2))
    scale = (torch.ones_like(variance) if weight is None else weight.abs()) / (variance + eps).sqrt()
    offset = scale * mean.abs() + (0 if bias is None else bias.abs())
    reach = scale.view(axes) * (value.abs() + spread) + offset.view(axes)
    normed = F.batch_norm(value, mean, variance, weight, bias, False, 0.0, eps)
    return normed, scale.view(axes) * spread + r.gamma(10) * reach


def _as_tensor(a: Any, other: Any) -> Tensor:
    if isinstance(a, Tensor):
        return a
    reference = value_of(other)
    if not isinstance(a, (int, float)):
        raise _NoRule(f"of a tensor and a {type(a).__name__}")
    return torch.full_like(reference, a)


_QUERIES = {"dim", "size", "__get__", "numel", "__len__", "is_floating_point", "get_device", "stride", "is_contiguous"}

# Moving entries, or taking the largest of some: |max a - max b| <= max |a - b|, so the same operation serves the spread.
_SAME_FOR_BOTH = {
    "flatten",
    "view",
    "reshape",
    "permute",
    "transpose",
    "squeeze",
    "unsqueeze",
    "contiguous",
    "clone",
    "detach",
    "pad",
    "cat",
    "chunk",
    "split",
    "__getitem__",
    "max_pool2d",
    "dropout",
    "dropout2d",
}

# Ways of calling these that would not be the same for both.
_UNFIT: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], bool]] = {
    "dropout": lambda args, kwargs: kwargs.get("training", True),
    "dropout2d": lambda args, kwargs: kwargs.get("training", True),
    "max_pool2d": lambda args, kwargs: bool(kwargs.get("return_indices")),
    "pad": lambda args, kwargs: bool(kwargs.get("value")) or len(args) > 3,
}

_RULES: dict[str, Rule] = {
    "linear": _linear,
    "conv2d": _conv2d,
    "avg_pool2d": _average(F.avg_pool2d, _image_size),
    "adaptive_avg_pool2d": _average(F.adaptive_avg_pool2d, _image_size),
    "mean": _average(torch.mean, _image_size),
    "add": _add,
    "add_": _add,
    "__add__": _add,
    "__radd__": _add,
    "__iadd__": _add,
    "relu": _exactly(F.relu),
    "relu_": _exactly(F.relu),
    "relu6": _exactly(F.relu6),
    "leaky_relu": _leaky_relu,
    "tanh": _elementary(torch.tanh),
    "sigmoid": _elementary(torch.sigmoid),
    "batch_norm": _batch_norm,
}
