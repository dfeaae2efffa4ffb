"""What each operation does to the spread: one rule per operation, and everything else is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.layers import contour, orient, sobel
from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.attention import attention_rule, multi_head_rule
from netpact.network.rounding.norms import NORMS
from netpact.network.rounding.pointwise import POINTWISE, describe, overflow_limits
from netpact.network.rounding.powers import POWERS
from netpact.network.rounding.prelu import prelu_rule
from netpact.network.rounding.preprocess_rule import preprocess_rule
from netpact.network.rounding.products import (
    INVERSES,
    MATRIX_PRODUCTS,
    by_number_or_tensor,
    product_rule,
    quotient_rule,
)
from netpact.network.rounding.softmax import log_softmax_rule, softmax_rule
from netpact.network.rounding.sum_rules import (
    AVERAGES,
    CONVOLUTIONS,
    Rule,
    average_rule,
    batch_norm_rule,
    linear_rule,
    sum_of_two_rule,
)
from netpact.network.rounding.tokens import CASTS, PICKS, WHOLE, follow_whole, is_whole, spread_argument
from netpact.network.rounding.tolerance import (
    BadSampleError,
    Constant,
    NoRuleError,
    Rounding,
    Spread,
    make_spread,
    spread_of,
    value_of,
)


def apply_rule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], rounding: Rounding) -> Any:
    name = getattr(func, "__name__", str(func))
    plain_args, plain_kwargs = map_tensors(args, value_of), map_tensors(kwargs, value_of)
    if name in _QUERIES:
        found = func(*plain_args, **plain_kwargs)
        # x.T, x.data and their like are tensors, and would come out without their spread.
        return refuse(_property_name(func), func, plain_args, plain_kwargs, rounding) if _is_float(found) else found
    found = [entry for entry in tensors_in((args, kwargs)) if isinstance(entry, Spread)]
    if name in {*WHOLE, *_SAME_FOR_BOTH} and all(map(is_whole, found)) and not _has_reals(args, kwargs):
        return follow_whole(func, args, kwargs)
    if name in _SAME_FOR_BOTH:
        unfit = _UNFIT.get(name)
        if unfit is not None and unfit(args, kwargs):
            return refuse(f"{name} in this form", func, plain_args, plain_kwargs, rounding)
        spread = func(*map_tensors(args, spread_argument), **map_tensors(kwargs, spread_argument))
        return _pack(func(*plain_args, **plain_kwargs), spread)
    if name in _RULES:
        try:
            _check_call(name, args, kwargs)
            value, spread = _RULES[name](rounding, *args, **{k: v for k, v in kwargs.items() if k != "inplace"})
            in_place = name == "relu_" or (name in _EXACT and kwargs.get("inplace"))
            if in_place and bool((spread > spread_of(args[0])).any()):
                raise NoRuleError("in place, which a view would not notice")
        except NoRuleError as reason:
            return refuse(f"{name} {reason}", func, plain_args, plain_kwargs, rounding)
        if name not in _EXACT_SUMS:
            spread = spread + rounding.underflow(1)
        if in_place:
            # Whoever holds the tensor sees the change. A view's spread stays what it was: max(x, 0) cannot widen it.
            # Other changes in place make a new tensor; where an old holder is used, comparing with a plain run tells.
            plain_args[0].copy_(value)
            args[0].spread = spread
            return args[0]
        return _pack(value, spread)
    return refuse(name, func, plain_args, plain_kwargs, rounding)


def _check_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The rules bound the effect of the first tensor's spread, and know no other output or type."""
    others = [entry for entry in (*args[1:], *kwargs.values()) if isinstance(entry, Spread)]
    if name not in OF_MANY and not all(isinstance(entry, Constant) for entry in others):
        raise NoRuleError("by a tensor that depends on the input")
    if name not in (*OF_MANY, *_BY_CONSTANTS) and others:
        raise NoRuleError("by a tensor of constants")
    if any(is_whole(entry) for entry in args[:1]) and name not in _OF_WHOLE:
        raise NoRuleError("of integers")
    for option in ("dtype", "out"):
        if kwargs.get(option) is not None and name not in (*CASTS, *PICKS):
            raise NoRuleError(f"with {option}")


