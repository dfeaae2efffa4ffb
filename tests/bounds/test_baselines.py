"""The norm-based baselines: by hand, by loops over unrolled convolutions, and their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from bounds.bound_examples import FIRST, SECOND, chain, change_facts, make_facts, norms_by_loops, some_data
from torch import nn

from netpact import PactError
from netpact.bounds import RULES, EstimateOptions, Gamma, estimate_bounds, log_output_change, measure_norms
from netpact.bounds.facts import Facts
from netpact.datasets import as_data
from netpact.measurements.structure import WeightLayer, find_structure
from netpact.network import trace

NORM_BASED = (
    "bartlett-mendelson-2002",
    "neyshabur-2015",
    "bartlett-2017-figure",
    "bartlett-2017",
    "neyshabur-2017",
    "arora-2.2",
)


def capacity(name: str, facts: Facts) -> float:
    return math.exp(RULES[name].log_capacity(facts))


def test_capacities_worked_out_by_hand() -> None:
    """A_1 = diag(3, 4), A_2 = ((1, -2), (2, 0)), gamma = 1/2, max|x| = 2: |A_2|_2^2 = (9 + sqrt 17)/2 is called s."""
    facts = make_facts(FIRST, SECOND, gamma=0.5)
    s = (9 + math.sqrt(17)) / 2
    rows = math.sqrt(5) + 2
    expected = {
        "bartlett-mendelson-2002": 4 * (4 * 3) ** 2,
        "neyshabur-2015": 4 * 25 * 9,
        "bartlett-2017-figure": 4 * (25 * s + 16 * 13),
        "bartlett-2017": 4 * 16 * s * ((7 / 4) ** (2 / 3) + (rows / math.sqrt(s)) ** (2 / 3)) ** 3,
        "neyshabur-2017": 4 * (2 * 25 * s + 16 * 2 * 9),
        "arora-2.2": 2 * 2**2 * 2.0**2 * 4 * (25 * s + 16 * 9),
        "parameters": 8,
        "bartlett-2019": 8 * 2 * 3,
        "arora-2.1": (8 * 32 * math.log(2) + math.log(20)) / 2,
    }
    for name, value in expected.items():
        assert capacity(name, facts) == pytest.approx(value, rel=1e-12), name


def test_a_network_gives_the_same_numbers_as_its_matrices() -> None:
    data = some_data(inputs=2, classes=2, count=30)
    found = estimate_bounds(chain(FIRST, SECOND), data, EstimateOptions(gamma=Gamma(value=0.5)))
    x = np.concatenate([batch for batch, _ in data.train.batches()]).astype(np.float64)
    facts = change_facts(make_facts(FIRST, SECOND, gamma=0.5), input_norm=float(np.linalg.norm(x, axis=1).max()))
    for name in (*NORM_BASED, "parameters", "bartlett-2019"):
        assert found[name].log_capacity == pytest.approx(RULES[name].log_capacity(facts), abs=1e-6), name


def unrolled(layer: nn.Conv2d, image: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The convolution as a matrix, one tap at a time: padding by zeros, any stride, dilation and groups."""
    weight = layer.weight.detach().double().numpy()
    (sy, sx), (dy, dx) = layer.stride, layer.dilation
    assert not isinstance(layer.padding, str)
    py, px = layer.padding
    height = (image[0] + 2 * py - dy * (weight.shape[2] - 1) - 1) // sy + 1
    width = (image[1] + 2 * px - dx * (weight.shape[3] - 1) - 1) // sx + 1
    inside, outside = weight.shape[1], len(weight) // layer.groups
    matrix = np.zeros((len(weight) * height * width, layer.in_channels * image[0] * image[1]))
    for out, a, b in np.ndindex(len(weight), height, width):
        for channel, ky, kx in np.ndindex(*weight.shape[1:]):
            y, x = a * sy - py + ky * dy, b * sx - px + kx * dx
            if 0 <= y < image[0] and 0 <= x < image[1]:
                source = out // outside * inside + channel
                column = (source * image[0] + y) * image[1] + x
                matrix[(out * height + a) * width + b, column] += weight[out, channel, ky, kx]
    return matrix


def layer_of(part: nn.Module, image: tuple[int, int]) -> WeightLayer:
    assert isinstance(part, nn.Conv2d)
    model = nn.Sequential(part, nn.Flatten(), nn.LazyLinear(2))
    x = torch.rand(3, part.in_channels, *image)
    model(x)
    return find_structure(trace(model, as_data((x, np.array([0, 1, 0])), classes=2)), x).layers[0]


@pytest.mark.parametrize(
    ("part", "image"),
    [
        (nn.Conv2d(2, 3, 3, padding=1), (5, 4)),
        (nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias=False), (6, 5)),
        (nn.Conv2d(1, 2, (2, 3), dilation=2), (6, 7)),
        (nn.Conv2d(3, 2, 1), (2, 3)),
    ],
)
def test_norms_of_convolutions_are_those_of_the_unrolled_matrix(part: nn.Conv2d, image: tuple[int, int]) -> None:
    found = measure_norms(layer_of(part, image))
    slow = norms_by_loops(unrolled(part, image))
    for name in ("outputs", "frobenius", "l1_inf", "l1_l2", "l2_l1"):
        assert getattr(found, name) == pytest.approx(getattr(slow, name), rel=1e-10), name
    assert slow.spectral * (1 - 1e-9) <= found.spectral <= 1.6 * slow.spectral


