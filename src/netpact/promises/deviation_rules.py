"""What each operation does to the bound on the difference of two networks; everything else is refused by name.

Each rule has two parts: how much the operation enlarges a difference that is there, and what the other network's own
rounding adds, which is proportional to its activations: at most those of the network that is run plus the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from netpact.errors import PactError
from netpact.network.rounding import Spread, value_of
from netpact.promises.deviation import Deviation, LayerTensor, Walk, make_deviation, size_of
from netpact.promises.lipschitz import ACTIVATIONS, Pair, averaging_norm, copying_norm, max_pool_constant
from netpact.promises.outward import norm_up, round_up, round_up_float

_ELEMENTARY_ULPS = 8  # as in the rounding rules


class _NoRuleError(Exception):
    """This way of calling an operation has no rule."""


@dataclass(frozen=True)
class Step:
    """One operation: how it was called, and what it gave in the network that is run."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    walk: Walk

    @property
    def first(self) -> Deviation:
        return _as_deviation(self.args[0] if self.args else None)

    @property
    def root(self) -> float:
        """The root of how many entries the result has for one sample: the norm of that many ones."""
        return round_up_float(math.sqrt(value_of(self.result)[0].numel()))

    def repeat(self, tensor: Tensor) -> Any:
        """The same call with another first tensor."""
        return self.func(tensor, *self.args[1:], **self.kwargs)

    def rounded(self, bound: Tensor, *, roundings: int) -> Tensor:
        """Plus the other network's rounding of a result that is computed entry by entry."""
        reach = size_of(self.result) + bound
        tiny = self.walk.other.underflow(max(1, roundings)) * self.root
        return round_up(bound + self.walk.other.gamma(roundings) * reach + tiny)


def apply_rule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", str(func))
    found = [entry for entry in _flat((args, kwargs)) if isinstance(entry, (Deviation, LayerTensor))]
    walks = [entry.walk for entry in found if isinstance(entry, Deviation)]
    plain_args, plain_kwargs = _map(args), {key: _map(value) for key, value in kwargs.items()}
    refused_before = len(walks[0].own.unknown) if walks else 0
    result = func(*plain_args, **plain_kwargs)
    if not any(isinstance(part, Tensor) for part in _flat(result)):
        return result  # a question such as x.shape
    if not walks:
        raise PactError(
            f"the operation {name} uses a parameter or buffer outside its layer",
            where="network",
            hint="let only the layer that owns a tensor use it",
        )
    walk = walks[0]
    if len(walk.own.unknown) > refused_before:
        return _pack(result, math.inf, walk)
    try:
        if any(isinstance(entry, LayerTensor) for entry in found):
            raise _NoRuleError("by a parameter or buffer outside its layer")
        if name not in _RULES:
            raise _NoRuleError("")
        if name not in _OF_MANY and len(found) > 1:
            raise _NoRuleError("by a tensor that depends on the input")
        bounds = _RULES[name](Step(func, args, kwargs, result, walk))
    except _NoRuleError as reason:
        walk.unknown.append(f"{name} {reason}".strip())
        return _pack(result, math.inf, walk)
    if result is plain_args[0]:  # changed in place: whoever holds the tensor sees it, and its bound
        args[0].bound = bounds
        return args[0]
    return _pack(result, bounds, walk)


def _activation(name: str, *, roundings: int) -> Callable[[Step], Tensor]:
    def rule(step: Step) -> Tensor:
        slope = ACTIVATIONS[name](*step.args, **step.kwargs)
        return step.rounded(slope * step.first.bound, roundings=roundings)

    return rule


def _add(step: Step) -> Tensor:
    """A sum: e = e_1 + e_2. An entry that is added in many places counts that many times, by the root."""
    if len(step.args) != 2:
        raise _NoRuleError("with named tensors")
    shape = value_of(step.result).shape
    total = torch.zeros(shape[0], dtype=torch.float64)
    for part in step.args:
        if isinstance(part, (int, float)):
            continue
        x = _as_deviation(part)
        own = value_of(x.held).shape
        if len(own) != len(shape) or own[0] != shape[0]:
            raise _NoRuleError("that lines the samples up with another axis")
        copies = math.prod(shape) // math.prod(own)
        total = total + round_up_float(math.sqrt(copies)) * x.bound
    # Numbers written in the program are rounded before they are added.
    numbers = sum(abs(part) for part in step.args if isinstance(part, (int, float)))
    fixed = step.walk.other.gamma(1) * numbers * step.root
    return step.rounded(round_up(total + fixed), roundings=1)


