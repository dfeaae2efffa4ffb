"""What sums do to the spread: layers with weights, averages, sums of two tensors, batch norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netpact.network.rounding.tolerance import SMALLEST_FLOAT32, Constant, NoRuleError, Rounding, spread_of, value_of

Rule = Callable[..., tuple[Tensor, Tensor]]

LEAST_VARIANCE = 2.0**-100  # far above what flushing can change, far below any eps in use
# torch's arguments behind the input, in their order, with its defaults
_NORM_CALL: dict[str, Any] = {
    **dict.fromkeys(("running_mean", "running_var", "weight", "bias")),
    "training": False,
    "momentum": 0.1,
    "eps": 1e-5,
}
NORM_ROUNDINGS = 10  # eps, its sum with the variance, root, quotient, weight, mean, product, bias; and two to spare


def linear_rule(r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    if sums_exactly(r, x, weight, bias):
        product = functional.linear(value_of(x), value_of(weight), None if bias is None else value_of(bias))
        return product, torch.zeros_like(product)
    return _weighted_sums(functional.linear, r, x, weight, bias)


def conv_rule(convolve: Callable[..., Tensor]) -> Rule:
    """Convolutions with one, two or three axes of places."""

    def rule(
        r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None, *where: Any, **named: Any
    ) -> tuple[Tensor, Tensor]:
        def apply(image: Tensor, kernel: Tensor, shift: Tensor | None) -> Tensor:
            return convolve(image, kernel, shift, *where, **named)

        return _weighted_sums(apply, r, x, weight, bias)

    return rule


def transposed_rule(convolve: Callable[..., Tensor]) -> Rule:
    """Transposed convolutions: of their weights (inputs, outputs / groups, taps) a result sums one group's inputs."""

    def rule(
        r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None, *where: Any, **named: Any
    ) -> tuple[Tensor, Tensor]:
        groups = dict(zip(("stride", "padding", "output_padding", "groups"), where, strict=False)) | named

        def apply(image: Tensor, kernel: Tensor, shift: Tensor | None) -> Tensor:
            return convolve(image, kernel, shift, *where, **named)

        def by_outputs(weights: Tensor) -> Tensor:
            parts = weights.reshape(groups.get("groups", 1), -1, *weights.shape[1:])
            return parts.transpose(1, 2).flatten(0, 1)

        return _weighted_sums(apply, r, x, weight, bias, by_outputs)

    return rule


def _weighted_sums(
    apply: Callable[[Tensor, Tensor, Tensor | None], Tensor],
    r: Rounding,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    by_outputs: Callable[[Tensor], Tensor] = lambda weights: weights,
) -> tuple[Tensor, Tensor]:
    """W x + b: sums of n products and a bias. s, T, t are the spreads of x, W and b; T and t are nearly always 0.

    spread = (|W| + T) (s + gamma (|x| + s)) + T |x| + t + gamma (|b| + t),   gamma of n + 1 roundings

    by_outputs  the weights as one row of terms for each channel of the result
    """
    value, spread, weights = value_of(x), spread_of(x), value_of(weight)
    if weights.dim() < 2:
        raise NoRuleError("by a vector")
    terms = math.prod(by_outputs(weights).shape[1:])
    gamma = r.gamma(terms + 1)
    wide, shift = weights.abs(), None
    loose = isinstance(weight, Constant)
    if loose:
        wide = wide + spread_of(weight)
    plus = 0.0
    if bias is not None:
        reach = value_of(bias).abs() + spread_of(bias)
        plus = float(reach.max()) if len(reach) else 0.0
        shift = spread_of(bias) + gamma * reach
    size = value.abs() + spread
    gain = float(by_outputs(wide).flatten(1).sum(dim=1).max()) if wide.numel() else 0.0
    spread = apply(spread + gamma * size, wide, shift) + r.underflow(terms)
    if loose:
        spread = spread + apply(value.abs(), spread_of(weight), None)
    if not r.is_safe(size, gain=gain, plus=plus):
        # The sum of magnitudes bounds every partial sum in every order.
        sums = apply(size, wide, None if bias is None else reach)
        spread = torch.where(sums <= r.highest, spread, torch.inf)
    return apply(value, weights, None if bias is None else value_of(bias)), spread