def test_reshaped_filters_are_another_matrix_and_named_as_such() -> None:
    part = nn.Conv2d(2, 3, 3, padding=1)
    layer = layer_of(part, (6, 6))
    reshaped = measure_norms(layer, convolutions="reshaped")
    slow = norms_by_loops(part.weight.detach().double().numpy().reshape(3, -1))
    for name in ("outputs", "spectral", "frobenius", "l1_inf", "l1_l2", "l2_l1"):
        assert getattr(reshaped, name) == pytest.approx(getattr(slow, name), rel=1e-8), name
    true = float(np.linalg.norm(unrolled(part, (6, 6)), 2))
    assert reshaped.spectral < true < measure_norms(layer).spectral, "the reshaped norm is no bound on the layer's"
    with pytest.raises(PactError, match="unrolled, reshaped"):
        measure_norms(layer, convolutions="flat")


def test_padding_that_reads_a_pixel_twice_is_refused() -> None:
    part = nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect")
    layer = layer_of(part, (4, 4))
    with pytest.raises(PactError, match=r"reflect.*zeros"):
        measure_norms(layer)
    assert measure_norms(layer, convolutions="reshaped").outputs == 2


@pytest.mark.parametrize("name", NORM_BASED)
def test_no_baseline_depends_on_the_unit_of_the_outputs_or_of_a_layer(name: str) -> None:
    """f and gamma in another unit; a factor moved from one layer to the next: the same classifier each time."""
    plain = make_facts(FIRST, SECOND, gamma=0.5)
    louder = make_facts(FIRST, 7 * SECOND, gamma=3.5)
    moved = make_facts(5 * FIRST, SECOND / 5, gamma=0.5)
    rule = RULES[name].log_capacity
    assert rule(louder) == pytest.approx(rule(plain), rel=1e-12)
    assert rule(moved) == pytest.approx(rule(plain), rel=1e-12)


def test_l1_inf_as_printed_depends_on_the_unit() -> None:
    """Figure 2 prints prod |A|_1,inf / gamma^2, without the square."""

    def printed(facts: Facts) -> float:
        return math.prod(layer.l1_inf for layer in facts.norms) / facts.gamma**2

    assert printed(make_facts(FIRST, 7 * SECOND, gamma=3.5)) != pytest.approx(printed(make_facts(FIRST, SECOND)))


def test_theorem_2_2_needs_the_square_of_the_inputs() -> None:
    """Inputs in another unit, the first layer in its inverse: the same classifier, and only |x|^2 sees that."""
    plain = make_facts(FIRST, SECOND)
    scaled = change_facts(make_facts(FIRST / 10, SECOND), input_norm=10 * plain.input_norm)
    rule = RULES["arora-2.2"].log_capacity
    assert rule(scaled) == pytest.approx(rule(plain), rel=1e-12)
    printed = [rule(facts) - math.log(facts.input_norm) for facts in (plain, scaled)]  # |x| in the place of |x|^2
    assert printed[0] != pytest.approx(printed[1], abs=1.0)


def test_products_beyond_the_range_of_floats_stay_finite_in_log_scale() -> None:
    facts = make_facts(*[1e4 * np.eye(2)] * 200, gamma=1.0)
    for name in NORM_BASED:
        assert 1600 <= RULES[name].log_capacity(facts) / math.log(10) < 1680, name


def test_a_layer_of_zeros_makes_the_capacity_zero() -> None:
    facts = make_facts(FIRST, np.zeros((2, 2)))
    assert all(RULES[name].log_capacity(facts) == -math.inf for name in NORM_BASED)


def test_lemma_9_holds_on_random_networks() -> None:
    generator = np.random.default_rng(3)
    closest = 0.0
    for _ in range(200):
        depth = int(generator.integers(1, 5))
        before = [generator.normal(size=(3, 3)) for _ in range(depth)]
        sizes = [float(np.linalg.norm(matrix, 2)) for matrix in before]
        steps = [generator.normal(size=(3, 3)) for _ in range(depth)]
        shares = generator.uniform(0, 1 / depth, depth)
        steps = [s * share * size / np.linalg.norm(s, 2) for s, share, size in zip(steps, shares, sizes, strict=True)]
        x = generator.normal(size=3)
        change = np.linalg.norm(run(before, x) - run([a + s for a, s in zip(before, steps, strict=True)], x))
        bound = math.exp(
            log_output_change(spectral=sizes, changes=list(shares * sizes), input_norm=float(np.linalg.norm(x)))
        )
        closest = max(closest, change / bound)
    assert 0.05 < closest <= 1
    with pytest.raises(PactError, match=r"layer 2.*Lemma 9 allows up to 0\.5"):
        log_output_change(spectral=[1.0, 1.0], changes=[0.1, 0.6], input_norm=1.0)
    with pytest.raises(PactError, match="one change"):
        log_output_change(spectral=[1.0, 1.0], changes=[0.1], input_norm=1.0)


def run(matrices: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    for matrix in matrices[:-1]:
        x = np.maximum(matrix @ x, 0)
    return matrices[-1] @ x


def test_lemma_9_by_hand() -> None:
    """One layer: e |x| |A - A^|."""
    assert math.exp(log_output_change(spectral=[2.0], changes=[0.5], input_norm=3.0)) == pytest.approx(1.5 * math.e)
    two = math.exp(log_output_change(spectral=[2.0, 4.0], changes=[1.0, 1.0], input_norm=1.0))
    assert two == pytest.approx(math.e * 8 * (1 / 2 + 1 / 4))
