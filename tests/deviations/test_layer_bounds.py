"""Layers with weights: any layer within its distance, at the corners too, stays within the bound that is followed."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from network.layer_samples import LAYERS, prepared
from torch import nn

from netpact.core.errors import PactError
from netpact.deviations import LayerDistance
from netpact.deviations.deviation import Walk, make_deviation
from netpact.deviations.layer_bounds import LayerBounds, compare, measure_distance, measure_size, widen
from netpact.deviations.layer_rule import follow_layer
from netpact.layers import ChannelAffine
from netpact.network.rounding.tolerance import make_spread, rounding


def follow(layer: nn.Module, bounds: LayerBounds, h: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    with rounding("float32") as other:
        pass
    with torch.no_grad(), rounding("float64", collect=True) as own:
        walk = Walk(own, other)
        start = make_deviation(make_spread(h, torch.zeros_like(h)), bound, walk)
        result = follow_layer("layer", layer, bounds, start)
    assert not walk.problems()
    found: torch.Tensor = result.bound
    return found


def lengths(rows: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(rows.double().flatten(1), dim=1)


def within(layer: Any, distance: LayerDistance, aim: torch.Tensor, generator: torch.Generator) -> Any:
    """A layer at the rim of the box: towards `aim`, an input, or anywhere."""
    other = copy.deepcopy(layer)
    with torch.no_grad():
        weight: Any = getattr(other, "weight", None)  # a bias alone has none
        if isinstance(other, nn.Linear):
            out = torch.randn(weight.shape[0], generator=generator, dtype=torch.float64)
            weight.add_(distance.weights * torch.outer(out / out.norm(), aim.flatten()[: weight.shape[1]] / aim.norm()))
        elif isinstance(other, nn.Conv2d):
            change = copy.deepcopy(other)
            drawn = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            change.weight.copy_(torch.ones_like(weight) if float(drawn.sum()) > 0 else drawn)
            weight.add_(change.weight * (distance.weights / measure_size(change).gain))
        elif isinstance(other, ChannelAffine):
            weight.add_(distance.weights * torch.randint(-1, 2, weight.shape, generator=generator))
        if getattr(other, "bias", None) is not None and not isinstance(other, nn.modules.batchnorm._BatchNorm):
            step = torch.randn(other.bias.shape, generator=generator, dtype=torch.float64)
            other.bias.add_(distance.shift * step / step.norm())
    return other


@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_every_layer_in_the_box_stays_within_the_bound(name: str) -> None:
    """The other layer in float64 and in float32, on inputs that differ by up to their bound."""
    generator = torch.Generator().manual_seed(len(name))
    for share, apart in ((0.3, 0.1), (1e-4, 1e-6), (0.5, 0.0)):
        layer = prepared(name, generator)
        h = torch.randn(6, *LAYERS[name][0], generator=generator, dtype=torch.float64)
        bound = lengths(h) * apart
        distance = LayerDistance(weights=share * measure_size(layer).gain, shift=share)
        box = widen(layer, distance)
        for trial in range(4):
            if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                other = prepared(name, generator)
                distance = measure_distance(layer, other)
                box = widen(layer, distance)
            else:
                other = within(layer, distance, h[trial % 6].flatten(), generator)
            allowed = follow(layer, box, h, bound)
            known = follow(layer, compare(run=layer, other=other), h, bound)
            step = torch.randn(h.shape, generator=generator, dtype=torch.float64)
            step = step * (bound / lengths(step)).reshape(-1, *(1,) * (h.dim() - 1)) * (1 - 1e-9)
            moved = lengths(other(h + step) - layer(h))
            assert bool((moved <= allowed).all())
            assert bool((moved <= known).all())
            if apart == 0.0:
                single = copy.deepcopy(other).float()
                if measure_distance(layer, single.double()).weights <= distance.weights:
                    # h itself is rounded: give that to the bound.
                    allowed = follow(layer, box, h, lengths(h.float().double() - h))
                    assert bool((lengths(single.float()(h.float()) - layer(h)) <= allowed).all())


def test_the_bound_of_a_linear_layer_is_attained() -> None:
    """Everything aligned: only the two terms of rounding are left between measured and bound."""
    layer = nn.Linear(4, 3, bias=False).double()
    with torch.no_grad():
        layer.weight.copy_(torch.eye(3, 4))
    h = torch.tensor([[2.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    distance = LayerDistance(weights=0.25, shift=0.0)
    allowed = float(follow(layer, widen(layer, distance), h, torch.tensor([0.5], dtype=torch.float64)))
    # (1 + 0.25) * 0.5 + 0.25 * 2, reached by W = 1.25 E and an input of length 2.5
    assert 1.125 <= allowed <= 1.125 * 1.0001
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.weight[0, 0] = 1.25
        assert float(lengths(other(h * 1.25) - layer(h))) == 1.125


def test_biases_count_once_for_each_place() -> None:
    layer = prepared("conv", torch.Generator().manual_seed(0))
    bounds = widen(layer, LayerDistance(weights=0.0, shift=1.0))
    h = torch.zeros(1, 2, 7, 6, dtype=torch.float64)
    allowed = float(follow(layer, bounds, h, torch.zeros(1, dtype=torch.float64)))
    assert math.sqrt(42) <= allowed <= math.sqrt(42) * 1.001


def test_distances_are_what_they_are() -> None:
    generator = torch.Generator().manual_seed(1)
    one, other = (prepared("linear", generator) for _ in range(2))
    found = measure_distance(one, other)
    exact = float(torch.linalg.svdvals((one.weight - other.weight).detach())[0])
    assert exact <= found.weights <= exact * 1.0001
    assert found.shift == pytest.approx(float((one.bias - other.bias).detach().norm()))
    assert measure_distance(one, copy.deepcopy(one).float()) == LayerDistance(weights=0.0, shift=0.0)
    norm, second = prepared("norm", generator), prepared("norm", generator)
    scale = [(part.weight / (part.running_var + part.eps).sqrt()).detach() for part in (norm, second)]
    assert measure_distance(norm, second).weights == pytest.approx(float((scale[0] - scale[1]).abs().max()))


@torch.no_grad()
def test_channels_are_scaled_one_by_one() -> None:
    generator = torch.Generator().manual_seed(2)
    one, other = (prepared("channels", generator) for _ in range(2))
    found = measure_distance(one, other)
    assert found.weights == pytest.approx(float((one.weight - other.weight).abs().max()))
    assert found.shift == pytest.approx(float((one.bias - other.bias).detach().norm()))
    assert measure_size(one).gain == pytest.approx(float(one.weight.abs().max()))


def test_only_layers_of_one_kind_are_compared() -> None:
    with pytest.raises(PactError, match="two layers of one kind"):
        measure_distance(nn.Linear(3, 2), nn.Linear(3, 2, bias=False))
    with pytest.raises(PactError, match="two layers of one kind"):
        measure_distance(nn.BatchNorm1d(3), nn.BatchNorm1d(3, eps=1.0))
    with pytest.raises(PactError, match="'GRU' is not known; allowed: BatchNorm1d, BatchNorm2d, ChannelAffine, Conv1d"):
        measure_size(nn.GRU(2, 2))


@pytest.mark.parametrize(("name", "shape"), [("linear", (12,)), ("conv", (2, 7, 6))])
def test_the_samples_axis_is_never_taken_for_another(name: str, shape: tuple[int, ...]) -> None:
    """A layer run on what looks like one sample: torch accepts it in some layers, and samples would be mixed."""
    layer = prepared(name, torch.Generator().manual_seed(0))
    h = torch.ones(shape, dtype=torch.float64)
    with rounding("float32", collect=True) as own, torch.no_grad():
        walk = Walk(own, own)
        start = make_deviation(make_spread(h, torch.zeros_like(h)), torch.zeros(len(h)), walk)
        follow_layer("fc", layer, widen(layer, LayerDistance(weights=0.0, shift=0.0)), start)
    assert any(problem.startswith("fc on a tensor of shape") for problem in walk.problems())


@pytest.mark.parametrize("name", ["linear", "conv", "replicate", "norm of images", "channels"])
@torch.no_grad()
def test_the_other_layer_s_rounding_is_covered(name: str) -> None:
    """Equal layers and inputs: a run in float32 is still another one, and the bound is not 0."""
    generator = torch.Generator().manual_seed(7)
    layer = prepared(name, generator)
    single = torch.rand(6, *LAYERS[name][0], generator=generator)
    allowed = follow(
        layer, widen(layer, LayerDistance(weights=0.0, shift=0.0)), single.double(), torch.zeros(6).double()
    )
    apart = lengths(copy.deepcopy(layer).float()(single).double() - layer(single.double()))
    assert bool((apart > 0).all())
    assert bool((apart <= allowed).all())
    assert float(allowed.max()) < 1e-2
