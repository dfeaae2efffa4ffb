"""Constants of the calculus of differences that cover rounding: each is used up by some pair of networks."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from netpact.algebra.outward import length_up, margin_needed, norm_up, round_up, round_up_float
from netpact.deviations import LayerDistance, compare, measure_distance, widen
from netpact.deviations.deviation import Walk, make_deviation
from netpact.deviations.layer_rule import follow_layer
from netpact.network.rounding.tolerance import make_spread, rounding


def bound_of(layer: nn.Linear, other: nn.Linear, x: torch.Tensor) -> float:
    with rounding("float32") as found:
        pass
    with torch.no_grad(), rounding("float64", collect=True) as own:
        start = make_deviation(make_spread(x, torch.zeros_like(x)), torch.zeros(len(x)).double(), Walk(own, found))
        result = follow_layer("layer", layer, compare(run=layer, other=other), start)
    return float(result.bound)


def test_the_other_network_rounds_every_term_of_a_long_sum() -> None:
    """Two equal layers of ones: one in real numbers, one in float32, where each addition rounds up by almost u."""
    layer = nn.Linear(300, 1, bias=False).double()
    nn.init.ones_(layer.weight)
    x = np.full((1, 300), np.float32(2.0**-24 * (1 + 2.0**-10)), dtype=np.float32)
    x[0, 0] = 1.0
    total = np.float32(0)
    for entry in x[0]:
        total = np.float32(total + entry)
    measured = abs(float(total) - float(x.astype(np.float64).sum()))
    bound = bound_of(layer, copy.deepcopy(layer), torch.from_numpy(x).double())
    assert measured <= bound
    # The bound is in the l2 norm, which is larger than the adversary's sum by up to the root of the terms.
    assert bound < 20 * measured


def test_a_change_can_be_rougher_than_it_is_large() -> None:
    """A Hadamard matrix over its root has norm 1, and sums of magnitudes as large as the root of its size."""
    hadamard = torch.tensor([[1.0]])
    for _ in range(3):
        hadamard = torch.cat([torch.cat([hadamard, hadamard], 1), torch.cat([hadamard, -hadamard], 1)])
    layer = nn.Linear(8, 8, bias=False).double().requires_grad_(False)
    other = copy.deepcopy(layer)
    with torch.no_grad():
        layer.weight.copy_(hadamard * 1e-3)
        other.weight.copy_(hadamard * 1e-3 + hadamard / 8**0.5)
    distance = measure_distance(layer, other)
    assert distance.weights == pytest.approx(1.0, abs=1e-2)
    rough = float(other.weight.abs().pow(2).sum().sqrt())  # |W|_F bounds the layer with |W| in place of W
    assert widen(layer, distance).size.roughness >= rough > 1 + distance.weights


def test_taps_of_a_convolution_make_a_change_rougher_still() -> None:
    layer = nn.Conv2d(1, 1, (1, 4), bias=False).double()
    other = copy.deepcopy(layer)
    with torch.no_grad():
        layer.weight.fill_(0.0)
        other.weight.copy_(torch.tensor([[[[0.5, 0.5, 0.5, -0.5]]]]))
    distance = measure_distance(layer, other)
    assert widen(layer, distance).size.roughness >= 2.0 > distance.weights


def test_what_the_box_knows_of_a_shift() -> None:
    layer = nn.Linear(2, 2).double()
    size = widen(layer, LayerDistance(weights=0.5, shift=0.25)).size
    narrow = widen(layer, LayerDistance(weights=0.0, shift=0.0)).size
    assert size.gain >= narrow.gain + 0.5
    assert size.offset >= narrow.offset + 0.25
    assert size.mean >= narrow.mean + 0.25


def test_sums_and_products_are_rounded_up() -> None:
    random = np.random.default_rng(0)
    below = 0
    for _ in range(200):
        numbers = [float(number) for number in random.random(6)]
        exact = sum(map(Fraction, numbers), Fraction(0)) * Fraction(numbers[0])
        computed = float(torch.tensor(numbers, dtype=torch.float64).cumsum(0)[-1] * numbers[0])
        below += Fraction(computed) < exact
        assert Fraction(float(round_up(torch.tensor(computed, dtype=torch.float64)))) >= exact
        assert Fraction(round_up_float(computed)) >= exact
    assert below > 20, "without rounding up, many are too small"


def test_norms_are_rounded_up() -> None:
    random = np.random.default_rng(1)
    below = 0
    for _ in range(200):
        rows = random.random((1, 3))
        exact = sum((Fraction(float(entry)) ** 2 for entry in rows[0]), Fraction(0))
        tensor = torch.from_numpy(rows)
        below += Fraction(float(torch.linalg.vector_norm(tensor))) ** 2 < exact
        assert Fraction(float(norm_up(tensor))) ** 2 >= exact
        assert Fraction(length_up(tensor)) ** 2 >= exact
        assert Fraction(float(margin_needed(torch.tensor(rows[0, 0])))) ** 2 >= 2 * Fraction(float(rows[0, 0])) ** 2
    assert below > 20


def test_vectors_whose_squares_vanish_have_a_length() -> None:
    tiny = torch.full((1, 4), 2.0**-600, dtype=torch.float64)
    assert float(norm_up(tiny)) >= 2.0**-599
    assert length_up(torch.zeros(3)) == 0.0
