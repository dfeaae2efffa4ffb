"""Kernels that compute norms, softmax and attention in another way: does a run leave the proven rounding bound?

Tried: means and variances joined in any tree, softmax with the largest number met so far and an exponential that is off
by 30 units, blocks of one key, the scale in another place, masks that are added first or together, numbers near both
ends of the range, masks that leave one key or none, infinite and huge negative masks. Some of it torch itself does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from deviations.test_deviation_rules import run
from torch import Tensor
from torch.nn import functional

from netpact.network.rounding import attention, norms, softmax
from netpact.network.rounding.tolerance import current_rounding, make_spread, rounding, spread_of, value_of

F = np.float32
attend: Any = functional.scaled_dot_product_attention
UNIT = 2.0**-24


def share(found: Tensor, call: Callable[..., Any], *given: Tensor, arithmetic: str = "float32") -> float:
    """The largest share of its bound that a run is away; above 1, or no number, where the bound does not hold."""
    with rounding(arithmetic):
        start = [make_spread(x.double(), torch.zeros(x.shape, dtype=torch.float64)) for x in given]
        result = call(*start)
    apart, allowed = (found.double() - value_of(result)).abs(), spread_of(result)
    holds = (apart <= allowed) | torch.isinf(allowed)
    return float(torch.where(holds, apart / allowed.clamp(min=1e-320), torch.inf).nan_to_num(nan=0.0).max())


# --- norms: a tree of groups

Group = tuple[int, Any, Any]  # entries, mean, sum of squares around it


def join(a: Group, b: Group) -> Group:
    """Chan, Golub and LeVeque 1983, as torch writes it, or Welford's update where b is one entry."""
    entries = a[0] + b[0]
    share, apart = F(b[0]) / F(entries), b[1] - a[1]
    mean = a[1] + share * apart
    added = apart * (b[1] - mean) if b[0] == 1 else apart * apart * share * F(a[0])
    return entries, mean, a[2] + (b[2] + added)


def in_order(x: list[Any]) -> Group:
    found: Group = (1, x[0], F(0))
    for entry in x[1:]:
        found = join(found, (1, entry, F(0)))
    return found


def at_random(x: list[Any], draw: random.Random) -> Group:
    groups: list[Group] = [(1, entry, F(0)) for entry in x]
    while len(groups) > 1:
        a, b = (groups.pop(draw.randrange(len(groups))) for _ in range(2))
        groups.append(join(a, b))
    return groups[0]


def last_first(x: list[Any]) -> Group:
    """The tail of a row is one group, the rest is joined to it at once."""
    return join((1, x[-1], F(0)), in_order(x[:-1]))


def normed(x: list[Any], group: Group, eps: float) -> Tensor:
    inverse = F(1) / np.sqrt(group[2] / F(len(x)) + F(eps))
    return torch.tensor(np.array([(entry - group[1]) * inverse for entry in x]))[None]


def rows(draw: random.Random) -> list[Any]:
    n, kind = draw.choice((2, 3, 7, 16, 40)), draw.randrange(4)
    if kind == 0:  # far from 0: what is summed cancels
        return [F(draw.uniform(20, 21)) for _ in range(n)]
    if kind == 1:  # one entry is everything
        return [F(draw.uniform(0, 1e-3)) for _ in range(n - 1)] + [F(draw.uniform(1, 2))]
    if kind == 2:
        return [F(draw.gauss(0, 1)) for _ in range(n)]
    return [F(draw.choice((-1, 1)) * 2.0 ** draw.randrange(-12, 3)) for _ in range(n)]


def test_norms_of_groups_that_are_joined_in_any_tree() -> None:
    draw, shares = random.Random(0), []
    for _ in range(150):
        x, eps = rows(draw), draw.choice((1e-5, 1e-2))
        call = partial(functional.layer_norm, normalized_shape=(len(x),), eps=eps)
        given = torch.tensor(np.array(x))[None]
        for group in (in_order(x), last_first(x), at_random(x, draw)):
            shares.append(share(normed(x, group, eps), call, given))
    assert 0.01 < max(shares) <= 1


