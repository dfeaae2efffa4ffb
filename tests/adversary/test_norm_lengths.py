"""Norms computed from the sample, followed in the Euclidean norm: can an error or a kernel leave the length?

Tried: the worst direction by power iteration, groups of which one is nearly constant, errors as large as what is
normed, weights of very different sizes, biases in many places, means far from 0 that cancel, groups joined in any tree,
deep networks of convolutions between layer norms.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import mpmath
import numpy as np
import pytest
import torch
from adversary.test_euclidean_bound import follow, lengths_of_rows, quick, worst_change
from adversary.test_other_kernels import at_random, in_order, last_first, normed, rows
from torch import Tensor, nn
from torch.nn import functional

from netpact.network.rounding import norm_lengths, norms
from netpact.network.rounding.tolerance import Lengths, Rounding, Spread, as_constant, make_spread, rounding, value_of

WEIGHT, BIAS = torch.tensor([0.1, -3.0, 1.0, 0.5]), torch.tensor([5.0, 0.0, -1.0, 2.0])


def typed(tensor: Tensor, x: Tensor) -> Tensor:
    return tensor.to(x.dtype)


CALLS: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Tensor]]] = {
    "layer norm": ((3, 8), lambda x: functional.layer_norm(x, (8,))),
    "of tokens": ((2, 5, 4), lambda x: functional.layer_norm(x, (4,), typed(WEIGHT, x), typed(BIAS, x))),
    "of images": ((2, 2, 3, 3), lambda x: functional.layer_norm(x, (2, 3, 3), eps=1e-3)),
    "one group": ((2, 4, 3, 3), lambda x: functional.group_norm(x, 1)),
    "two groups": ((2, 4, 3, 3), lambda x: functional.group_norm(x, 2, typed(WEIGHT, x), typed(BIAS, x))),
    "instance norm": ((2, 3, 4, 4), functional.instance_norm),
    "instances with weights": (
        (2, 4, 5),
        lambda x: functional.instance_norm(x, None, None, typed(WEIGHT, x), typed(BIAS, x), eps=0.1),
    ),
    "rms norm": ((3, 8), lambda x: functional.rms_norm(x, (8,), eps=1e-4)),
    "rms norm with weights": ((3, 2, 4), lambda x: functional.rms_norm(x, (4,), typed(WEIGHT, x), 1e-4)),
}
NAMES = pytest.mark.parametrize("name", CALLS)


def draw(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@NAMES
def test_no_error_within_the_length_leaves_the_length(name: str) -> None:
    """Also where a group is nearly constant, where all numbers are large, and where the error is larger than they."""
    shape, call = CALLS[name]
    still = draw(shape, 1)
    still[:, 0] = 1 + 1e-4 * still[:, 0]
    ratios = []
    for x in (draw(shape), still, 50 + draw(shape, 2), 1e-4 * draw(shape, 3)):
        for length in (1e-5, 1e-2, 3.0):
            for alone in (False, True):
                bound = follow(call, x, length, alone=alone).length
                assert bound is not None
                ratios.append(float((worst_change(call, x, length, steps=6) / bound).max()))
    assert max(ratios) <= 1
    assert np.median(ratios) > 0.1, np.median(ratios)


@NAMES
def test_the_length_is_nearly_attained(name: str) -> None:
    """By a change of the group that varies least; with weights, where the largest of them is."""
    shape, call = CALLS[name]
    x = draw(shape, 5)
    bound = follow(call, x, 1e-5).length
    assert bound is not None
    least = 0.5 if "weights" in name or name in ("of tokens", "two groups") else 0.99
    assert float((worst_change(call, x, 1e-5) / bound).max()) > least


def test_the_group_that_varies_least_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the largest `low` of a row in place of the smallest an error leaves the length."""
    call, x = CALLS["two groups"][1], draw((2, 4, 3, 3))
    x[:, :2] *= 0.1
    monkeypatch.setattr(Tensor, "amin", Tensor.amax)
    bound = follow(call, x, 1e-3).length
    monkeypatch.undo()
    assert bound is not None
    assert float((worst_change(call, x, 1e-3) / bound).max()) > 1


