"""Functions that are applied to every entry by itself: how steep they are, and how exactly machines compute them.

One description serves the rounding bounds here and the calculus of netpact.deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from netpact.network.rounding.tolerance import NoRuleError

ULPS = 8  # libraries compute exp and its relatives to a few units in the last place
_LARGE = 2.0**64  # numbers of a program beyond this would leave float32 in a few steps
_HIGHEST_EXPONENT = 64.0  # exp of it is far from the largest float32

# The largest slopes, from above by less than 1e-6; a test computes them with thirty digits.
_GELU_SLOPE = 1.128905  # Phi(x) + x phi(x) at x = sqrt(2)
_TANH_GELU_SLOPE = 1.128994
_SILU_SLOPE = 1.09984  # (x + 2) / 4 where x tanh(x / 2) = 2
_HARDSWISH_SLOPE = 1.5  # (2 x + 3) / 6 at x = 3
_MISH_SLOPE = 1.088499  # the derivative of x tanh(log(1 + exp(x))), at x = 1.4907
_SELU_SLOPE = 1.7581  # scale * alpha, at 0 from below
_ERF_SLOPE = 1.12838  # 2 / sqrt(pi)


@dataclass(frozen=True, kw_only=True)
class Pointwise:
    """A function f of one number, as one call uses it.

        |f(x) - f(y)|       <= slope |x - y| + jump
        |computed - f(x)|   <= gamma_n (of_value |f(x)| + of_input |x| + fixed) + tiny (|x| + fixed + 1)

    n is `roundings`, tiny what underflow can lose. n = 0 stands for slope 1, no jump, and no rounding at all.
    """

    slope: float
    roundings: int = 0
    of_value: float = 1.0
    of_input: float = 0.0
    fixed: float = 0.0
    jump: float = 0.0


def _exact(x: object) -> Pointwise:
    """max(x, 0), |x| and their like."""
    return Pointwise(slope=1.0)


def _cut(x: object, min: Any = None, max: Any = None) -> Pointwise:  # noqa: A002  torch calls them so
    """Cut off at two numbers, which are rounded to the precision; small whole ones are the same in every precision."""
    limits = [abs(_number(limit)) for limit in (min, max) if limit is not None]
    held = all(float(limit).is_integer() and limit < 1 << 24 for limit in limits)
    return Pointwise(slope=1.0) if held else Pointwise(slope=1.0, roundings=2, of_value=0.0, fixed=sum(limits))


def _cut_below(x: object, min: Any) -> Pointwise:  # noqa: A002
    return _cut(x, min=min)


def _cut_above(x: object, max: Any) -> Pointwise:  # noqa: A002
    return _cut(x, max=max)


def _hardtanh(x: object, min_val: float = -1.0, max_val: float = 1.0) -> Pointwise:
    """nn.ReLU6 is this with 0 and 6."""
    return _cut(x, min_val, max_val)


def _leaky_relu(x: object, negative_slope: float = 0.01) -> Pointwise:
    """The slope is rounded, and the product."""
    return Pointwise(slope=max(1.0, abs(_number(negative_slope))), roundings=4)


def _times(x: object, other: Any) -> Pointwise:
    """The number is rounded, and the product."""
    return Pointwise(slope=abs(_number(other)), roundings=4)


def _over(x: object, other: Any, *, rounding_mode: str | None = None) -> Pointwise:
    """By division, or by a product with the inverse: at most three roundings."""
    if rounding_mode is not None:
        raise NoRuleError(f"with rounding_mode {rounding_mode}")
    if abs(_number(other)) <= 1 / _LARGE:
        raise NoRuleError(f"by {other}")
    return Pointwise(slope=1 / abs(other), roundings=6)


def _tanh(x: object) -> Pointwise:
    """The slope is 1 - tanh^2 <= 1."""
    return Pointwise(slope=1.0, roundings=ULPS)


def _sigmoid(x: object) -> Pointwise:
    """The slope is s (1 - s) <= 1/4. Where exp(-x) is infinite in float32 the result is 0, and s below underflow."""
    return Pointwise(slope=0.25, roundings=ULPS)


def _silu(x: object) -> Pointwise:
    """x / (1 + exp(-x)): exp to a few units, a sum of positive numbers, a quotient; all are relative errors.

    Where exp(-x) is infinite in float32 the result is 0 instead of less than |x| times the smallest number.
    """
    return Pointwise(slope=_SILU_SLOPE, roundings=ULPS + 4)


def _gelu(x: object, *, approximate: str = "none") -> Pointwise:
    """x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(q)) with q = sqrt(2/pi) (x + 0.04.. x^3).

    erf and tanh have condition numbers z f'(z) / f(z) <= 1, and both terms of q have one sign: the argument's roundings
    (two, or eight) become relative errors of the same size, beside those of the library. With |erf|, |tanh| <= 1 they
    are absolute ones, of gamma_16; for negative x nothing is left of 1 + erf(..) but such an error. Times |x|/2, and
    with three more roundings of numbers up to |x|, that is

        |computed - gelu(x)| <= |x|/2 gamma_16 + |x| gamma_3 <= gamma_11 |x|

    Twice as much is allowed, for libraries that compute erf by a polynomial to an absolute error of 1.5e-7.
    """
    slopes = {"none": _GELU_SLOPE, "tanh": _TANH_GELU_SLOPE}
    if approximate not in slopes:
        raise NoRuleError(f"with approximate={approximate!r}")
    return Pointwise(slope=slopes[approximate], roundings=3 * ULPS, of_value=0.0, of_input=1.0)


def _elu(x: object, alpha: float = 1.0) -> Pointwise:
    """alpha (exp(x) - 1) below 0: exp is at most 1 there, so its error and the difference's are absolute ones.

    |computed - elu(x)| <= alpha gamma_{8+1} + two roundings of a number up to alpha
    """
    if not _number(alpha) > 0:
        raise NoRuleError(f"with alpha {alpha}")
    return Pointwise(slope=max(1.0, alpha), roundings=ULPS + 4, of_value=0.0, fixed=alpha)


def _softplus(x: object, beta: float = 1.0, threshold: float = 20.0) -> Pointwise:
    """log(1 + exp(z)) / beta with z = beta x, and x itself where z is above the threshold: a step down of

        jump = log(1 + exp(-threshold)) / beta <= exp(-threshold) / beta

    which one machine may take and another not. z is rounded twice: that moves log(1 + exp(z)) by up to
    gamma_2 |z| s(z) with s the sigmoid, which is at most log(1 + exp(z)) + 1/e. exp moves it by gamma_8, the logarithm
    and the division by beta are relative errors: all in all at most gamma_12 (softplus(x) + 1/beta).
    """
    if not _number(beta) > 1 / _LARGE:
        raise NoRuleError(f"with beta {beta}")
    if not 0 <= threshold <= _HIGHEST_EXPONENT:
        raise NoRuleError(f"with threshold {threshold}")
    return Pointwise(slope=1.0, roundings=2 * ULPS, fixed=1 / beta, jump=math.exp(-threshold) / beta)


def _hardsigmoid(x: object) -> Pointwise:
    """(x + 3) / 6 cut off at 0 and 1, in whatever order of steps.

    Before it is cut off the error is at most gamma_4 (|x| + 3) / 6; cutting off cannot enlarge it, and where |x| > 6
    nothing is left of it. So it is at most 1.5 gamma_4, and a rounding of a number up to 1 may follow.
    """
    return Pointwise(slope=1 / 6, roundings=ULPS, of_value=0.0, fixed=1.0)


def _hardswish(x: object) -> Pointwise:
    """x times hardsigmoid, whose error is absolute: |computed - hardswish(x)| <= |x| (1.5 gamma_4 + gamma_3)."""
    return Pointwise(slope=_HARDSWISH_SLOPE, roundings=ULPS + 4, of_value=0.0, of_input=1.0)


def _mish(x: object) -> Pointwise:
    """x tanh(log(1 + exp(x))): the logarithm l is good to gamma_12 (l + 1), which moves tanh(l) by at most gamma_12
    times (l + 1) (1 - tanh(l)^2) <= 1.2; tanh itself and the product are relative errors. All in all gamma_24 |x|."""
    return Pointwise(slope=_MISH_SLOPE, roundings=4 * ULPS, of_value=0.0, of_input=1.0)


def _softsign(x: object) -> Pointwise:
    """x / (1 + |x|): three roundings of positive sums and quotients. The slope is 1 / (1 + |x|)^2."""
    return Pointwise(slope=1.0, roundings=4)


def _selu(x: object) -> Pointwise:
    """1.0507 x above 0, 1.7581 (exp(x) - 1) below, where exp is at most 1: as ELU, and one product more."""
    return Pointwise(slope=_SELU_SLOPE, roundings=2 * ULPS, fixed=_SELU_SLOPE)


def _erf(x: object) -> Pointwise:
    """As much is allowed as in GELU, for libraries that compute it by a polynomial."""
    return Pointwise(slope=_ERF_SLOPE, roundings=3 * ULPS, of_value=0.0, fixed=1.0)


def _wave(x: object) -> Pointwise:
    """sin and cos: libraries are good to a few units, relative to 1."""
    return Pointwise(slope=1.0, roundings=ULPS, of_value=0.0, fixed=1.0)


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise NoRuleError(f"by a {type(value).__name__}")
    if not abs(value) < _LARGE:
        raise NoRuleError(f"by {value}")
    return value


# By the names that torch gives its functions; the arguments are those of the call.
POINTWISE: Mapping[str, Callable[..., Pointwise]] = MappingProxyType(
    {
        **dict.fromkeys(("relu", "relu_", "relu6", "abs", "neg"), _exact),
        **dict.fromkeys(("clamp", "clip"), _cut),
        "clamp_min": _cut_below,
        "clamp_max": _cut_above,
        "hardtanh": _hardtanh,
        "leaky_relu": _leaky_relu,
        **dict.fromkeys(("mul", "mul_", "__mul__", "__rmul__", "__imul__"), _times),
        **dict.fromkeys(("div", "div_", "__truediv__", "__itruediv__"), _over),
        "tanh": _tanh,
        "sigmoid": _sigmoid,
        "silu": _silu,
        "gelu": _gelu,
        "elu": _elu,
        "softplus": _softplus,
        "hardsigmoid": _hardsigmoid,
        "hardswish": _hardswish,
        "mish": _mish,
        "softsign": _softsign,
        "selu": _selu,
        "erf": _erf,
        **dict.fromkeys(("sin", "cos"), _wave),
    }
)


def describe(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Pointwise:
    """What one call of a function in the table does to numbers."""
    if not args:
        raise NoRuleError("with named tensors")
    return POINTWISE[name](*args, **{key: value for key, value in kwargs.items() if key != "inplace"})


def overflow_limits(known: Pointwise) -> dict[str, float]:
    """How large the numbers on the way to a result are, for Rounding.limit: hardswish multiplies by 6 and divides."""
    return {"gain": 8 * max(1.0, known.slope), "plus": known.fixed + known.jump}
