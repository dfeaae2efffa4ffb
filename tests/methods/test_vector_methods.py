"""VectorCompress and VectorProject on linear classifiers: the laws of all methods, their lemmas, what they refuse."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from numpy.typing import NDArray
from scipy.stats import binom
from torch import nn

from netpact.coding import ShortFloat
from netpact.coding.format import Pact, seal
from netpact.coding.forms import Projection, Uniform
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.methods import Method, VectorCompress, VectorProject, compress, make_method
from netpact.methods.linear_classifier import largest_row, scale_below
from netpact.network import Network, trace

Array = NDArray[np.float64]

_BAD: list[dict[str, Any]] = [
    {"gamma": 0.0},
    {"gamma": 1.5},
    {"gamma": float("nan")},
    {"gamma": True},
    {"eta": 0},
    {"eta": 1.1},
    {"eta": "rarely"},
    {"seed": -1},
    {"seed": 1.0},
]


class OnLinearClassifiers:
    @pytest.fixture(params=["linear"])
    def network(self, request: pytest.FixtureRequest) -> Network:
        network: Network = request.getfixturevalue(request.param)
        return network


class TestVectorCompress(OnLinearClassifiers, MethodConformance):
    sizes: ClassVar[list[Method]] = [VectorCompress(gamma=g, eta=e) for g, e in ((1.0, 1.0), (1.0, 0.3), (0.3, 0.3))]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


class TestVectorProject(OnLinearClassifiers, MethodConformance):
    sizes: ClassVar[list[Method]] = [VectorProject(gamma=g, eta=e) for g, e in ((1.0, 1.0), (1.0, 0.3), (0.9, 0.1))]
    bad: ClassVar[list[dict[str, Any]]] = [*_BAD, {"seed": 2**32}, {"as_printed": 1}]


class TestVectorProjectAsPrinted(OnLinearClassifiers, MethodConformance):
    sizes: ClassVar[list[Method]] = [VectorProject(gamma=1.0, eta=e, as_printed=True) for e in (0.9, 0.3, 0.05)]
    bad: ClassVar[list[dict[str, Any]]] = []


def classifier(*, entries: int = 300, classes: int = 3, spread: float = 4.0) -> Network:
    """Rows of different norms, entries of different sizes."""
    module = nn.Linear(entries, classes)
    random = np.random.default_rng(0)
    rows = random.standard_normal((classes, entries)) * np.geomspace(1, spread, classes)[:, None]
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(rows * random.gamma(0.5, size=entries)))
    return trace(module, inputs(entries, classes))


def inputs(entries: int, classes: int) -> Data:
    drawn = np.random.default_rng(1).standard_normal((20, entries)).astype(np.float32)
    return Data("drawn", classes, ArraySamples(drawn, np.arange(20) % classes, "drawn", classes))


def weight_of(network: Network) -> Array:
    return next(network.module.parameters()).detach().double().numpy()


@pytest.mark.parametrize("kind", [VectorCompress, VectorProject])
def test_a_logit_of_a_fixed_input_moves_as_little_as_promised(kind: type[Method]) -> None:
    """Over seeds: for each class and input at most eta of the draws move a logit by more than gamma |row| |x|."""
    network = classifier()
    weight = weight_of(network)
    unit = float(np.linalg.norm(weight, axis=1).max())
    fixed = np.stack([weight[2] / np.linalg.norm(weight[2]), np.eye(300)[int(np.argmax(np.abs(weight[2])))]])
    gamma, eta, trials = 0.8, 0.3, 60
    failures = np.zeros((3, 2), dtype=np.int64)
    moved = 0.0
    for seed in range(trials):
        method: Any = kind
        coded = compress(network, method(gamma=gamma, eta=eta, seed=seed)).tensors["weight"].weights()
        errors = np.abs((coded - weight) @ fixed.T)
        failures += errors > gamma * unit
        moved = max(moved, float(errors.max()))
    assert failures.max() <= binom.ppf(0.999, trials, eta)
    assert moved > 0.1 * gamma * unit  # a promise that is worth making


def test_vector_compress_keeps_few_entries_on_a_grid() -> None:
    network = classifier(entries=3000)
    weight = weight_of(network)
    method = VectorCompress(gamma=0.9, eta=0.5)
    coded = compress(network, method).tensors["weight"]
    assert isinstance(coded.form, Uniform)
    unit = np.linalg.norm(weight, axis=1).max()
    grid = 0.9 * unit / (2 * np.sqrt(3000))
    assert 0.9 * grid < coded.form.step.value <= grid
    # 8 / (eta gamma^2) for a row of the largest norm, fewer for the others
    most = 8 * np.square(weight).sum() / (0.5 * 0.81 * unit**2)
    assert 0 < np.count_nonzero(coded.symbols) <= most + 4 * np.sqrt(most)
    plain = len(seal(compress(network, make_method("quantize", {"bits": "4"}))).message)
    assert len(seal(compress(network, method)).message) < plain / 5


def test_vector_project_is_algorithm_3_row_by_row() -> None:
    network = classifier()
    weight = weight_of(network)
    for as_printed, count in ((False, 36), (True, 20)):
        method = VectorProject(gamma=1.0, eta=0.3, seed=9, as_printed=as_printed)
        coded = compress(network, method).tensors["weight"]
        form = coded.form
        assert isinstance(form, Projection)
        assert (form.by_rows, form.seed, form.variant) == (True, 9, "signs")
        assert form.count == count
        signs = form.projector(300).combine(np.eye(form.count, dtype=np.int64))
        assert set(np.unique(signs)) == {-1.0, 1.0}
        # Each row by its definition: products with the signs, rounded, and their combination.
        width = form.count * form.step.value
        expected = np.rint(weight @ signs.T / width) * width @ signs / form.count
        assert np.allclose(coded.weights(), expected, atol=1e-9)


def test_rounding_as_printed_costs_bits_and_buys_little() -> None:
    network = classifier()
    printed, ours = (
        compress(network, VectorProject(gamma=1.0, eta=eta, as_printed=as_printed))
        for eta, as_printed in ((0.05, True), (0.3, False))
    )
    lengths = []
    for compressed in (printed, ours):
        form = compressed.tensors["weight"].form
        assert isinstance(form, Projection)
        lengths.append(8 * len(seal(compressed).message) / (3 * form.count))
    assert lengths[0] > lengths[1] + 4  # bits for each product


@pytest.mark.parametrize("method", [VectorCompress(), VectorProject()])
def test_other_networks_are_refused_by_name(method: Method, mixed: Network) -> None:
    with pytest.raises(
        PactError, match=rf"{method.name} is about linear classifiers: one linear layer is allowed"
    ) as e:
        compress(mixed, method)
    assert "0 (conv2d), 1 (batch_norm), 5 (linear)" in e.value.what
    assert "Quantize" in e.value.hint


def test_a_layer_that_runs_twice_is_no_linear_classifier() -> None:
    layer = nn.Linear(3, 3)
    network = trace(nn.Sequential(layer, nn.ReLU(), layer), inputs(3, 3))
    with pytest.raises(PactError, match="one linear layer is allowed"):
        compress(network, VectorCompress())


def test_too_many_products_are_refused(linear: Network) -> None:
    with pytest.raises(PactError, match=r"gamma: gamma 0.1 and eta 0.1 take 2,\d+ products for a row of 64 weights"):
        compress(linear, VectorProject(gamma=0.1))


@pytest.mark.parametrize("method", [VectorCompress(gamma=0.9, eta=0.9), VectorProject(gamma=0.9)])
def test_it_is_sealed_promised_and_opened(method: Method, linear: Network, digits: Data) -> None:
    pact = Pact.from_bytes(seal(compress(linear, method)).to_bytes())
    promise = promised_error(linear, pact, digits.test)
    assert (promise.measured <= promise.promised).all()
    assert promise.measured.max() > 0


@pytest.mark.parametrize("method", [VectorCompress(), VectorProject()])
def test_a_classifier_of_zeros(method: Method) -> None:
    module = nn.Linear(300, 3, bias=False)
    nn.init.zeros_(module.weight)
    coded = compress(trace(module, inputs(300, 3)), method).tensors
    assert not coded["weight"].weights().any()


def test_seeds_give_other_draws(linear: Network) -> None:
    for kind in (VectorCompress, VectorProject):
        first, second = (seal(compress(linear, kind(gamma=1.0, eta=1.0, seed=seed))).message for seed in (0, 1))
        assert first != second


@pytest.mark.parametrize("number", [1.0, 1.03, 0.999, 1.06, 3.9, 4.0, 1e-9, 0.5000001])
def test_the_scale_below(number: float) -> None:
    found = scale_below(number)
    assert number * (1 - 1 / 16) <= found.value <= number
    larger = (
        ShortFloat(found.exponent, found.mantissa + 1) if found.mantissa < 15 else ShortFloat(found.exponent + 1, 0)
    )
    assert larger.value > number


def test_the_largest_row_neither_over_nor_underflows() -> None:
    for scale in (1e-200, 1.0, 1e200):
        assert largest_row(scale * np.array([[3.0, 4.0], [1.0, 0.0]])) == pytest.approx(5 * scale)
    assert largest_row(np.zeros((2, 2))) == 0