def test_what_an_error_can_take_away_from_the_root_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its mean x is turned around: twice what the derivative at x says."""

    def call(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (2,), eps=1e-8)

    x = torch.tensor([[1e-2, -1e-2]], dtype=torch.float64)
    turned = float((call(-0.05 * x) - call(x)).norm())
    length = float(x.norm()) * 1.06
    bound = follow(call, x, length).length
    monkeypatch.setattr(norm_lengths.torch, "maximum", lambda root, least: x.square().mean(1, keepdim=True).sqrt())
    weaker = follow(call, x, length).length
    assert weaker is not None
    assert bound is not None
    assert float(weaker) < turned <= float(bound)


def slow_length(
    x: list[list[float]], moved: float, weight: list[float], bias: list[float], eps: float, *, centred: bool
) -> float:
    """One row of groups in float32, by the formulas of norm_lengths.py, number by number."""
    u, lost, n = 2.0**-24 + 2.0**-53, 4 * 2.0**-126, len(x[0])

    def gamma(terms: int) -> float:
        return terms * u / (1 - terms * u)

    worst = 0.0
    noise: list[float] = []
    reaches: list[float] = []
    numbers: list[float] = []
    for group in x:
        mean = sum(group) / n if centred else 0.0
        c = [entry - mean for entry in group]
        root = (sum(entry**2 for entry in c) / n + eps) ** 0.5
        low = max(root - moved / n**0.5, eps**0.5)
        reach = sum(entry**2 for entry in group) ** 0.5 + moved
        theta = 0.62 * gamma(9 * n + 16) * (reach**2 / n + eps) / low**2
        off = (gamma(4 * n) + 2 * gamma(8)) * reach + n**0.5 * (n + 2) * lost
        noise.append(((1 + theta) * off + theta * reach) / low)
        worst, reaches = max(worst, 1 / low), [*reaches, reach]
        numbers += [w * entry / root + b for w, entry, b in zip(weight, c, bias, strict=True)]
    found = max(map(abs, weight)) * (moved * worst + sum(one**2 for one in noise) ** 0.5)
    found += gamma(4) * (len(x) * sum(b**2 for b in bias)) ** 0.5
    found += gamma(2) * (sum(y**2 for y in numbers) ** 0.5 + found)
    return found + lost * (4 * (len(x) * n) ** 0.5 + 2 * sum(one**2 for one in reaches) ** 0.5)


@pytest.mark.parametrize("moved", [0.0, 1e-7, 0.3])
@pytest.mark.parametrize("size", [1e-38, 1.0, 300.0])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("light", [1.0, 1e-38])
def test_the_length_is_that_of_the_formulas(moved: float, size: float, centred: bool, light: float) -> None:
    x, eps = size * (draw((1, 3, 4)) + 2), 1e-2 if size >= 1 else 2.0**-90
    weight, bias = light * WEIGHT.double(), light * BIAS.double() if centred else torch.zeros(4).double()
    with rounding("float32", lengths=Lengths(alone=True)):
        start = make_spread(x.clone(), None, torch.full((1,), moved * size, dtype=torch.float64))
        found = (
            functional.layer_norm(start, (4,), weight, bias, eps)
            if centred
            else functional.rms_norm(start, (4,), weight, eps)
        )
    assert isinstance(found, Spread)
    assert found.length is not None
    slow = slow_length(x[0].tolist(), moved * size, weight.tolist(), bias.tolist(), eps, centred=centred)
    assert slow <= float(found.length) <= slow * (1 + 1e-6)


def test_numbers_near_the_end_of_the_range_are_bounded_by_nothing() -> None:
    """Squares that overflow in float32; and weights that carry what is normed beyond it."""
    for x, weight in ((1e19 * draw((1, 4)), 1.0), (draw((1, 4)), 2.0**125), (2.0**-60 * draw((1, 4)), 2.0**100)):
        with rounding("float32", lengths=Lengths(alone=True)):
            start = make_spread(x, None, torch.zeros(1, dtype=torch.float64))
            found = functional.layer_norm(start, (4,), torch.full((4,), weight, dtype=torch.float64), eps=2.0**-100)
        assert isinstance(found, Spread)
        assert found.length is not None
        assert bool(torch.isinf(found.length).all())


def test_weights_that_are_off_themselves() -> None:
    x, off = draw((2, 8)), 0.25
    weight = as_constant(make_spread(torch.ones(8).double(), torch.full((8,), off).double()))
    found = follow(lambda t: functional.layer_norm(t, (8,), weight), x, 0.0).length
    assert found is not None
    assert bool((found >= off * functional.layer_norm(x, (8,)).norm(dim=1)).all())


def test_running_statistics_are_no_norm_of_the_sample() -> None:
    mean, variance, x = torch.zeros(3).double(), torch.full((3,), 1e-6).double(), draw((2, 3, 4))
    call = partial(functional.instance_norm, running_mean=mean, running_var=variance, use_input_stats=False)
    bound = follow(call, x, 1e-3).length
    assert bound is not None
    assert bool((worst_change(call, x, 1e-3) <= bound).all())


def test_a_norm_over_the_samples_has_no_rule() -> None:
    with rounding("float64", collect=True, lengths=Lengths(alone=True)) as run:
        functional.layer_norm(make_spread(draw((1, 8)), None, torch.zeros(1, dtype=torch.float64)), (1, 8))
    assert any("layer_norm" in name for name in run.unknown)


def test_groups_joined_in_any_tree_lie_within_the_length() -> None:
    """float32, step by step; of each group all entries together, without weights and with them."""
    taken, ratios = random.Random(0), []
    for _ in range(150):
        x, eps = rows(taken), taken.choice((1e-5, 1e-2))
        call = partial(functional.layer_norm, normalized_shape=(len(x),), eps=eps)
        given = torch.tensor(np.array(x))[None]
        with rounding("float32", lengths=Lengths(alone=True)):
            found = call(make_spread(given.double(), None, torch.zeros(1, dtype=torch.float64)))
        assert isinstance(found, Spread)
        assert found.length is not None
        for group in (in_order(x), last_first(x), at_random(x, taken)):
            apart = (normed(x, group, eps).double() - value_of(found)).norm()
            ratios.append(float(apart / found.length))
    assert max(ratios) <= 1
    assert max(ratios) > 0.01
    assert np.median(ratios) > 1e-4, np.median(ratios)


@NAMES
def test_roundings_in_float32_lie_within_the_length(name: str) -> None:
    shape, call = CALLS[name]
    ratios = []
    for seed in range(20):
        x = (draw(shape, seed) + (0, 3, 100)[seed % 3]).float()
        with rounding("float32", lengths=Lengths(alone=True)):
            found = call(make_spread(x.double(), None, torch.zeros(len(x), dtype=torch.float64)))
        assert isinstance(found, Spread)
        assert found.length is not None
        apart = (call(x).double() - value_of(found)).reshape(len(x), -1).norm(dim=1)
        ratios.append(float((apart / found.length).max()))
    assert 1e-4 < np.median(ratios) <= max(ratios) <= 1


def test_a_bias_counts_in_every_place() -> None:
    """1/3 is rounded in each of 64 places; what is normed is 0 and rounds to nothing."""
    x, bias = torch.zeros(1, 1, 8, 8), torch.full((1,), 1 / 3, dtype=torch.float64)
    with rounding("float32", lengths=Lengths(alone=True)):
        start = make_spread(x.double(), None, torch.zeros(1, dtype=torch.float64))
        found = functional.group_norm(start, 1, None, bias)
    assert isinstance(found, Spread)
    assert found.length is not None
    assert 4 * 2.0**-24 / 3 * 8 <= float(found.length) < 1e-5


@pytest.mark.parametrize("length", [True, False])
def test_the_rounding_of_the_root_itself_counts(length: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean far from 0 cancels in float64 too: what is left of r is known to fewer digits, and `low` is below it."""
    x = 1e4 + draw((1, 256))
    lows: list[Tensor] = []
    home = norm_lengths if length else norms
    kept = home.inverse_root_error

    def listen(r: Rounding, n: int, squares: Tensor, eps: float, low: Tensor) -> Tensor:
        lows.append(low)
        return kept(r, n, squares, eps, low)

    monkeypatch.setattr(home, "inverse_root_error", listen)
    zero = torch.zeros(1, dtype=torch.float64)
    with rounding("float64", lengths=Lengths(alone=True) if length else None):
        functional.layer_norm(make_spread(x, None if length else torch.zeros_like(x), zero), (256,), eps=1e-9)
    root = (x[0] - x[0].mean()).square().mean().add(1e-9).sqrt()
    own = norms.own_error(256)
    assert float(lows[0].flatten()) <= float(root * (1 - own) - own * x.norm() / 16)
    assert float(lows[0].flatten()) > float(root) * (1 - 1e-8)
    # The bound on it, against numbers of 60 digits, in the worst of many draws.
    worst = 0.0
    for seed in range(20):
        z = 1e4 + draw((1, 256), seed)
        with mpmath.workdps(60):
            exact = [mpmath.mpf(float(entry)) for entry in z[0]]
            mean = sum(exact) / 256
            right = mpmath.sqrt(sum((entry - mean) ** 2 for entry in exact) / 256 + mpmath.mpf(1e-9))
            here = (z[0] - z[0].mean()).square().mean().add(1e-9).sqrt()
            worst = max(worst, float(abs(mpmath.mpf(float(here)) - right)))
    assert 0 < worst <= float(own * (root + x.norm() / 16))
    assert own >= (2 * 256 + 7) * 2.0**-53, "gamma_n + 3 u and n + 4 roundings, in any order of the sums"