def _cat(step: Step) -> Tensor:
    """Joined along an axis: e = sqrt(e_1^2 + e_2^2 + ...)."""
    if not step.args:
        raise _NoRuleError("with named tensors")
    tensors = step.args[0]
    axis = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else 0)
    if axis % value_of(step.result).dim() == 0:
        raise _NoRuleError("along the samples' axis")
    return norm_up(torch.stack([_as_deviation(tensor).bound for tensor in tensors], dim=1))


def _move(step: Step) -> Tensor | list[Tensor]:
    norms = copying_norm(step.repeat, tuple(value_of(step.first.held).shape))
    if norms is None:
        raise _NoRuleError("across samples")
    bounds = [round_up(norm * step.first.bound) for norm in norms]
    return bounds if isinstance(step.result, (tuple, list)) else bounds[0]


def _image_size(values: Tensor, result: Tensor) -> int:
    # More terms than a window can have; the slack is far below anything that matters.
    return math.prod(values.shape[-2:])


def _summed(values: Tensor, result: Tensor) -> int:
    return values.numel() // max(1, result.numel())


def _average(terms_of: Callable[[Tensor, Tensor], int]) -> Callable[[Step], Tensor]:
    """Means of n entries: e_out = |A| (e + gamma_{n+1} (|h| + e))."""

    def rule(step: Step) -> Tensor:
        x, values = step.first, value_of(step.first.held)
        norm = averaging_norm(step.repeat, tuple(values.shape[1:]))
        if norm is None:
            raise _NoRuleError("across samples")
        terms = terms_of(values, value_of(step.result))
        felt = round_up(size_of(x.held) + x.bound)
        tiny = step.walk.other.underflow(terms) * step.root
        return round_up(norm * (x.bound + step.walk.other.gamma(terms + 1) * felt) + tiny)

    return rule


def _max_pool(step: Step) -> Tensor:
    rows, columns = value_of(step.result).shape[-2:]
    constant = _max_pool_constant(*step.args, windows=(rows, columns), **step.kwargs)
    return step.rounded(constant * step.first.bound, roundings=0)


def _max_pool_constant(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    windows: Pair,
) -> float:
    kernel = _pair(kernel_size)
    steps = kernel if stride is None or stride == [] else _pair(stride)
    return max_pool_constant(kernel=kernel, stride=steps, dilation=_pair(dilation), windows=windows)


def _pair(value: Any) -> Pair:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def _orient(step: Step) -> Tensor:
    """Whole numbers from the sample itself: the same in both networks. Of anything else it has no constant."""
    if bool(step.first.bound.any()):
        raise _NoRuleError("of anything but the input")
    return step.first.bound.clone()


def _as_deviation(value: Any) -> Deviation:
    if not isinstance(value, Deviation):
        raise _NoRuleError(f"of a {type(value).__name__} that does not come from the input")
    return value


def _pack(result: Any, bounds: Any, walk: Walk) -> Any:
    if isinstance(result, (tuple, list)):
        each = bounds if isinstance(bounds, list) else [bounds] * len(result)
        return type(result)(_pack(part, bound, walk) for part, bound in zip(result, each, strict=True))
    if not isinstance(result, Spread):
        return result
    if not isinstance(bounds, Tensor):
        shape = value_of(result).shape[:1] or (1,)
        bounds = torch.full(shape, bounds, dtype=torch.float64)
    return make_deviation(result, bounds, walk)


def _map(value: Any) -> Any:
    if isinstance(value, Deviation):
        return value.held
    if isinstance(value, LayerTensor):
        return value.as_subclass(Tensor)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_map(entry) for entry in value)
    return value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [entry for part in value.values() for entry in _flat(part)]
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in _flat(part)]
    return [value]


_MOVES = (
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
    "chunk",
    "split",
    "__getitem__",
    "dropout",
    "dropout2d",
)
_SUMS = ("add", "add_", "__add__", "__radd__", "__iadd__")
_OF_MANY = {*_SUMS, "cat"}  # may join several tensors that come from the input
_ROUNDINGS = {"leaky_relu": 2, "tanh": _ELEMENTARY_ULPS, "sigmoid": _ELEMENTARY_ULPS}

_RULES: dict[str, Callable[[Step], Any]] = {
    **dict.fromkeys(_MOVES, _move),
    **dict.fromkeys(_SUMS, _add),
    **dict.fromkeys(("avg_pool2d", "adaptive_avg_pool2d"), _average(_image_size)),
    "mean": _average(_summed),
    **{name: _activation(name, roundings=_ROUNDINGS.get(name, 0)) for name in ACTIVATIONS},
    "cat": _cat,
    "max_pool2d": _max_pool,
    "orient": _orient,
}