def sums_exactly(r: Rounding, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    """Integers times integers: up to 1/u, 2^24 in float32, every partial sum in every order is exact."""
    tensors = [weight, x] if bias is None else [weight, bias, x]
    if any(isinstance(tensor, Constant) for tensor in tensors[:-1]) or bool((spread_of(x) != 0).any()):
        return False
    if not all(torch.equal(value_of(tensor), torch.round(value_of(tensor))) for tensor in tensors):
        return False
    sums = functional.linear(value_of(x).abs(), weight.abs(), None if bias is None else bias.abs())
    return bool((sums * r.unit <= 1).all())


def average_rule(pool: Callable[..., Tensor], terms: Callable[[Tensor, Tensor], int]) -> Rule:
    """An average of n numbers: spread = mean(s) + gamma_{n+1} mean(|x| + s)."""

    def rule(r: Rounding, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        value = value_of(x)
        result = pool(value, *args, **kwargs)
        count = terms(value, result)
        size = value.abs() + spread_of(x)
        reach = r.limit(spread_of(x), size, gain=count) + r.gamma(count + 1) * size
        # A divisor of the caller's own may be negative.
        return result, pool(reach, *args, **kwargs).abs() + r.underflow(count)

    return rule


def sum_of_two_rule(combine: Callable[[Tensor, Tensor], Tensor]) -> Rule:
    """A sum or difference of two tensors, or of a tensor and a number."""

    def rule(r: Rounding, a: Any, b: Any, *, alpha: float = 1) -> tuple[Tensor, Tensor]:
        if alpha != 1:
            raise NoRuleError("with alpha")
        left, right = _as_tensor(a, b), _as_tensor(b, a)
        value = combine(value_of(left), value_of(right))
        # A number written in the program is rounded to the precision before it is added.
        numbers = sum(abs(number) for number in (a, b) if not isinstance(number, Tensor))
        spread = spread_of(left) + spread_of(right) + r.gamma(1) * numbers
        size = value.abs() + spread
        return value, r.limit(spread, size, plus=numbers) + r.gamma(1) * size

    return rule


def _as_tensor(a: Any, other: Any) -> Tensor:
    if isinstance(a, Tensor):
        return a
    if not isinstance(a, (int, float)):
        raise NoRuleError(f"of a tensor and a {type(a).__name__}")
    return torch.full_like(value_of(other), a)


@dataclass(frozen=True)
class Norming:
    """A batch norm with its running statistics, as one call states it; weight and bias may be missing."""

    mean: Tensor
    variance: Tensor
    weight: Tensor | None
    bias: Tensor | None
    eps: float

    @property
    def tensors(self) -> tuple[Tensor | None, ...]:
        return (self.mean, self.variance, self.weight, self.bias)

    @property
    def factor(self) -> Tensor:
        return torch.ones_like(value_of(self.variance)) if self.weight is None else value_of(self.weight)

    @property
    def shift(self) -> Tensor:
        return torch.zeros_like(value_of(self.variance)) if self.bias is None else value_of(self.bias)

    @property
    def inverse(self) -> Tensor:
        return (value_of(self.variance) + self.eps).rsqrt()

    @property
    def scale(self) -> Tensor:
        return self.factor * self.inverse


def read_norming(stated: tuple[Any, ...], named: dict[str, Any]) -> Norming:
    """torch's arguments behind the input. Refused where a channel's scale is not known."""
    call = _NORM_CALL | dict(zip(_NORM_CALL, stated, strict=False)) | named
    mean, variance, weight, bias, training, _, eps = (call[name] for name in _NORM_CALL)
    if training or mean is None or variance is None:
        raise NoRuleError("in training mode or without running statistics")
    for tensor in (mean, variance, weight, bias):
        # What flushing does to a channel's numbers is allowed for in the rules; anything more has no rule.
        if isinstance(tensor, Constant) and bool((spread_of(tensor) > SMALLEST_FLOAT32).any()):
            raise NoRuleError("of numbers that are computed from parameters")
    refuse_cancelling(value_of(variance), eps)
    return Norming(mean, variance, weight, bias, eps)


def batch_norm_rule(r: Rounding, x: Tensor, *stated: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """Per channel (x - mean) * scale + bias in whatever order: at most ten roundings of numbers of these magnitudes."""
    norming = read_norming(stated, named)
    mean, variance, weight, bias = (value_of(norming.mean), value_of(norming.variance), norming.factor, norming.shift)
    value, spread = value_of(x), spread_of(x)
    axes = (1, -1, *(1,) * (value.dim() - 2))
    inverse, scale = norming.inverse, norming.scale.abs()
    size = value.abs() + spread
    reach = scale.view(axes) * size + (scale * mean.abs() + bias.abs()).view(axes)
    normed = functional.batch_norm(value, mean, variance, weight, bias, False, 0.0, norming.eps)
    # The scale itself may underflow, or the weight be flushed, and meet a large x or mean.
    steep = inverse.clamp(min=1)
    tiny = max(r.underflow(1), 4 * SMALLEST_FLOAT32) * (
        steep.view(axes) * (size + mean.abs().view(axes)) + (scale + 1).view(axes)
    )
    gain = float((steep * weight.abs().clamp(min=1)).max())
    spread = r.limit(spread, size, gain=gain, plus=gain * float(mean.abs().max()) + float(bias.abs().max()))
    return normed, scale.view(axes) * spread + r.gamma(NORM_ROUNDINGS) * reach + tiny


def refuse_cancelling(variance: Tensor, eps: float) -> None:
    """A difference of two numbers could be anything after rounding: zero, or negative, and its root NaN."""
    if not bool((variance >= 0).all()) or not bool((variance + eps >= LEAST_VARIANCE).all()):
        raise NoRuleError("with a negative running variance, or one that vanishes together with eps")


def _places(axes: int) -> Callable[[Tensor, Tensor], int]:
    """More terms than a window can have; the slack is far below anything that matters."""
    return lambda value, result: math.prod(value.shape[-axes:])


def _summed(value: Tensor, result: Tensor) -> int:
    return value.numel() // max(1, result.numel())


# Means and sums: the function itself, and how many terms one of its results has at most.
AVERAGES: dict[str, tuple[Callable[..., Tensor], Callable[[Tensor, Tensor], int]]] = {
    "avg_pool1d": (functional.avg_pool1d, _places(1)),
    "avg_pool2d": (functional.avg_pool2d, _places(2)),
    "avg_pool3d": (functional.avg_pool3d, _places(3)),
    "adaptive_avg_pool1d": (functional.adaptive_avg_pool1d, _places(1)),
    "adaptive_avg_pool2d": (functional.adaptive_avg_pool2d, _places(2)),
    "adaptive_avg_pool3d": (functional.adaptive_avg_pool3d, _places(3)),
    "mean": (torch.mean, _summed),
    "sum": (torch.sum, _summed),
}

CONVOLUTIONS: dict[str, Rule] = {
    "conv1d": conv_rule(functional.conv1d),
    "conv2d": conv_rule(functional.conv2d),
    "conv3d": conv_rule(functional.conv3d),
    "conv_transpose1d": transposed_rule(functional.conv_transpose1d),
    "conv_transpose2d": transposed_rule(functional.conv_transpose2d),
    "conv_transpose3d": transposed_rule(functional.conv_transpose3d),
}