def worst_tail(n: int = 256) -> float:
    """One large entry at the end, one that is the mean, and nothing else: of the mean's error nothing is forgiven."""
    found = 0.0
    for step in range(24):
        size = 1 + step / 31
        x = [F(0)] * (n - 2) + [F(size / n), F(size)]
        y = normed(x, last_first(x), 1e-2)[:, -2]
        call = lambda t: functional.layer_norm(t, (n,), eps=1e-2)[:, -2]  # noqa: E731
        found = max(found, share(y, call, torch.tensor(np.array(x))[None]))
    return found


def test_a_group_of_one_that_meets_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order of a sum would cost n + 2 units; this tree takes more."""
    assert worst_tail() <= 1
    monkeypatch.setattr(norms, "mean_error", lambda r, n: r.gamma(n + 2))
    assert worst_tail() > 1


TINY = torch.full((4,), 2.0**-100)
IMAGE = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_scale_below_the_smallest_number(layout: torch.memory_format) -> None:
    """torch's group norm multiplies w with 1 / r first: 2^-100 times 2^-40 has few digits left."""
    x = (IMAGE * 2.0**40).contiguous(memory_format=layout)

    def call(t: Tensor) -> Tensor:
        return functional.group_norm(t, 2, TINY.to(t.dtype))

    assert share(call(x), call, x) <= 1


def test_differences_that_are_flushed_to_zero() -> None:
    """x - mean is subnormal where x is not, and 1 / r is large."""
    x = 2.0**-112 * (1 + 2.0**-15 * torch.tensor([[1.0, -1.0] * 8]))
    for call in (
        lambda t: functional.layer_norm(t, (16,)),
        lambda t: functional.group_norm(t[..., None], 1),
        lambda t: functional.instance_norm(t[:, None]),
    ):
        torch.set_flush_denormal(True)
        try:
            found = call(x)
        finally:
            torch.set_flush_denormal(False)
        assert share(found, call, x) <= 1


def test_a_factor_that_overflows_before_it_meets_its_entry() -> None:
    """x (w / r) - mean (w / r): both products are infinite, their difference is not."""
    x, w = torch.tensor([[1e10, 1e10 + 2048, 1e10]]), torch.full((3,), 1e38)
    assert bool(torch.isinf(x * (w * 1e-9)).all())

    def call(t: Tensor) -> Tensor:
        return functional.layer_norm(t, (3,), w.to(t.dtype), eps=1e18)

    with rounding("float32"):
        spread = spread_of(call(make_spread(x.double(), torch.zeros(1, 3, dtype=torch.float64))))
    assert bool(torch.isinf(spread).all())


# --- softmax and attention: the largest number so far


def exp_off(x: Tensor) -> Tensor:
    """An exponential that is good to 30 units, and no better: some of torch's are good to 20."""
    return (torch.exp(x.double()) * (1 + 30 * UNIT)).float()


def attend_online(q: Tensor, k: Tensor, v: Tensor, *, block: int, scale: float) -> Tensor:
    """Keys in blocks, each rescaling what was summed before; all in float32."""
    scores = (q @ k.mT) * scale
    largest = torch.full((*scores.shape[:-1], 1), -torch.inf)
    total, summed = torch.zeros_like(largest), torch.zeros(*scores.shape[:-1], v.shape[-1])
    for part, values in zip(scores.split(block, -1), v.split(block, -2), strict=True):
        higher = torch.maximum(largest, part.amax(-1, keepdim=True))
        again, seen = exp_off(largest - higher), exp_off(part - higher)
        total, summed, largest = (total * again + seen.sum(-1, keepdim=True), summed * again + seen @ values, higher)
    return summed / total


