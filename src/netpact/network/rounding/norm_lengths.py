"""How far layer, group, instance and RMS norm can be off in the Euclidean norm.

    c = x - mean(x),   r = sqrt(mean(c^2) + eps),   y = w c / r + b        over groups of n entries; RMS norm has c = x

Let x move by d in a group, by e in a row. c / r has the derivative (1/r) (I - c c^T / (n r^2)) P, P the projection to
c: its norm is at most 1 / r, because |c|^2 <= n r^2. On the way from x to the moved one r stays above

    low = max(r - d / sqrt(n), sqrt(eps))                r is a norm of (c, sqrt(n eps)), divided by sqrt(n)

so that c / r moves by at most d / low, and a row of groups by e / min low. (Entry by entry, norms.py needs twice that
much and the root of n more.) Rounding, with X = |x| + d over a group: norms.py bounds what each entry is off by

    ((1 + theta) (mean_error mean|x| + gamma_8 (|x| + mean|x|) + lost) + theta |c|) / low

and sqrt(n) mean|x| <= X, |c| <= X, so the group is off by at most

    ((1 + theta) ((mean_error + 2 gamma_8) X + sqrt(n) lost) + theta X) / low

w and b cost what they cost there: max |w| multiplies all of that, gamma_4 |b| and gamma_2 |y| are added.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from netpact.algebra.outward import length_up, norm_up, round_up, round_up_float
from netpact.network.rounding.length_call import Call, first_of, length_of
from netpact.network.rounding.norm_call import NORM_NAMES, NormCall, read_norm_call
from netpact.network.rounding.norms import inverse_root_error, mean_error, own_error
from netpact.network.rounding.sum_rules import LEAST_VARIANCE
from netpact.network.rounding.tolerance import NoRuleError, Spread, value_of

_DOWN = 1 - 2.0**-40  # covers the few roundings of `low`


def norm_length(call: Call) -> Tensor:
    given = first_of(call)
    norm = read_norm_call(call.name, call.args[1:], call.kwargs, tuple(given.shape))
    if isinstance(norm.weight, Spread) or isinstance(norm.bias, Spread):
        raise NoRuleError("by numbers that are computed from parameters")
    if not norm.eps >= LEAST_VARIANCE:
        raise NoRuleError(f"with eps {norm.eps}")
    r, n, moved = call.rounding, norm.terms, length_of(given)
    x = norm.split(value_of(given))
    sizes = norm_up(x.reshape(-1, n)).view(x.shape[:2])  # of each group
    spot = x.mean(dim=2, keepdim=True) if norm.centred else x.new_zeros(())
    root = ((x - spot).square().mean(dim=2) + norm.eps).sqrt()
    own = own_error(n)
    left = root * (1 - own) - round_up((moved[:, None] + own * sizes) / math.sqrt(n))
    low = torch.maximum(left, torch.full_like(root, math.sqrt(norm.eps))) * _DOWN
    reach = round_up(sizes + moved[:, None])
    theta = inverse_root_error(r, n, round_up(reach.square() / n), norm.eps, low)
    lost = math.sqrt(n) * r.underflow(n + 2)
    noise = ((1 + theta) * ((mean_error(r, n) + 2 * r.gamma(8)) * reach + lost) + theta * reach) / low
    noise = torch.where(torch.isfinite(theta) & (reach.square() * n <= r.highest), round_up(noise), torch.inf)
    least = low.amin(dim=1)
    found = round_up(moved / least + norm_up(noise))
    return _scaled(call, norm, found, reach=norm_up(reach), least=least)


def _scaled(call: Call, norm: NormCall, found: Tensor, *, reach: Tensor, least: Tensor) -> Tensor:
    """What w and b add. reach: the norm of each row's numbers, from above; least: the smallest `low` of a row."""
    r, steep, size = call.rounding, round_up((1 + 2 * reach) / least), norm_up(call.value)
    if norm.weight is not None:
        most = round_up_float(float(value_of(norm.weight).detach().abs().max()))
        found, steep = most * found, max(1.0, most) * steep
    if norm.bias is not None:
        numbers = value_of(norm.bias).detach().double()
        copies = call.value.numel() // (len(call.value) * numbers.numel())
        found = found + r.gamma(4) * round_up_float(length_up(numbers) * math.sqrt(copies))
    size = round_up(size + found)
    found = r.limit(round_up(found + r.gamma(2) * size), size + steep, gain=4.0)
    return round_up(found + r.underflow(1) * (4 * call.root + 2 * reach))


NORM_LENGTHS = dict.fromkeys(NORM_NAMES, norm_length)
