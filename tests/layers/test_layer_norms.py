"""norm_bound of CP layers is never below their operator norm: Li et al. 2020, Lemmas C.2, C.5 and C.8 in valid form."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
import torch
from layers.factored_samples import CP, make
from torch import Tensor, nn

from netpact import operator_norm
from netpact.layers import CPConv2d, CPLinear, HigherOrderCPConv2d, HigherOrderCPLinear


def true_norm(layer: Any) -> float:
    """Proven from below: what the layer really does to some input."""
    return operator_norm(layer.dense()).lower


@pytest.mark.parametrize("name", CP)
def test_no_layer_stretches_more_than_its_bound(name: str) -> None:
    layer, _ = make(name)
    ratios = []
    for seed in range(12):
        layer.reset_parameters(torch.Generator().manual_seed(seed))
        kept = layer.truncate(1 + seed % layer.rank)
        ratios.append(true_norm(kept) / kept.norm_bound())
    assert max(ratios) <= 1
    assert statistics.median(ratios) > 0.1
    assert 0 < layer.norm_bound() == pytest.approx(layer.normalize_().norm_bound(), rel=1e-9)


def one_component(layer: Any, factors: list[Tensor]) -> float:
    layer.set_factors([factor.double().reshape(-1, 1) for factor in factors])
    return true_norm(layer) / layer.norm_bound()


def test_it_is_reached_by_one_component() -> None:
    """So that no smaller constant would be a bound."""
    torch.manual_seed(0)
    double: dict[str, Any] = {"dtype": torch.float64}
    ones = torch.ones(9)
    conv = CPConv2d(4, 3, 3, 1, padding=1, **double)
    assert one_component(conv, [torch.randn(3), torch.randn(4), ones]) > 0.97
    edge = torch.tensor([[0, 0, 0], [-1.0, 0, 1], [0, 0, 0]])  # its largest frequency is not 0
    assert one_component(conv, [torch.randn(3), torch.randn(4), edge.flatten()]) > 0.97
    linear = CPLinear(12, 10, 1, **double)
    assert one_component(linear, [torch.randn(size) for size in linear.modes]) > 0.999
    higher = HigherOrderCPLinear((2, 3, 2), (2, 2, 3), 1, **double)
    thin = [torch.outer(torch.randn(t), torch.randn(s)) for t, s in zip(higher.out_shape, higher.in_shape, strict=True)]
    assert one_component(higher, thin) > 0.999
    moved = HigherOrderCPConv2d((2, 3), (2, 2), 3, 1, padding=1, **double)
    thin = [torch.outer(torch.randn(t), torch.randn(s)) for t, s in zip(moved.out_shape, moved.in_shape, strict=True)]
    assert one_component(moved, [*thin, ones]) > 0.97


def test_as_printed_the_lemma_for_convolutions_depends_on_its_transform() -> None:
    """With a unitary transform and no factor sqrt(HW), the maximum over frequencies is far below the norm."""
    layer = CPConv2d(1, 1, 3, 1, padding=1, dtype=torch.float64)
    layer.set_factors([torch.ones(1, 1), torch.ones(1, 1), torch.ones(9, 1)])
    image = torch.zeros(32, 32, dtype=torch.float64)
    image[:3, :3] = layer.dense().weight.detach()[0, 0]
    unitary = float(torch.fft.fft2(image, norm="ortho").abs().max())
    assert unitary * 32 == pytest.approx(9)
    assert unitary < 0.05 * true_norm(layer)
    assert layer.norm_bound() == pytest.approx(9, rel=1e-2)


def test_the_padding_can_add_to_the_norm() -> None:
    torch.manual_seed(0)
    for mode in ("circular", "reflect", "replicate"):
        layer = CPConv2d(2, 2, 3, 1, padding=1, padding_mode=mode, dtype=torch.float64)
        layer.set_factors([torch.ones(2, 1), torch.ones(2, 1), torch.ones(9, 1)])
        small = operator_norm(layer.dense(), image_size=3).lower
        assert small <= layer.norm_bound()
        plain = CPConv2d(2, 2, 3, 1, padding=1, dtype=torch.float64)
        plain.load_state_dict(layer.state_dict())
        assert layer.norm_bound() >= plain.norm_bound()


def test_layers_of_zeros_and_huge_and_tiny_ones() -> None:
    layer = CPLinear(12, 10, 3, dtype=torch.float64)
    for scale in (0.0, 1e-100, 1e60):
        layer.reset_parameters(torch.Generator().manual_seed(0))
        with torch.no_grad():
            layer.in_rows.weight.mul_(scale)
        bound, weight = layer.norm_bound(), layer.dense().weight.detach()
        assert math.isfinite(bound)
        assert float(torch.linalg.matrix_norm(weight, 2)) <= bound


def test_a_module_without_gradients_is_left_as_it_is() -> None:
    layer = nn.Sequential(CPConv2d(2, 2, 3, 2))[0]
    assert isinstance(layer, CPConv2d)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.norm_bound()
    layer.spectrum()
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    assert all(parameter.requires_grad for parameter in layer.parameters())