def climbing(keys: int) -> tuple[Tensor, Tensor, Tensor]:
    """Every key is looked at a little more than the one before it: the largest number changes each time."""
    k = (1 + torch.arange(keys) * 2.0**-18)[:, None].expand(keys, 2)
    v = (torch.arange(keys) < keys // 2).float()[:, None]
    return torch.ones(1, 2), k.contiguous(), v


@pytest.mark.parametrize("block", [1, 3, 16, 64])
def test_blocks_of_any_size(block: int) -> None:
    q, k, v = climbing(256)
    found = attend_online(q, k, v, block=block, scale=0.5)
    assert share(found, lambda *t: attend(*t, scale=0.5), q, k, v) <= 1


def test_blocks_of_sixteen_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = climbing(256)
    found = attend_online(q, k, v, block=1, scale=0.5)
    monkeypatch.setattr(softmax, "exponent_units", lambda n: 36 * (2 + n // 16))
    assert share(found, lambda *t: attend(*t, scale=0.5), q, k, v) > 1


def test_one_pass_for_the_sum_of_exponentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Milakov and Gimelshein 2018: the largest number and the sum in one pass. The same for logarithms."""
    x = torch.arange(256)[None] * 2.0**-18
    total, largest = torch.zeros(1), torch.tensor([-torch.inf])
    for entry in x[0]:
        higher = torch.maximum(largest, entry)
        total, largest = total * exp_off(largest - higher) + exp_off(entry - higher), higher
    seen = exp_off(x - largest) / total
    logs, whole = (x - largest) - total.log(), (total.log() + largest)[None]

    def shares() -> list[float]:
        return [
            share(seen, lambda t: t.softmax(1), x),
            share(logs, lambda t: t.log_softmax(1), x),
            share(whole, lambda t: t.logsumexp(1, keepdim=True), x),
        ]

    assert max(shares()) <= 1
    monkeypatch.setattr(softmax, "exponent_units", lambda n: 36)
    monkeypatch.setattr("netpact.network.rounding.powers.exponent_units", lambda n: 36)
    assert min(shares()) > 1


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6, 3e10])
def test_logarithms_by_one_difference(offset: float) -> None:
    """x - (m + log sum): what is taken away is rounded, large as it is."""
    x = torch.randn(4, 50, generator=torch.Generator().manual_seed(0)) + offset
    largest = x.amax(1, keepdim=True)
    found = x - (largest + (x - largest).exp().sum(1, keepdim=True).log())
    assert share(found, lambda t: t.log_softmax(1), x) <= 1


def test_values_whose_sum_overflows_before_it_is_divided() -> None:
    """torch's own kernel: 1,000 keys that are looked at alike, each with the value 2e36."""
    given = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 1000, 4), torch.full((1, 1, 1000, 4), 2e36)
    found = attend(*given)
    assert bool(torch.isinf(found).all())
    assert share(found, attend, *given) <= 1


def at_one_end(*, of_q: float, of_k: float) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(n, 64, generator=generator) for n in (2, 4, 4))
    return q * of_q, k * of_k, v


@pytest.mark.parametrize(
    ("scale", "of_q", "of_k"),
    [(0.125, 2.0**-142, 2.0**120), (0.125, 2.0**-126, 2.0**124), (2.0**40, 2.0**100, 2.0**-142)],
)
def test_a_scale_that_is_multiplied_into_the_queries(scale: float, of_q: float, of_k: float) -> None:
    """nn.MultiheadAttention does so. Scaled queries may be subnormal or infinite where the scores are neither."""
    q, k, v = at_one_end(of_q=of_q, of_k=of_k)
    for flush in (False, True):
        torch.set_flush_denormal(flush)
        try:
            found = ((q * scale) @ k.mT).softmax(-1) @ v
        finally:
            torch.set_flush_denormal(False)
        assert share(found, lambda *t: attend(*t, scale=scale), q, k, v) <= 1


def test_masks_that_are_added_to_each_other_first() -> None:
    """In that order their sum is rounded at 2^24, though every score is small; or the mask is where the sum begins."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(1, 1, 3, 8, generator=generator), torch.randn(1, 1, 4, 8, generator=generator)
    one, other = torch.full((3, 4), 2.0**23), -(2.0**23) + torch.randn(3, 4, generator=generator).round(decimals=1)
    with rounding("float32"):
        wrapped = [make_spread(t.double(), torch.zeros(t.shape, dtype=torch.float64)) for t in (q, k, one, other)]
        none = torch.zeros(3, 4, dtype=torch.bool)
        masks = [(none, mask) for mask in wrapped[2:]]
        x, s = attention.score_rule(current_rounding(), wrapped[0], wrapped[1], masks, 1.0)
    started = one.expand(1, 1, 3, 4)
    for feature in range(8):
        started = started + q[..., feature, None] * k[..., None, :, feature]
    for found in ((one + other) + q @ k.mT, started + other):
        assert bool(((found.double() - x).abs() <= s).all())


@pytest.mark.parametrize("fill", [-torch.inf, -1e4, -1e9, -3e38])
def test_masks_that_leave_one_key(fill: float) -> None:
    """Entries far below are nothing on every machine: the bound is as narrow as without them."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, 4, 8, generator=generator) for _ in range(3))
    mask = torch.full((4, 4), fill).fill_diagonal_(0.0)

    def call(*t: Tensor) -> Tensor:
        return attend(*t, attn_mask=mask.to(t[0].dtype))

    assert share(call(q, k, v), call, q, k, v) <= 1
    with rounding("float32"):
        spread = spread_of(call(*(make_spread(x.double(), torch.zeros(x.shape).double()) for x in (q, k, v))))
    assert float(spread.max()) < 1e-4


def test_a_row_without_any_key_has_no_bound() -> None:
    """0 in this torch, no number in others: such a sample must not count as right."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, 4, 8, generator=generator) for _ in range(3))
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[2] = False

    def call(*t: Tensor) -> Tensor:
        return attend(*t, attn_mask=mask)

    with rounding("float32"):
        found = call(*(make_spread(x.double(), torch.zeros(x.shape).double()) for x in (q, k, v)))
    bound = spread_of(found).nan_to_num(nan=torch.inf, posinf=torch.inf)
    assert bool(torch.isinf(bound[0, 0, 2]).all())
    assert bool(torch.isfinite(bound[0, 0, [0, 1, 3]]).all())
    assert torch.allclose(value_of(found).float(), call(q, k, v), atol=1e-6)


@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
@pytest.mark.parametrize(("below", "wide"), [(760.0, 60.0), (745.0, 10.0), (700.0, 15.0), (40.0, 3.0), (820.0, 0.0)])
def test_probabilities_that_underflow_may_come_back(arithmetic: str, below: float, wide: float) -> None:
    """exp(-760) is 0 in float64. If the exponent may be higher by 60 the probability is a number all the same."""
    x = torch.tensor([[0.0, -below, -below]], dtype=torch.float64)
    s = torch.tensor([[0.0, wide, wide]], dtype=torch.float64)
    with rounding(arithmetic):
        found = make_spread(x, s).softmax(1)
    with mpmath.workdps(40):
        terms = [mpmath.mpf(1), mpmath.exp(wide - below), mpmath.exp(-wide - below)]
        for index, term in enumerate(terms):
            apart = abs(term / sum(terms) - mpmath.mpf(float(value_of(found)[0, index])))
            assert apart <= mpmath.mpf(float(spread_of(found)[0, index]))


# --- two networks


def test_the_other_network_may_run_on_such_kernels_too() -> None:
    """No difference in the input at all: what is left is the other network's rounding."""
    flushed = 2.0**-112 * (1 + 2.0**-15 * torch.tensor([[1.0, -1.0] * 8]))
    torch.set_flush_denormal(True)
    try:
        norm = functional.layer_norm(flushed, (16,))
    finally:
        torch.set_flush_denormal(False)
    q, k, _ = climbing(256)
    scores = (q @ k.mT) * 0.5
    seen = attend_online(q, k, torch.eye(256), block=1, scale=0.5)
    masked = torch.tensor([[0.3, -1e9, 1.7, -3e38]])
    for found, call, x, most in (
        (norm, lambda t: functional.layer_norm(t, (16,)), flushed, 1e-30),
        (seen, lambda t: t.softmax(1), scores, 1e-1),
        (masked.softmax(1), lambda t: t.softmax(1), masked, 1e-4),
    ):
        result, walk = run(call, x.double(), torch.zeros(1, dtype=torch.float64))
        apart = torch.linalg.vector_norm(found.double() - value_of(result.held))
        assert not walk.problems()
        assert apart <= float(result.bound) <= most
