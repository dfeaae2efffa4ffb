"""Attention, as a function and as a module: searched worst cases, and every constant of the rule is needed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from deviations.test_deviation_rules import run
from deviations.worst_cases import STEP, Worst, look, measure, pair
from torch import Tensor, nn
from torch.nn import functional

from netpact.deviations import attention_rules, deviation_bound
from netpact.deviations.deviation import Deviation, LayerTensor, make_parameter

SAMPLES, PLACES, WIDTH = 6, 5, 8
X = np.random.default_rng(0).normal(size=(SAMPLES, PLACES * WIDTH)).astype(np.float32)
Y = np.arange(SAMPLES) % 3
CAUSAL = torch.ones(PLACES, PLACES, dtype=torch.bool).triu(1)
HALF = STEP / 2


class Looks(nn.Module):
    """How a network calls its attention, and a mean that is classified."""

    def __init__(self, way: Callable[[Any, Tensor], Tensor], **options: Any) -> None:
        super().__init__()
        self.way, self.look = way, nn.MultiheadAttention(WIDTH, 2, **{"batch_first": True, **options})
        self.shown, self.head = nn.Parameter(torch.randn(PLACES, PLACES)), nn.Linear(WIDTH, 3)
        if self.look.in_proj_bias is not None:
            nn.init.normal_(self.look.in_proj_bias)
            nn.init.normal_(self.look.out_proj.bias)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.way(self, x.view(-1, PLACES, WIDTH)).mean(1))
        return found


def by_features(m: Any, x: Tensor) -> Tensor:
    """Without the module: queries, keys and values are layers' results, with the samples first."""
    parts = m.look.out_proj(x), x.flip(2), x * 0.5
    q, k, v = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in parts)
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def second_axis(m: Any, x: Tensor) -> Tensor:
    turned = x.transpose(0, 1)
    found: Tensor = m.look(turned, turned, turned)[0]
    return found.transpose(0, 1)


def hidden(x: Tensor) -> Tensor:
    """The last place is padding in all samples."""
    return (torch.arange(x.shape[1]) >= PLACES - 1).expand(x.shape[0], -1)


WAYS: dict[str, tuple[Callable[[Any, Tensor], Tensor], dict[str, Any]]] = {
    "module": (lambda m, x: m.look(x, x, x)[0], {}),
    "without weights": (lambda m, x: m.look(x, x, x, need_weights=False)[0], {}),
    "weights": (lambda m, x: torch.cat([m.look(x, x, x)[1], x[:, :, :3]], dim=2), {}),
    "weights of the heads": (
        lambda m, x: m.look(x, x, x, average_attn_weights=False)[1].mean((1, 2))[:, None, :1] + x,
        {},
    ),
    "padding": (lambda m, x: m.look(x, x, x, key_padding_mask=hidden(x))[0], {}),
    "causal": (lambda m, x: m.look(x, x, x, attn_mask=CAUSAL, is_causal=True)[0], {}),
    "other keys": (lambda m, x: m.look(x, x[:, :3].tanh(), x[:, 2:])[0], {}),
    "no bias": (lambda m, x: m.look(x, x, x)[0], {"bias": False}),
    "other widths": (lambda m, x: m.look(x, x[..., :4], x[..., :2])[0], {"kdim": 4, "vdim": 2}),
    "samples second": (second_axis, {"batch_first": False}),
    "a learned mask": (lambda m, x: m.look(x, x, x, attn_mask=m.shown)[0], {}),
}


def modules(name: str, *, only: str = "", share: float = 0.01) -> tuple[nn.Module, nn.Module]:
    way, options = WAYS[name]
    torch.manual_seed(0)
    module = Looks(way, **options)
    other = copy.deepcopy(module)
    with torch.no_grad():
        for key, parameter in other.named_parameters():
            if only in key:
                parameter.add_(share * torch.randn(parameter.shape) * parameter.std())
    return module, other


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("share", [1e-6, 0.01, 1.0])
def test_measured_never_exceeds_the_bound(
    name: str, share: float, record_property: Callable[[str, object], None]
) -> None:
    module, other = modules(name, share=share)
    deviation = deviation_bound(module, other, (X, Y))
    assert not deviation.unruled
    assert bool(np.isfinite(deviation.bounds).all())
    assert float(deviation.measured.min()) > 0
    with torch.no_grad():
        single = torch.linalg.vector_norm((module(torch.from_numpy(X)) - other(torch.from_numpy(X))).double(), dim=1)
    assert bool((single.numpy() <= deviation.bounds).all())
    record_property("looseness", deviation.looseness)
    if share == 0.01:
        assert deviation.looseness < 60


