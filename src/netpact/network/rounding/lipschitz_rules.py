"""How much operations without weights enlarge a difference in the Euclidean norm, sample by sample.

An operation f that is Lipschitz with constant L on samples, and is computed up to rounding errors of norm r, gives

    e_out <= L e_in + r

The same rules serve rounding alone (euclid.py), where the run that differs is any run of one network, and two networks
(netpact.deviations), where it is that of the other one. What a call does not say is refused with NoRuleError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.lipschitz import Sides, adaptive_pool_constant, averaging_norm, max_pool_constant, mixes_samples
from netpact.algebra.outward import norm_up, round_up
from netpact.network.rounding.operation import Operation
from netpact.network.rounding.pointwise import describe, overflow_limits
from netpact.network.rounding.sum_rules import AVERAGES
from netpact.network.rounding.tolerance import NoRuleError

Enlarging = Callable[[Operation], Tensor]


def pointwise(call: Operation) -> Tensor:
    """A function of every entry by itself, n entries; what rounding adds is described by Pointwise.

    e_out = m + gamma (of_value (|f(x)| + m) + of_input (|x| + e) + fixed sqrt(n)),   m = slope e + jump sqrt(n)
    """
    x, r = call.first_carried(), call.rounding
    known = describe(call.name, call.args, call.kwargs)
    if not known.roundings:
        return round_up(known.slope * x.bound + known.jump * call.root + call.tiny)
    felt = round_up(x.size + x.bound)
    moved = round_up(known.slope * x.bound + known.jump * call.root)
    reach = known.of_value * (call.outcome_size + moved) + known.of_input * felt + known.fixed * call.root
    lost = r.underflow(1) * (felt + (known.fixed + 1) * call.root) + call.tiny
    return r.limit(round_up(moved + r.gamma(known.roundings) * reach + lost), felt, **overflow_limits(known))


def sum_of_two(call: Operation) -> Tensor:
    """A sum or difference: e = e_1 + e_2. An entry that is added in many places counts that many times, by the root."""
    if len(call.args) != 2 or call.kwargs.get("alpha", 1) != 1:
        raise NoRuleError("with named tensors or alpha")
    r = call.rounding
    total = torch.zeros(len(call.outcome), dtype=torch.float64)
    for part in call.args:
        if isinstance(part, Tensor):
            total = total + call.added_bound(part)
    # Numbers written in the program are rounded before they are added.
    numbers = sum(abs(part) for part in call.args if not isinstance(part, Tensor))
    total = round_up(total + r.gamma(1) * numbers * call.root)
    reach = round_up(call.outcome_size + total)
    return r.limit(round_up(total + r.gamma(1) * reach + call.tiny), reach, plus=numbers)


def join(call: Operation) -> Tensor:
    """Joined along an axis, or a new one: e = sqrt(e_1^2 + e_2^2 + ...)."""
    if not call.args:
        raise NoRuleError("with named tensors")
    axis = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else 0)
    if axis % call.outcome.dim() == 0:
        raise NoRuleError("along the samples' axis")
    bounds = [call.joined_bound(part) for part in call.args[0]]
    return norm_up(torch.stack([bound for bound in bounds if bound is not None], dim=1))


def average(call: Operation) -> Tensor:
    """Means or sums of n entries: e_out = |A| (e + gamma_{n+1} (|x| + e))."""
    x, r = call.first_carried(), call.rounding
    shape = tuple(x.value.shape[1:])
    norm = call.once(shape, lambda: averaging_norm(call.repeat, shape))
    if norm is None:
        raise NoRuleError("across samples")
    terms = AVERAGES[call.name][1](x.value, call.outcome)
    felt = round_up(x.size + x.bound)
    lost = r.underflow(terms + 1) * call.root
    return r.limit(round_up(norm * (x.bound + r.gamma(terms + 1) * felt) + lost), felt, gain=terms)


def max_pool(call: Operation) -> Tensor:
    x = call.first_carried()
    windows = _windows(call, x.value)
    told = dict(zip(("kernel_size", "stride", "padding", "dilation"), call.args[1:], strict=False)) | call.kwargs
    kernel = _sides(told["kernel_size"], windows)
    stride = _sides(told["stride"], windows) if told.get("stride") else kernel
    dilation = _sides(told.get("dilation", 1), windows)
    constant = max_pool_constant(kernel=kernel, stride=stride, dilation=dilation, windows=windows)
    return round_up(constant * x.bound + call.tiny)


def adaptive_max_pool(call: Operation) -> Tensor:
    x = call.first_carried()
    windows = _windows(call, x.value)
    sides = tuple(x.value.shape[-len(windows) :])
    return round_up(adaptive_pool_constant(sides=sides, windows=windows) * x.bound + call.tiny)


def _windows(call: Operation, x: Tensor) -> Sides:
    """How many along each axis; the operation's name ends in 2d or the like. The first axis is never one of them."""
    axes = int(call.name[-2])
    if x.dim() <= axes:
        raise NoRuleError("without samples")
    return tuple(call.outcome.shape[-axes:])


def _sides(value: Any, windows: Sides) -> Sides:
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * len(windows) if len(given) == 1 else given


def largest(call: Operation) -> Tensor:
    """Each entry is looked at once: |max a - max b| <= |a - b|_2 for each group, and the groups have none in common."""
    x = call.first_carried()
    shape = tuple(x.value.shape[1:])
    if call.once(shape, lambda: mixes_samples(call.repeat, shape)):
        raise NoRuleError("across samples")
    return round_up(x.bound + call.tiny)


# By the names that torch gives them; functions of every entry, sums and joins have many more.
POOLS: dict[str, Enlarging] = {
    **dict.fromkeys(AVERAGES, average),
    **{f"max_pool{axes}d": max_pool for axes in (1, 2, 3)},
    **{f"adaptive_max_pool{axes}d": adaptive_max_pool for axes in (1, 2, 3)},
    "amax": largest,
    "amin": largest,
}
