"""docs/papers/li.md: each printed statement that does not hold, where it fails, and the form that holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from bounds.li_networks import Drawn, draw_cnn, draw_fc, draw_residual, terms_by_definition
from torch import nn
from torch.nn import functional

from netpact.algebra import CPDecomposition
from netpact.layers import CPConv2d, CPLinear
from netpact.measurements.tensors import tensor_properties
from netpact.methods.ranks_from_margin import find_ranks

SEEDS = range(20)


def test_d_4_as_printed_loses_a_factor_hw_at_every_layer() -> None:
    """Unitary DFT (6) divides c_r by sqrt(HW), Definition 4.4 multiplies zeta by it, and (60) to (61) forget both."""
    ratios = []
    for seed in SEEDS:
        drawn = draw_cnn(seed, plain=True)
        measured = drawn.measured()
        assert measured <= terms_by_definition(drawn).error
        ratios.append(measured / terms_by_definition(drawn, printed=True).error)
    assert min(ratios) > 1, "violated on every one of these networks"
    assert np.median(ratios) > 5
    single = draw_one_by_one()
    valid, printed = (terms_by_definition(single, printed=flag) for flag in (False, True))
    for one, other in zip(valid.layers, printed.layers, strict=True):
        assert other.added == pytest.approx(one.added / 25), "H = W = 5, kernels of one tap: the grid loses nothing"
        assert other.enlarged == pytest.approx(one.enlarged / 25)


def draw_one_by_one() -> Drawn:
    torch.manual_seed(1)
    network = nn.Sequential(CPConv2d(3, 4, 1, 5), nn.ReLU(), CPConv2d(4, 2, 1, 5), nn.Flatten())
    return Drawn(network.eval(), torch.rand(6, 3, 5, 5), (3, 4))


def test_f_3_as_printed_loses_it_too() -> None:
    for seed in SEEDS:
        drawn = draw_residual(seed)
        measured = drawn.measured()
        if all(term.rank == term.components for term in terms_by_definition(drawn).layers):
            continue
        assert measured <= terms_by_definition(drawn).error
        assert measured > terms_by_definition(drawn, printed=True).error


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_e_8_as_printed_drops_the_size_of_the_matrix(seed: int) -> None:
    """Weights times 0.001 change no relative error of a ReLU network without biases. The printed bound falls with them.

    In the proof t |A|_F is the root of sum lambda^2, but Definition E.3 has t without the |A|_F in it.
    """
    drawn, scaled = (draw_fc(seed, scale=scale, bias=False) for scale in (1.0, 0.001))
    kept = (5, 6, 6)  # the last layer whole: its own term has its |A|_F
    valid = [terms_by_definition(one, ranks=kept).error for one in (drawn, scaled)]
    printed = [terms_by_definition(one, ranks=kept, printed=True).error for one in (drawn, scaled)]
    measured = drawn.measured(kept)
    assert scaled.measured(kept) == pytest.approx(measured, rel=1e-3)
    assert valid[1] == pytest.approx(valid[0], rel=1e-3)
    assert printed[1] < measured / 3 < measured <= valid[0]


def test_roots_of_squares_need_orthonormal_components() -> None:
    """The proof of E.8 takes t and xi as sqrt(sum lambda^2): two equal components have the operator norm 2, not sqrt 2.

    Definitions E.3 and E.5 themselves have the sum, which holds for all unit factors (Lemma C.5).
    """
    layer = CPLinear(4, 4, 2, bias=False)
    unit = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    layer.set_components(CPDecomposition(torch.ones(2), (unit,) * 4, (2, 2, 2, 2), 0.0))
    norm = float(torch.linalg.matrix_norm(layer.dense().weight.detach(), 2))
    assert norm == pytest.approx(float(layer.spectrum().sum()))
    assert norm > 1.4 * float(layer.spectrum().norm())


def test_equation_59_is_an_identity_only_with_the_compressed_layer() -> None:
    """M X - M^ X^ = M^ (X - X^) + (M - M^) X: t is that of the layer that is left, as in the proofs of E.8 and F.3."""
    random = np.random.default_rng(0)
    full, kept = random.normal(size=(2, 5, 4))
    x, other = random.normal(size=(2, 4))
    difference = full @ x - kept @ other
    assert kept @ (x - other) + (full - kept) @ x == pytest.approx(difference)
    assert not np.allclose(full @ (x - other) + (full - kept) @ x, difference)


def test_pooling_with_overlap_can_enlarge_an_error() -> None:
    """Section 4: "adding pooling layer will only lead to a smaller generalization bound".

    Of max pooling 3 x 3 with stride 2 a pixel is in four windows: the error that a dropped component leaves at one
    pixel appears four times.
    """
    layer = CPConv2d(2, 1, 1, 2, bias=False)
    network = nn.Sequential(layer, nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten())
    axes = (torch.ones(1, 2), torch.eye(2), torch.ones(1, 2))
    layer.set_components(CPDecomposition(torch.tensor([1.0, 0.9]), axes, (1, 2, 1, 1), 0.0))
    images = torch.zeros(1, 2, 5, 5)
    images[:, 0] = 0.01
    images[:, 1, 2, 2] = 1.0
    drawn = Drawn(network.eval(), images, (1,))
    valid = terms_by_definition(drawn)
    assert valid.error / 2 < drawn.measured() <= valid.error
    assert drawn.measured() > 0.98 * valid.error, "and no smaller constant will do"


def test_equation_5_takes_the_factors_of_later_layers_at_the_wrong_rank() -> None:
    """(5) has t_j^(i) of the layers i > k at the rank j of layer k. Algorithm 3 has the ranks chosen for them.

    The second layer is ten equal components of 0.1, which add up: t_1 = 0.1, t_10 = 1. The first loses 0.5 of the only
    channel that the second one reads. zeta |M|_F is sqrt(5/8) and sqrt(1/5), eps = 0.3: by (5) one component of the
    first layer is enough, 0.5 * 0.1 <= 0.15 sqrt(1/8). Then nothing is left of the output.
    """
    axes, ones = torch.eye(2), torch.ones(1, 10)
    first, second = (CPConv2d(2, 2, 1, rank, bias=False) for rank in (2, 10))
    first.set_components(CPDecomposition(torch.tensor([1.0, 0.5]), (axes, axes, ones[:, :2]), (2, 2, 1, 1), 0.0))
    equal = (axes[:, :1].expand(2, 10), axes[:, 1:].expand(2, 10), ones)
    second.set_components(CPDecomposition(torch.full((10,), 0.1), equal, (2, 2, 1, 1), 0.0))
    network = nn.Sequential(first, nn.ReLU(), second, nn.Flatten()).eval()
    drawn, eps = Drawn(network, torch.ones(1, 2, 3, 3), (1, 10)), 0.3
    layers = terms_by_definition(drawn).layers
    left = layers[0].signal * layers[1].signal
    assert left == pytest.approx(math.sqrt(1 / 8), rel=1e-5)
    assert eps / 2 * left >= 0.5 * 0.1, "equation (5) at j = 1"
    assert drawn.measured() == pytest.approx(1.0)
    chosen = find_ranks(tensor_properties(network, drawn.samples), eps=eps)
    assert [layer.rank for layer in chosen.layers] == [2, 10]


def test_parameters_of_a_linear_layer() -> None:
    """R (2 (s + s') + 1), as in Lemma E.8. Lemma E.7 prints R (2 (s + s' + 1)), one more for each component."""
    layer = CPLinear(49, 25, 6, bias=False)
    assert sum(part.numel() for part in layer.parameters()) + len(layer.spectrum()) == 6 * (2 * (7 + 5) + 1)
    assert layer.components().parameters == 6 * (2 * (7 + 5) + 1)


def test_symbols_are_those_of_the_convolution() -> None:
    """c_r as the slow reference has it: the operator norm of the circular convolution with C_r, by its matrix."""
    torch.manual_seed(3)
    kernel = torch.randn(3, 3, dtype=torch.float64)
    columns = []
    for place in range(36):
        image = torch.zeros(36, dtype=torch.float64)
        image[place] = 1.0
        padded = functional.pad(image.reshape(1, 1, 6, 6), (1, 1, 1, 1), mode="circular")
        columns.append(functional.conv2d(padded, kernel[None, None]).flatten())
    norm = float(torch.linalg.matrix_norm(torch.stack(columns), 2))
    assert norm == pytest.approx(float(torch.fft.fft2(kernel, s=(6, 6)).abs().max()))