@pytest.mark.parametrize("only", ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias", "shown"])
def test_a_parameter_s_own_difference_is_needed(only: str) -> None:
    deviation = deviation_bound(*modules("a learned mask", only=only), (X, Y))
    assert float(deviation.measured.min()) > 1e-5
    assert deviation.looseness < 80


def test_the_function_by_itself() -> None:
    torch.manual_seed(0)
    module: Any = Looks(by_features)
    module.look.out_proj = nn.Linear(WIDTH, WIDTH)  # an ordinary layer
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.look.out_proj.weight.add_(0.01)
    deviation = deviation_bound(module, other, (X, Y))
    assert not deviation.unruled
    assert bool((deviation.measured > 0).all())
    assert deviation.looseness < 40


def two(x: Tensor, *, sign: float = -1.0) -> Tensor:
    """Two keys or values, 1 and -1, that do not depend on x."""
    return torch.cat([1 + 0 * x, sign + 0 * x], dim=1)


def masked(x: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(0 * x, 0 * two(x), two(x), attn_mask=torch.cat([x, -x], dim=2))


def averaged(x: Tensor) -> Tensor:
    """Two heads that are alike: what is averaged differs by as much as in each of them."""
    query, keys = torch.cat([x, x], dim=2), torch.cat([two(x), two(x)], dim=2)
    q, k = query.transpose(0, 1), keys.transpose(0, 1)
    _, seen = functional.multi_head_attention_forward(
        q, k, k, 2, 2, eye(3, x), None, None, None, False, 0.0, eye(1, x), None, training=False
    )
    assert seen is not None
    return seen


def eye(times: int, x: Tensor) -> Tensor:
    one = torch.eye(2, dtype=torch.float64).repeat(times, 1)
    return make_parameter(one, one) if isinstance(x, Deviation) else one


# Where the rule is tight: the difference comes by the queries, the keys, both, the values, a mask; or from far.
TIGHT: dict[str, Worst] = {
    "queries": Worst((1, 1), lambda x: look(x, two(x)), h=-HALF),
    "keys": Worst((1, 1), lambda x: look(1 + 0 * x, torch.cat([x, -x], 1), two(x)), h=-HALF),
    "queries and keys": Worst((1, 1), lambda x: look(10 * x, torch.cat([10 * x, -10 * x], 1), two(x))),
    "values": Worst((1, 1), lambda x: look(0 * x, 0 * x, x), h=1.0),
    "values of one key for three rows": Worst((1, 1), lambda x: look(torch.cat([0 * x] * 3, 1), 0 * x, x), h=1.0),
    "values, of a key that becomes likely": Worst(
        (1, 1), lambda x: look(torch.cat([2e4 * x] * 2, 1), two(x), torch.cat([x, 0 * x], 1))
    ),
    "masks": Worst((1, 1), masked, h=-HALF),
    "from one key to the other": Worst((1, 1), lambda x: look(2e4 * x, two(x)), h=-HALF),
}


def test_equal_weights_differ_by_rounding_alone() -> None:
    """Nothing of the attention differs: what is left is rounding."""
    deviation = deviation_bound(*modules("module", only="nothing"), (X, Y))
    assert deviation.measured.max() < 1e-12
    assert 0 < deviation.bounds.max() < 1e-3


def test_the_average_of_heads_is_tight() -> None:
    case = Worst((1, 1), averaged, h=-HALF)
    measured, allowed = measure(*pair(case))
    assert measured <= allowed <= 1.02 * measured


@pytest.mark.parametrize("name", TIGHT)
def test_the_rule_is_tight(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured, allowed = measure(*pair(TIGHT[name]))
    assert measured <= allowed <= 1.03 * measured
    attend = attention_rules._attend
    weaker = {"bound": 0.9}

    def weakened(*args: Any, **named: Any) -> Any:
        found = attend(*args, **named)
        return attention_rules._Attended(found.held, weaker["bound"] * found.bound, found.probabilities)

    monkeypatch.setattr(attention_rules, "_attend", weakened)
    measured, allowed = measure(*pair(TIGHT[name]))
    assert allowed < measured


UNIT = 2.0**-24


def rough_machine(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention in float32 as badly as a machine may round: in the last digits of scores, exponentials, sums."""
    features, keys = query.shape[-1], key.shape[-2]
    scores = query @ key.mT
    sizes = query.abs() @ key.abs().mT
    signs = torch.ones(keys, dtype=torch.float64)
    signs[::2] = -1
    scores = (scores + signs * features * UNIT * sizes) / math.sqrt(features)
    parts = torch.exp(scores - scores.amax(-1, keepdim=True)) * (1 + 30 * signs * UNIT)
    seen = parts / parts.sum(-1, keepdim=True) * (1 + keys * UNIT)
    return (seen @ value) * (1 + UNIT) + keys * UNIT * (seen @ value.abs())


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ([[1e3, 1e3]], [[1e3, -1e3], [-1e3, 1e3]], [[1.0], [-1.0]]),  # scores that cancel
        ([[0.0]], [[0.0], [0.0]], [[1.0], [-1.0]]),  # exponentials alone
        ([[0.0]], [[0.0]], [[3.0]]),  # one key: sums alone
    ],
)
def test_the_rounding_of_any_machine_is_covered(q: Any, k: Any, v: Any) -> None:
    parts = [torch.tensor([part], dtype=torch.float64) for part in (q, k, v)]
    sizes = [part[0].numel() for part in parts]

    given = torch.cat([part.flatten(1) for part in parts], dim=1)

    def split(x: Tensor) -> Tensor:
        pieces = x.split(sizes, dim=1)
        query, key, value = (piece.view(1, *shape.shape[1:]) for piece, shape in zip(pieces, parts, strict=True))
        return functional.scaled_dot_product_attention(query, key, value)

    result, walk = run(split, given, torch.zeros(1, dtype=torch.float64))
    assert not walk.problems()
    apart = float((rough_machine(*parts) - split(given)).norm())
    assert 0 < apart <= float(result.bound)


@pytest.mark.parametrize("weaker", [lambda p, e: 0.45 + 0 * p, lambda p, e: torch.clamp(p, max=0.5)])
def test_the_slope_of_softmax_is_needed(weaker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half, and that a probability grows: of 50 keys, one becomes likely."""
    keys = torch.zeros(1, 50, 1)
    keys[0, 0] = 6.0
    cases = TIGHT["queries"], Worst((1, 1), lambda x: look(100 * x, x * 0 + keys.to(x)))
    for case in cases:
        measured, allowed = measure(*pair(case))
        assert measured <= allowed
    monkeypatch.setattr(attention_rules, "softmax_slope", weaker)
    found = [measure(*pair(case)) for case in cases]
    assert any(allowed < measured for measured, allowed in found)


@torch.no_grad()
def test_searched_worst_cases(record_property: Callable[[str, object], None]) -> None:
    """Steps uphill from many starts, within the bound of the input: the rule allows all that is found."""
    generator, ratios = torch.Generator().manual_seed(0), []
    for turn in range(12):
        shape = (1, 3 + turn % 3, 2)
        size = (0.3, 3.0)[turn % 2]
        given = torch.randn(shape, generator=generator, dtype=torch.float64) * size
        bound = torch.full((1,), (0.02, 0.5)[turn % 2], dtype=torch.float64)
        call: Callable[[Tensor], Tensor] = lambda x: functional.scaled_dot_product_attention(x, x.flip(1), 2 * x)  # noqa: E731
        result, walk = run(call, given, bound)
        assert not walk.problems()
        worst = 0.0
        for _ in range(3):
            step = torch.randn(shape, generator=generator, dtype=torch.float64)
            for _ in range(25):
                step = step / step.norm() * float(bound) * (1 - 1e-9)
                with torch.enable_grad():
                    moved = step.clone().requires_grad_()
                    apart = (call(given + moved) - call(given)).norm()
                    (uphill,) = torch.autograd.grad(apart, moved)
                worst = max(worst, float(apart))
                step = step + uphill / uphill.norm().clamp(min=1e-12) * float(bound)
            single = (call((given + moved.detach()).float()).double() - call(given)).norm()
            assert float(single) <= float(result.bound) * (1 + 1e-6)
        assert worst <= float(result.bound)
        ratios.append(float(result.bound) / worst)
    record_property("looseness", float(np.median(ratios)))
    assert np.median(ratios) < 12


@pytest.mark.parametrize(
    "mask",
    [
        torch.tensor([[True, False, False]]),  # the function's own kind: what may be seen
        torch.tensor([[0.0, -torch.inf, -torch.inf]]),
    ],
)
def test_keys_that_nobody_sees_do_not_count(mask: Tensor) -> None:
    values = torch.randn(2, 1, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values[:, :, 1:] *= 1e6

    def call(x: Tensor) -> Tensor:
        seen = mask.to(x.dtype) if mask.is_floating_point() else mask
        return functional.scaled_dot_product_attention(x[:, :, :1], 0 * x[:, :, :1] + x, x, attn_mask=seen)

    result, walk = run(call, values, torch.full((2,), 1e-6, dtype=torch.float64))
    assert not walk.problems()
    assert float(result.bound.max()) < 1e-4


def test_where_nothing_is_to_be_seen_there_is_no_bound() -> None:
    blind = torch.zeros(1, 3, dtype=torch.bool)
    call: Callable[[Tensor], Tensor] = lambda x: functional.scaled_dot_product_attention(x, x, x, attn_mask=blind)  # noqa: E731
    result, _ = run(call, torch.ones(2, 3, 4, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))
    assert bool(torch.isinf(result.bound).all())


REFUSED: dict[str, Callable[[Tensor], Tensor]] = {
    "with shared heads, or across samples": lambda x: functional.scaled_dot_product_attention(
        x[:, None].expand(-1, 2, -1, -1), x[:, None], x[:, None]
    ),
    "with a mask across samples": lambda x: functional.scaled_dot_product_attention(x, x, x, attn_mask=x[:, 0]),
    "that does not come from the input": lambda x: functional.scaled_dot_product_attention(
        x, torch.ones(4, 4, 4).to(x.dtype), x
    ),
    "where the second axis does not count the samples": lambda x: functional.multi_head_attention_forward(
        x, x, x, 4, 1, EYE3, None, None, None, False, 0.0, EYE, None, training=False
    )[0],
}
EYE: LayerTensor = make_parameter(torch.eye(4, dtype=torch.float64), torch.eye(4))
EYE3: LayerTensor = make_parameter(torch.eye(4, dtype=torch.float64).repeat(3, 1), torch.eye(4).repeat(3, 1))


@pytest.mark.parametrize("words", REFUSED)
def test_other_calls_are_named(words: str) -> None:
    values = torch.randn(4, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    result, walk = run(REFUSED[words], values, torch.ones(4, dtype=torch.float64))
    assert any(words in found for found in walk.problems())
    assert bool(torch.isinf(result.bound).all())


def test_samples_find_their_axis_again() -> None:
    """(samples, places, features) to (places, samples, features) and back: the bounds stay with their samples."""
    values = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    bound = torch.tensor([0.5, 2.0], dtype=torch.float64)
    turned, _ = run(lambda x: x.permute(1, 0, 2), values, bound)
    assert turned.axis == 1
    back, walk = run(lambda x: x.permute(1, 2, 0).transpose(0, 2).swapaxes(1, 2)[:, :2], values, bound)
    assert back.axis == 0
    assert not walk.problems()
    assert torch.allclose(back.bound, bound, rtol=1e-9)
    first, _ = run(lambda x: x.transpose(0, 1)[0], values, bound)
    assert first.axis == 0
    assert math.isclose(float(first.bound[1]), 2.0, rel_tol=1e-9)
