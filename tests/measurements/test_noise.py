"""Noise sensitivity by formula and by drawing, the noise of projections, interlayer smoothness."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch
from measurements.measured_nets import image_samples, make, vector_samples
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import as_data
from netpact.measurements import (
    GaussianProjection,
    MeasureOptions,
    NoiseMaker,
    SignProjection,
    find_structure,
    measure,
    simulate_noise_sensitivity,
)
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.weights import matrix_frobenius
from netpact.network import PartialMap
from netpact.papers.arora.quantities.smoothness import draw_weights, measure_smoothness


def test_proposition_3_1() -> None:
    """|M|_F^2 |x|^2 / |M x|^2 is what Gaussian noise does to a matrix, and never below its stable rank."""
    matrix, x = torch.randn(7, 12).double(), torch.randn(12).double()
    found = simulate_noise_sensitivity(lambda batch: batch @ matrix.T, x, draws=20_000, seed=Seed(1))
    expected = float(matrix.norm() ** 2 * x.norm() ** 2 / (matrix @ x).norm() ** 2)
    assert found.stderr is not None
    assert found.stderr < 0.01 * expected
    assert abs(found.value - expected) < 4 * found.stderr
    assert expected >= float((matrix.norm() / torch.linalg.matrix_norm(matrix, 2)) ** 2)


@pytest.mark.parametrize("padding_mode", ["zeros", "circular", "reflect"])
@pytest.mark.parametrize("groups", [1, 2])
def test_noise_sensitivity_of_a_convolution_is_that_of_its_matrix(
    padding_mode: Literal["zeros", "circular", "reflect"], groups: int
) -> None:
    conv = nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=groups, padding_mode=padding_mode)
    module = nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(36, 3))
    network, _ = fold_for_measuring(module, as_data(image_samples(3)))
    inputs = torch.from_numpy(image_samples(3).inputs.copy())
    layer = find_structure(network, inputs).layers[0]

    def apply(batch: Tensor) -> Tensor:
        assert conv.bias is not None
        return (conv(batch) - conv.bias[:, None, None]).flatten(1).detach()

    identity = torch.eye(72).reshape(72, 2, 6, 6)
    true = float(apply(identity).double().norm())
    size = matrix_frobenius(layer, seed=Seed(0))
    assert size.exact == (padding_mode == "zeros")
    if size.exact:
        assert size.value == pytest.approx(true, rel=1e-5)
    else:
        assert size.stderr is not None
        assert abs(size.value - true) < 4 * size.stderr < 0.1 * true
    found = simulate_noise_sensitivity(apply, inputs[0], draws=4000, seed=Seed(2))
    expected = true**2 * float(inputs[0].norm() ** 2 / apply(inputs[:1]).norm() ** 2)
    assert found.stderr is not None
    assert abs(found.value - expected) < 4 * found.stderr


def test_a_map_that_gives_nothing_has_no_sensitivity() -> None:
    with pytest.raises(PactError, match="not defined"):
        simulate_noise_sensitivity(lambda batch: 0 * batch, torch.ones(3), draws=10, seed=Seed(0))
    with pytest.raises(PactError, match="draws"):
        simulate_noise_sensitivity(lambda batch: batch, torch.ones(3), draws=1, seed=Seed(0))


def test_both_projections_have_the_stated_mean_and_covariance() -> None:
    weight = torch.tensor([[1.0, -2.0, 0.5], [2.0, 0.0, -1.0]])
    vector = weight.flatten().double().numpy()
    share = 50 / 6
    expected = (np.outer(vector, vector) + np.diag(vector @ vector - 2 * vector**2)) / 50
    makers: list[tuple[NoiseMaker, int, float]] = [
        (GaussianProjection(share), 3000, 0.12),
        (SignProjection(share), 500, 0.3),
    ]
    for maker, draws, allowed in makers:
        drawn = np.stack([maker(weight, Seed(seed)).double().numpy().ravel() for seed in range(draws)])
        error = math.sqrt((vector @ vector) / 50 / draws)
        assert np.abs(drawn.mean(axis=0) - vector).max() < 4.5 * error
        assert np.abs(np.cov(drawn.T) - expected).max() < allowed * expected.max()


def test_projections_refuse_a_share_of_nothing() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(PactError, match="share"):
            GaussianProjection(bad)
        with pytest.raises(PactError, match="share"):
            SignProjection(bad)


def add_to(**changes: Tensor) -> NoiseMaker:
    """A noise that is known: what is added to the weight of each shape."""

    def make_noise(weight: Tensor, _: Seed) -> Tensor:
        return weight + changes["x".join(map(str, weight.shape))].reshape(weight.shape)

    return make_noise


def test_smoothness_by_hand() -> None:
    """x^1 = (1, 1), its second entry moved to -1: relu gives 0 where the slope says -1, so M differs by 1 from linear.

    eta = (0, -2), M(x + eta) - M(x) - J eta = (1, 0) - (1, 1) - (0, -2) = (0, 1) under the identity, |x^1| = |x^2|.
    """
    first_layer, second_layer = nn.Linear(2, 2, bias=False), nn.Linear(2, 3, bias=False)
    with torch.no_grad():
        first_layer.weight.copy_(torch.eye(2))
        second_layer.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    module = nn.Sequential(first_layer, nn.ReLU(), second_layer)
    noise = add_to(**{"2x2": torch.tensor([[0.0, 0.0], [0.0, -2.0]]), "3x2": torch.zeros(6)})
    samples = vector_samples([[1, 1], [1, 0]], classes=3)
    found = measure(module, samples, MeasureOptions(only=("interlayer_smoothness",), draws=1, noise=noise))
    first, last = found.layers
    assert first.interlayer_smoothness is not None
    assert first.interlayer_smoothness.samples is not None
    # The second sample's output does not move at all: it asks for nothing.
    assert first.interlayer_smoothness.samples.tolist() == pytest.approx([2.0, math.inf])
    assert not first.interlayer_smoothness.exact
    assert last.interlayer_smoothness is None
    assert found.interlayer_smoothness is not None
    assert found.interlayer_smoothness.value == pytest.approx(2.0)


def test_both_noises_of_the_proof_are_tried() -> None:
    """The worst of: only earlier layers replaced, and the layer itself too; against the definition written out."""
    module = make("stride, groups, in place")
    samples = image_samples(3)
    network, _ = fold_for_measuring(module, as_data(samples))
    inputs = torch.from_numpy(samples.inputs.copy())
    structure = find_structure(network, inputs)
    drawn = draw_weights(structure, GaussianProjection(0.5), seed=Seed(3))
    found = measure_smoothness(network, structure, inputs, drawn)
    names = {layer.index: layer.name for layer in structure.layers}
    for start in structure.indices[:-1]:
        partial = PartialMap(network, start, structure.ends(start), inputs)
        worst = np.full(3, np.inf)
        for replaced in (range(1, start), range(1, start + 1)):
            if not replaced:
                continue
            other = make("stride, groups, in place").eval()
            with torch.no_grad():
                for index in replaced:
                    weight = other.get_submodule(names[index]).weight
                    assert isinstance(weight, Tensor)
                    weight.copy_(drawn[index])
                moved_network, _ = fold_for_measuring(other, as_data(samples))
                eta = PartialMap(moved_network, start, partial.ends, inputs).point() - partial.point()
                clean, moved = partial(partial.point()), partial(partial.point() + eta)
            for at, after, slope in zip(clean, moved, partial.push(eta), strict=True):
                bend = (after - at - slope.detach()).flatten(1).norm(dim=1) * partial.point().flatten(1).norm(dim=1)
                worst = np.minimum(worst, (eta.flatten(1).norm(dim=1) * at.flatten(1).norm(dim=1) / bend).numpy())
        # The bend is a small difference of large numbers in float32.
        assert found[start] == pytest.approx(worst, rel=2e-3)


def test_more_draws_are_never_smoother() -> None:
    few, many = (
        measure(make("pooling"), image_samples(4), MeasureOptions(only=("interlayer_smoothness",), draws=draws))
        for draws in (1, 3)
    )
    for one, three in zip(few.layers, many.layers, strict=True):
        if one.interlayer_smoothness is not None and three.interlayer_smoothness is not None:
            assert one.interlayer_smoothness.samples is not None
            assert three.interlayer_smoothness.samples is not None
            assert (three.interlayer_smoothness.samples <= one.interlayer_smoothness.samples).all()
            assert (three.interlayer_smoothness.samples < one.interlayer_smoothness.samples).any()