def is_covered(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a rule for spreads would take this call, as far as its arguments tell."""
    if name in _SAME_FOR_BOTH:
        unfit = _UNFIT.get(name)
        return unfit is None or not unfit(args, kwargs)
    if name not in _RULES:
        return False
    try:
        _check_call(name, args, kwargs)
    except NoRuleError:
        return False
    return True


def _has_reals(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(value_of(tensor).is_floating_point() for tensor in tensors_in((args, kwargs))) or any(
        isinstance(entry, float) for entry in (*args, *kwargs.values())
    )


def _property_name(func: Callable[..., Any]) -> str:
    return str(getattr(getattr(func, "__self__", None), "__name__", "of a property"))


def refuse(name: str, func: Callable[..., Any], args: Any, kwargs: Any, rounding: Rounding) -> Any:
    if not rounding.collect:
        raise PactError(
            f"no rounding bound is known for the operation {name}",
            where="network",
            hint="compress with arithmetic as-run (--arithmetic as-run), which needs none; docs/networks.md lists the "
            "operations that have one",
        )
    rounding.unknown.append(name)
    return map_tensors(func(*args, **kwargs), _without_bound)


def _without_bound(result: Tensor) -> Tensor:
    return make_spread(result, torch.full_like(result, math.inf)) if _is_float(result) else result


def supported_operations() -> list[str]:
    return sorted({name for name in (*_RULES, *_SAME_FOR_BOTH) if not name.startswith("_") and not name.endswith("_")})


def _pack(value: Any, spread: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_pack(v, s) for v, s in zip(value, spread, strict=True))
    return make_spread(value, spread) if isinstance(value, Tensor) else value


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _pointwise(name: str) -> Rule:
    """spread = slope s + jump + gamma_n (of_value (|f(x)| + slope s + jump) + of_input (|x| + s) + fixed)."""
    function = next(getattr(home, name) for home in (torch, functional, Tensor) if hasattr(home, name))

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        known = describe(name, (x, *args), kwargs)
        given, spread = value_of(x), spread_of(x)
        value = function(given.clone() if name in _IN_PLACE else given, *args, **kwargs)
        if not known.roundings:
            return value, spread
        felt = given.abs() + spread
        spread = r.limit(spread, felt, **overflow_limits(known))
        moved = known.slope * spread + known.jump
        reach = known.of_value * (value.abs() + moved) + known.of_input * felt + known.fixed
        return value, moved + r.gamma(known.roundings) * reach + r.underflow(1) * (felt + known.fixed + 1)

    return rule


def _largest(pick: Callable[..., Tensor]) -> Rule:
    """The largest or smallest of some entries: |max a - max b| and |min a - min b| are at most max |a - b|."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return pick(value_of(x), *args, **kwargs), torch.amax(spread_of(x), *args, **kwargs)

    return rule


def _stem(of: Callable[..., Tensor]) -> Rule:
    """Integers in, integers out, the same on every machine; but only for the sample itself as its input."""

    def rule(r: Rounding, x: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
        images = value_of(x)
        _refuse_outside(images)
        if bool((spread_of(x) > _TINY).any()):
            raise NoRuleError("of anything but the input")
        features = of(images, **options)
        return features, torch.zeros_like(features)

    return rule


def _refuse_outside(images: Tensor) -> None:
    outside = torch.nonzero(~((images >= 0) & (images <= 1)).flatten(1).all(dim=1))
    if len(outside):
        row = int(outside[0, 0])
        raise BadSampleError(
            f"the stem of this network takes inputs from 0 to 1, got {float(images[row].min()):.4g} to "
            f"{float(images[row].max()):.4g}",
            row=row,
            hint="divide pixels by 255, or give them as uint8",
        )


_TINY = 2.0**-100  # inputs that may be flushed to zero are the same pixel either way

_QUERIES = {"dim", "size", "__get__", "numel", "__len__", "is_floating_point", "get_device", "stride", "is_contiguous"}

_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
# Moving entries, or taking the largest of some: |max a - max b| <= max |a - b|. The same operation serves the spread.
MOVES = (
    *("flatten", "unflatten", "view", "reshape", "permute", "transpose", "swapaxes", "movedim", "squeeze", "unsqueeze"),
    *("contiguous", "clone", "detach", *_DROPOUTS, "tile", "swapdims", "index_select"),
    *("tril", "triu"),
    *("pad", "expand", "repeat", "roll", "flip", "interpolate"),
    *("chunk", "split", "unbind", "narrow", "select", "__getitem__"),
    *("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
)
JOINS = ("cat", "stack")
_MAX_POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")
_ADAPTIVE_MAX_POOLS = ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
_SAME_FOR_BOTH = {*MOVES, *JOINS, *_MAX_POOLS, *_ADAPTIVE_MAX_POOLS, "expand_as", "view_as"}


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
    **dict.fromkeys(_DROPOUTS, _is_training),
    **dict.fromkeys((*_MAX_POOLS, *_ADAPTIVE_MAX_POOLS), _gives_indices),
    "interpolate": _is_no_plain_copy,
    "pad": lambda args, kwargs: bool(kwargs.get("value")) or len(args) > 3,
    "view": lambda args, kwargs: any(isinstance(entry, torch.dtype) for entry in (*args, *kwargs.values())),
}

_EXACT = {"relu", "relu_", "relu6", "hardtanh"}  # computed without rounding, and never widening a spread
_IN_PLACE = {"relu_", "mul_", "div_", "__imul__", "__itruediv__"}
ADDITIONS = ("add", "add_", "__add__", "__radd__", "__iadd__")
SUBTRACTIONS = ("sub", "sub_", "__sub__", "__isub__")
REVERSED = ("rsub", "__rsub__")  # the second minus the first
SUMS = (*ADDITIONS, *SUBTRACTIONS, *REVERSED)  # may join two tensors that depend on the input

PRODUCTS = ("mul", "mul_", "__mul__", "__rmul__", "__imul__")
QUOTIENTS = ("div", "div_", "__truediv__", "__itruediv__")
ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")
# May join several tensors that depend on the input
OF_MANY = {*SUMS, *PRODUCTS, *QUOTIENTS, *MATRIX_PRODUCTS, *ATTENTION, *CASTS, *PICKS}
# With weights that are computed from parameters, where there is a rule
_BY_CONSTANTS = {"linear", *CONVOLUTIONS, "batch_norm", *NORMS, "prelu"}
_OF_WHOLE = {*CASTS, *PICKS}
# Rules that know when there is no rounding at all; the others always allow for underflow.
_EXACT_SUMS = {"linear", "orient", "contour", "sobel", "multi_head_attention_forward", *CASTS, *PICKS}

_RULES: dict[str, Rule] = {
    "linear": linear_rule,
    **CONVOLUTIONS,
    **{name: average_rule(*average) for name, average in AVERAGES.items()},
    **dict.fromkeys(ADDITIONS, sum_of_two_rule(torch.add)),
    **dict.fromkeys(SUBTRACTIONS, sum_of_two_rule(torch.sub)),
    **dict.fromkeys(REVERSED, sum_of_two_rule(torch.rsub)),
    **{name: _pointwise(name) for name in POINTWISE},
    **{name: by_number_or_tensor(_pointwise(name), product_rule) for name in PRODUCTS},
    **{name: by_number_or_tensor(_pointwise(name), quotient_rule) for name in QUOTIENTS},
    **INVERSES,
    **MATRIX_PRODUCTS,
    **POWERS,
    **NORMS,
    **CASTS,
    **PICKS,
    "softmax": softmax_rule,
    "log_softmax": log_softmax_rule,
    "scaled_dot_product_attention": attention_rule,
    "multi_head_attention_forward": multi_head_rule,
    "prelu": prelu_rule,
    "amax": _largest(torch.amax),
    "amin": _largest(torch.amin),
    "batch_norm": batch_norm_rule,
    "orient": _stem(orient),
    "contour": _stem(contour),
    "sobel": _stem(sobel),
    "preprocess": preprocess_rule,
}