def test_each_row_has_its_own_length() -> None:
    x = draw((4, 8))
    found = follow(CALLS["layer norm"][1], torch.cat([x[:1]] * 4), 1e-6).length
    assert found is not None
    assert torch.allclose(found, found[0] * lengths_of_rows(x, 1.0), rtol=1e-3)


@pytest.mark.parametrize("eps", [0.0, 1e-40])
def test_what_may_be_divided_by_nothing_has_no_rule(eps: float) -> None:
    x = draw((2, 4))
    with rounding("float64", collect=True, lengths=Lengths(alone=True)) as run:
        functional.layer_norm(make_spread(x, None, torch.zeros(2, dtype=torch.float64)), (4,), eps=eps)
    assert any("layer_norm" in name for name in run.unknown)


def test_deep_networks_of_norms_keep_a_bound_in_float32() -> None:
    """Entry by entry each layer multiplies the bound with the root of its entries, and more."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(5):
        layers += [nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.GroupNorm(1, 8), nn.ReLU()]
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * 64, 3)).requires_grad_(False).eval()
    inputs = np.random.default_rng(0).random((4, 8, 8, 8)).astype(np.float32)
    logits = quick(module, inputs)
    found = module(torch.from_numpy(inputs)).double()
    assert bool(((found - logits.values).abs() <= logits.spread).all())
    assert float(logits.spread.max()) < 1
    with torch.no_grad(), rounding("float32"):
        by_entries = module.double()(make_spread(torch.from_numpy(inputs).double(), torch.zeros(4, 8, 8, 8).double()))
    assert float(by_entries.spread.min()) > 1e3
