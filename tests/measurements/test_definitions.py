"""Cushions, contraction, spread and effective parameters of networks small enough to compute by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from measurements.measured_nets import KINDS, image_samples, make, vector_samples
from torch import nn

from netpact.datasets import ArraySamples
from netpact.measurements import MeasureOptions, Measures, measure

R = math.sqrt


def with_weights(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers)


def linear(rows: list[list[float]], bias: list[float] | None = None) -> nn.Linear:
    layer = nn.Linear(len(rows[0]), len(rows), bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(rows))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))
    return layer


@pytest.fixture(scope="module")
def two_layers() -> Measures:
    """x = (3, 4) goes through whole, of x = (3, -4) the second unit is cut off."""
    module = with_weights(linear([[1, 0], [0, 2]]), nn.ReLU(), linear([[1, 1], [0, 1], [1, -1]]))
    return measure(module, vector_samples([[3, 4], [3, -4]], classes=3))


def numbers(quantity: object) -> list[float]:
    samples = getattr(quantity, "samples", None)
    assert samples is not None
    return list(samples)


def test_layer_cushion(two_layers: Measures) -> None:
    first, second = two_layers.layers
    assert numbers(first.arora_layer_cushion) == pytest.approx([R(73) / (R(5) * 5)] * 2)
    # A (3, 8) = (11, 8, -5) and A (3, 0) = (3, 0, 3), |A|_F = sqrt 5
    assert numbers(second.arora_layer_cushion) == pytest.approx([R(210) / (R(5) * R(73)), R(18) / (R(5) * 3)])
    assert second.arora_layer_cushion is not None
    assert second.arora_layer_cushion.exact
    assert second.arora_layer_cushion.value == pytest.approx(R(18) / (R(5) * 3))


def test_interlayer_cushion(two_layers: Measures) -> None:
    first, second = two_layers.layers
    # J = A, then A with its second column cut off: J x = (3, 0, 3), |J|_F = sqrt 2
    assert numbers(first.interlayer_cushions[2]) == pytest.approx([R(210) / (R(5) * R(73)), 3 / R(73)])
    assert first.min_interlayer_cushion is not None
    assert first.min_interlayer_cushion.value == pytest.approx(3 / R(73))
    assert first.min_interlayer_cushion.exact, "both samples were looked at, and the logits are taken row by row"
    # 1/sqrt(2) is below the first sample's cushion
    assert numbers(first.min_interlayer_cushion) == pytest.approx([1 / R(2), 3 / R(73)])
    assert numbers(first.min_interlayer_cushion_unclipped) == pytest.approx([R(210 / 365), 3 / R(73)])
    assert second.min_interlayer_cushion is not None
    assert second.min_interlayer_cushion.value == pytest.approx(1 / R(3))
    assert second.min_interlayer_cushion_unclipped is None


def test_contraction_is_the_previous_layers(two_layers: Measures) -> None:
    first, second = two_layers.layers
    assert first.activation_contraction is not None
    assert (first.activation_contraction.value, first.follows, second.follows) == (1.0, None, "0")
    assert numbers(second.activation_contraction) == pytest.approx([1.0, R(73) / 3])
    assert two_layers.activation_contraction is not None
    assert two_layers.activation_contraction.value == pytest.approx(R(73) / 3)


def test_effective_parameters(two_layers: Measures) -> None:
    first, second = two_layers.layers
    assert first.effective_parameters is not None
    assert second.effective_parameters is not None
    # c^2 / (mu^2 mu->^2), no windows and no pixels
    assert first.effective_parameters.value == pytest.approx(1 / (73 / 125 * 9 / 73))
    assert second.effective_parameters.value == pytest.approx((73 / 9) / (18 / 45 * 1 / 3))
    assert first.effective_parameters.exact


def test_noise_sensitivity_is_the_cushion_squared_of_a_matrix(two_layers: Measures) -> None:
    for layer in two_layers.layers:
        cushion = np.array(numbers(layer.arora_layer_cushion))
        assert numbers(layer.noise_sensitivity) == pytest.approx(list(cushion**-2))


def test_outputs_of_the_network(two_layers: Measures) -> None:
    assert two_layers.max_output_norm is not None
    assert two_layers.margins is not None
    assert two_layers.max_output_norm.value == pytest.approx(R(210))
    assert numbers(two_layers.margins) == pytest.approx([3.0, -3.0])
    assert (two_layers.depth, two_layers.logits, two_layers.is_chain, two_layers.has_biases) == (2, 2, True, False)


def test_biases_count_in_their_own_cushions_only() -> None:
    module = with_weights(linear([[1, 0], [0, 2]], [4, 0]), nn.ReLU(), linear([[1, 1], [0, 1]], [0, 3]))
    found = measure(module, vector_samples([[3, 4]], classes=2))
    first, second = found.layers
    # x^1 = (7, 8), x^2 = (15, 11); without biases (3, 8) and (15, 8)
    assert numbers(first.arora_layer_cushion) == pytest.approx([R(73) / (R(5) * 5)])
    assert numbers(first.layer_cushion_with_bias) == pytest.approx([R(113) / (R(5) * 5)])
    assert numbers(second.arora_layer_cushion) == pytest.approx([R(289) / (R(3) * R(113))])
    assert numbers(first.interlayer_cushions[2]) == pytest.approx([R(289) / (R(3) * R(113))])
    assert numbers(first.interlayer_cushions_with_bias[2]) == pytest.approx([R(346) / (R(3) * R(113))])
    assert numbers(first.min_interlayer_cushion_with_bias) == pytest.approx([1 / R(2)])
    assert found.has_biases


def test_without_biases_both_kinds_of_cushion_agree() -> None:
    """ReLU networks without biases are homogeneous: J x^i = x^j, through pooling too."""
    module = with_weights(
        nn.Conv2d(2, 4, 3, bias=False),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 5, 2, bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(5, 3, bias=False),
    )
    found = measure(module, image_samples(6))
    assert not found.has_biases
    for layer in found.layers:
        assert numbers(layer.arora_layer_cushion) == numbers(layer.layer_cushion_with_bias)
        for end, plain in layer.interlayer_cushions.items():
            assert numbers(layer.interlayer_cushions_with_bias[end]) == pytest.approx(numbers(plain), rel=1e-4)


def test_convolution_counts_pixels() -> None:
    """One pixel, one channel, weight 2: x^1 = 2 x on 4 pixels. The head reads them with 1, 2, 2, 4 and 0, 0, 0, 2."""
    conv = nn.Conv2d(1, 1, 1, bias=False)
    with torch.no_grad():
        conv.weight.fill_(2.0)
    module = with_weights(conv, nn.ReLU(), nn.Flatten(), linear([[1, 2, 2, 4], [0, 0, 0, 2]]))
    inputs = np.array([1, 1, 1, 2], dtype=np.float32).reshape(1, 1, 2, 2)
    first = measure(module, ArraySamples(inputs, np.array([0]), "image", 2)).layers[0]
    assert (first.units, first.places) == (1, 4)
    # J (2, 2, 2, 4) = (26, 8), |J|_F = sqrt 29, |x^1| = sqrt 28
    assert numbers(first.interlayer_cushions[2]) == pytest.approx([2 * R(26**2 + 8**2) / (R(29) * R(28))])
    assert first.min_interlayer_cushion is not None
    assert first.min_interlayer_cushion.value == 1.0
    # the last pixel has 4^2 + 2^2 of 29
    assert numbers(first.well_distributed) == pytest.approx([2 * R(20 / 29)])
    # |A h| / (|A|_F |h|) = 1; as a matrix it has 4 entries of 2
    assert numbers(first.arora_layer_cushion) == pytest.approx([1.0])
    assert numbers(first.noise_sensitivity) == pytest.approx([4.0])
    assert first.effective_parameters is not None
    assert first.effective_parameters.value == pytest.approx(4 * 20 / 29)


def test_windows_count_in_the_effective_parameters() -> None:
    module = with_weights(nn.Conv2d(2, 4, (5, 3), stride=(2, 1), padding=(2, 1)), nn.Flatten(), nn.Linear(72, 3))
    layer = measure(module, image_samples(4)).layers[0]
    values = [
        quantity.value
        for quantity in (
            layer.activation_contraction,
            layer.well_distributed,
            layer.arora_layer_cushion,
            layer.min_interlayer_cushion,
            layer.effective_parameters,
        )
        if quantity is not None
    ]
    c, beta, mu, mu_after, effective = values
    assert effective == pytest.approx(3 * 3 * (c * beta / (mu * mu_after)) ** 2), "ceil(5/2) * ceil(3/1) windows"


@pytest.mark.parametrize("kind", KINDS)
def test_stable_rank_is_below_the_inverse_cushion(kind: str) -> None:
    """Shin 2021, eq. 17: sqrt(stable rank) <= 1 / mu_i, for matrices and for convolutions."""
    wanted = ("stable_rank", "arora_layer_cushion", "spectral_lower", "spectral_upper", "frobenius")
    found = measure(make(kind), image_samples(20), MeasureOptions(only=wanted))
    for layer in found.layers:
        assert layer.stable_rank is not None
        assert layer.arora_layer_cushion is not None
        assert math.sqrt(layer.stable_rank.value) <= (1 + 1e-6) / layer.arora_layer_cushion.value
        assert layer.spectral_lower is not None
        assert layer.spectral_upper is not None
        assert layer.frobenius is not None
        assert 0 < layer.spectral_lower.value <= layer.spectral_upper.value
        assert layer.stable_rank.value == pytest.approx((layer.frobenius.value / layer.spectral_upper.value) ** 2)


def test_batch_norm_is_measured_folded() -> None:
    found = measure(make("batch norm"), image_samples(5))
    assert found.provenance.folded
    assert [layer.kind for layer in found.layers] == ["conv2d", "linear"]
    first, last = found.layers
    module = make("batch norm")
    norm = module.get_submodule("1")
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.running_var is not None
    scale = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()
    weight = module.get_submodule("0").weight
    assert isinstance(weight, torch.Tensor)
    assert first.frobenius is not None
    expected = float((scale[:, None, None, None] * weight.double()).norm().detach())
    assert first.frobenius.value == pytest.approx(expected, rel=1e-5)
    # The second batch norm cannot be folded: it is a part of the map, so the head follows the convolution alone.
    assert (last.follows, last.alone) == (first.name, True)


def test_skips_are_told() -> None:
    found = measure(make("residual"), image_samples(4), MeasureOptions(only=("frobenius",)))
    assert [layer.alone for layer in found.layers] == [True, True, True, False]
    assert not found.is_chain
    assert "induction" in str(found)


def test_a_sample_without_input_asks_for_nothing() -> None:
    module = with_weights(linear([[1, 0], [0, 1]]), nn.ReLU(), linear([[1, 1], [0, 1]]))
    found = measure(module, vector_samples([[0, 0], [1, 2], [-1, -1]], classes=2))
    first, second = found.layers
    assert numbers(first.arora_layer_cushion) == pytest.approx([math.inf, 1 / R(2), 1 / R(2)])
    assert numbers(first.interlayer_cushions[2])[2] == math.inf, "J is 0 at a dead sample"
    assert numbers(second.activation_contraction) == pytest.approx([0.0, 1.0, math.inf])
    assert second.effective_parameters is not None
    assert second.effective_parameters.value == math.inf


def test_distance_from_the_start() -> None:
    start = with_weights(linear([[1, 0], [0, 1]]))
    found = measure(with_weights(linear([[4, 0], [0, 5]])), vector_samples([[1, 0]], classes=2), initial=start)
    (layer,) = found.layers
    assert layer.distance_from_initial is not None
    assert layer.distance_from_initial.value == pytest.approx(5.0)
    assert numbers(layer.cushion_from_initial) == pytest.approx([4 / 5])
