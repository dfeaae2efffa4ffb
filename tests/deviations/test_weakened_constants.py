"""Every constant is needed: where the calculus is tight, any of them made smaller lets two networks break the law."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from deviations.worst_cases import LAYERS, WORST, Layered, Worst, measure, pair
from torch import nn
from torch.nn import functional

from netpact.deviations import deviation_rules, layer_bounds, layer_rule, measure_distance, widen
from netpact.deviations.step import Placed
from netpact.network.kinds import KINDS, LayerDistance, LayerKind, LayerSize
from netpact.network.rounding import lipschitz_rules, operation
from netpact.network.rounding.tokens import CASTS

TIGHT = 1.02
WEAKER = 0.9


def test_there_is_a_worst_case_for_every_operation() -> None:
    """Signs are other names of the same rules, and the stem has no difference to enlarge."""
    named = {name for name in deviation_rules._RULES if not name.startswith("__") or name == "__getitem__"}
    # Nothing is enlarged where integers are made or rows are picked; test_attention.py has the one with weights.
    elsewhere = {
        "multi_head_attention_forward",
        "orient",
        "contour",
        "sobel",
        "preprocess",
        "embedding",
        "zeros_like",
        "ones_like",
    }
    assert set(WORST) == named - {*elsewhere, "zeros_like", "ones_like", *CASTS}
    assert set(LAYERS) == set(KINDS.types())


def weaker(found: Any) -> Any:
    if isinstance(found, list):
        return [weaker(part) for part in found]
    return replace(found, bound=WEAKER * found.bound) if isinstance(found, Placed) else WEAKER * found


@pytest.mark.parametrize("name", WORST)
def test_an_operation_s_constant_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured, allowed = measure(*pair(WORST[name]))
    assert measured <= allowed <= measured * TIGHT
    rule = deviation_rules._RULES[name]

    monkeypatch.setitem(deviation_rules._RULES, name, lambda step: weaker(rule(step)))
    measured, allowed = measure(*pair(WORST[name]))
    assert allowed < measured


OVERLAPPING = {
    "max_pool1d": "max_pool_constant",
    "max_pool2d": "max_pool_constant",
    "adaptive_max_pool2d": "adaptive_pool_constant",
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_pooling_with_overlap_counts_every_window(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lipschitz_rules, OVERLAPPING[name], lambda **_: 1.0)
    measured, allowed = measure(*pair(WORST[name]))
    assert allowed < measured


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joined_tensors_add_their_squares(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lipschitz_rules, "norm_up", lambda bounds: bounds.amax(dim=1))
    measured, allowed = measure(*pair(WORST[name]))
    assert allowed < measured


def test_an_entry_that_is_added_in_many_places_counts_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Worst((1, 4), lambda x: x[:, :, :1] + x, at=((0, 0),))
    measured, allowed = measure(*pair(case))
    assert measured <= allowed
    monkeypatch.setattr(operation, "round_up_float", lambda number: min(number, 1.0))
    spread_out = Worst((1, 4), lambda x: x[:, :, :1] + (x * 0.0), at=((0, 0),))
    measured, allowed = measure(*pair(spread_out))
    assert allowed < measured


def test_the_step_of_softplus_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Worst((4,), lambda x: functional.softplus(-x, 1.0, 1.0), h=-1.0 - 1e-6)
    measured, allowed = measure(*pair(case))
    assert measured <= allowed
    describe = lipschitz_rules.describe
    monkeypatch.setattr(lipschitz_rules, "describe", lambda *call: replace(describe(*call), jump=0.0))
    measured, allowed = measure(*pair(case))
    assert allowed < measured


def weaken(monkeypatch: pytest.MonkeyPatch, layer: nn.Module, change: Callable[[LayerKind], LayerKind]) -> None:
    kind = KINDS.of(layer)
    monkeypatch.setitem(KINDS._rows, kind.name, change(kind))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_s_gain_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, make = LAYERS[name]

    def look() -> tuple[float, float]:
        return measure(Layered(case, make(), step=0.0), Layered(case, make(), step=0.01), torch.zeros(1, 1))

    measured, allowed = look()
    assert measured <= allowed <= measured * TIGHT

    def smaller(kind: LayerKind) -> LayerKind:
        def size(layer: nn.Module) -> LayerSize:
            known = kind.size(layer)
            return replace(known, gain=WEAKER * known.gain)

        return replace(kind, size=size)

    weaken(monkeypatch, make(), smaller)
    measured, allowed = look()
    assert allowed < measured


def moved(layer: Any, *, weights: float, shift: float) -> Any:
    """All weights and all biases moved: the first make up |W - W^|, the second |b - b^|."""
    other = copy.deepcopy(layer)
    with torch.no_grad():
        if weights:
            other.weight.add_(weights * torch.sign(other.weight))
        other.bias.add_(shift)
    return other


# A bias alone has no weights to move.
@pytest.mark.parametrize(
    ("name", "part"),
    [(name, part) for name in LAYERS for part in ("weights", "shift") if (name, part) != ("Shift", "weights")],
)
def test_a_layer_s_distance_is_needed(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network at the rim of the box around another: only the distances are known."""
    case, make = LAYERS[name]
    run = make()
    other = moved(run, **{"weights": 0.0, "shift": 0.0, part: 0.05})
    x = case.direction()[None] * (1.0 if part == "weights" else 0.0)

    def look() -> tuple[float, float]:
        return measure(run, other, x, {"": widen(run, measure_distance(run, other))})

    measured, allowed = look()
    assert measured <= allowed <= measured * TIGHT

    def nearer(kind: LayerKind) -> LayerKind:
        def distance(one: Any, two: Any) -> LayerDistance:
            known = kind.distance(one, two)
            return replace(known, **{part: WEAKER * getattr(known, part)})

        return replace(kind, distance=distance)

    weaken(monkeypatch, run, nearer)
    measured, allowed = look()
    assert allowed < measured


@pytest.mark.parametrize("name", ["Conv2d", "BatchNorm2d", "ChannelAffine"])
def test_a_bias_counts_in_every_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, make = LAYERS[name]
    run = make()
    other = moved(run, weights=0.0, shift=0.05)
    x = torch.zeros(1, *LAYERS[name][0].shape)
    bounds = {"": widen(run, measure_distance(run, other))}
    monkeypatch.setattr(layer_rule, "round_up_float", lambda number: 1.0)
    measured, allowed = measure(run, other, x, bounds)
    assert allowed < measured / 2


def test_a_box_s_gain_is_that_of_its_largest_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """(|W^| + u) e: with |W^| e alone a network at the rim would be outside."""
    case, make = LAYERS["Linear"]
    run, other = Layered(case, make(), step=0.0), Layered(case, moved(make(), weights=0.5, shift=0.0), step=1.0)
    known = {
        "chosen.first": layer_bounds.compare(run=run.chosen.first, other=other.chosen.first),
        "layer": widen(run.layer, measure_distance(run.layer, other.layer)),
    }
    measured, allowed = measure(run, other, torch.zeros(1, 1), known)
    assert measured <= allowed <= measured * TIGHT
    size = replace(known["layer"].size, gain=layer_bounds.measure_size(run.layer).gain)
    known["layer"] = replace(known["layer"], size=size)
    measured, allowed = measure(run, other, torch.zeros(1, 1), known)
    assert allowed < measured
