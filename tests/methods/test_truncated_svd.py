"""TruncatedSVD: the laws of all methods, Lemma 1 on networks, what is worth a product, what its options refuse."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from netpact.algebra.singular_values import SingularValues, decompose
from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, seal
from netpact.coding.forms import CodedTensor, Factor, LowRank, Uniform, Zero
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.layers import Factored
from netpact.methods import Method, Quantize, TruncatedSVD, compress, make_method
from netpact.methods.factoring import split_factors
from netpact.methods.low_rank_fitting import code_length, round_low_rank
from netpact.methods.truncated_svd import margin_tolerance
from netpact.network import Network, trace

Array = NDArray[np.float64]


class TestTruncatedSVD(MethodConformance):
    sizes: ClassVar[list[Method]] = [TruncatedSVD(rank=rank, bits=6) for rank in (1, 2, 3)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"rank": 0},
        {"rank": 2.0},
        {"rank": True},
        {"energy": 0.0},
        {"energy": 1.1},
        {"tolerance": -0.1},
        {"tolerance": float("nan")},
        {"tolerance": "much"},
        {"margin": 0},
        {"margin": float("inf")},
        {"margin": True},
        {"bits": 1},
        {"bits": 17},
        {"bits": 8.0},
        {"rank": 2, "energy": 0.5},
        {"tolerance": 0.1, "margin": 1.0},
    ]


class TestBits(MethodConformance):
    sizes: ClassVar[list[Method]] = [TruncatedSVD(rank=2, bits=bits) for bits in (3, 5, 8)]
    bad: ClassVar[list[dict[str, Any]]] = []


class TestEnergy(MethodConformance):
    sizes: ClassVar[list[Method]] = [TruncatedSVD(energy=energy, bits=7) for energy in (0.2, 0.5, 0.8)]
    bad: ClassVar[list[dict[str, Any]]] = []


class TestTolerance(MethodConformance):
    sizes: ClassVar[list[Method]] = [TruncatedSVD(tolerance=tolerance, bits=7) for tolerance in (1.0, 0.7, 0.5)]
    bad: ClassVar[list[dict[str, Any]]] = []


def matrix(rows: int, columns: int, *, decay: float, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    side = min(rows, columns)
    left = np.linalg.qr(random.standard_normal((rows, side)))[0]
    right = np.linalg.qr(random.standard_normal((columns, side)))[0]
    return (left * (1.0 + np.arange(side)) ** -decay) @ right.T


def two_layers(*, decay: float, bias: bool = True) -> Network:
    module = nn.Sequential(nn.Linear(40, 30, bias=bias), nn.ReLU(), nn.Linear(30, 5, bias=bias))
    random = np.random.default_rng(3)
    with torch.no_grad():
        for layer, name in ((module[0], 0), (module[2], 1)):
            assert isinstance(layer, nn.Linear)
            layer.weight.copy_(torch.from_numpy(2 * matrix(*layer.weight.shape, decay=decay, seed=name)))
    return trace(module, inputs(random))


def inputs(random: np.random.Generator | None = None) -> Data:
    drawn = np.random.default_rng(5).standard_normal((50, 40)).astype(np.float32)
    return Data("drawn", 5, ArraySamples(drawn, np.arange(50) % 5, "drawn", 5))


def products(compressed: Compressed) -> dict[str, Array]:
    """What the layers compute, by the names that the network's own tensors have."""
    tensors, found = compressed.tensors, {}
    for name, tensor in tensors.items():
        if name.endswith("first.weight"):
            second = tensors[name.replace("first", "second")].weights()
            product = second.reshape(len(second), -1) @ tensor.weights().reshape(len(tensor.weights()), -1)
            found[name.replace("first.", "")] = product.reshape(len(second), *tensor.shape[1:])
        elif "second." not in name:
            found[name] = tensor.weights()
    return found


def ranks(compressed: Compressed) -> dict[str, int]:
    """Of the weights that are products, as two layers or as one tensor."""
    found = {name: t.form.rank for name, t in compressed.tensors.items() if isinstance(t.form, LowRank)}
    layers = {name: t.shape[0] for name, t in compressed.tensors.items() if name.endswith("first.weight")}
    return found | {name.replace("first.", ""): rank for name, rank in layers.items()}


def weights_of(network: Network) -> dict[str, Array]:
    return {name: p.detach().double().numpy() for name, p in network.module.named_parameters() if p.dim() >= 2}


@pytest.mark.parametrize("tolerance", [0.6, 0.3, 0.1, 0.03])
def test_lemma_1_on_a_network(tolerance: float) -> None:
    """|A^ - A|_2 <= tolerance |A|_2 and rank <= |A|_F^2 / (tolerance^2 |A|_2^2), but for the rounding of 16 bits."""
    network = two_layers(decay=1.0)
    compressed = compress(network, TruncatedSVD(tolerance=tolerance, bits=16))
    coded, found = products(compressed), ranks(compressed)
    for name, exact in weights_of(network).items():
        spectral, total = np.linalg.norm(exact, 2), np.linalg.norm(exact)
        assert np.linalg.norm(coded[name] - exact, 2) <= (tolerance + 1e-3) * spectral, name
        if name in found:
            assert found[name] <= total**2 / (tolerance * spectral) ** 2
            assert found[name] == decompose(exact).rank_for_tolerance(tolerance)
    assert bool(found) == (tolerance >= 0.1)


def test_rounding_is_small_and_falls_with_the_bits() -> None:
    found = decompose(matrix(50, 80, decay=0.8)).truncate(10)
    errors = []
    for bits in range(2, 17):
        coded = round_low_rank(found, (50, 80), bits=bits)
        errors.append(float(np.linalg.norm(coded.weights() - found.matrix()) / np.linalg.norm(found.values)))
    assert all(later < earlier for earlier, later in pairwise(errors))
    # Sixteen times finer numbers: sixteen times less error.
    assert errors[12 - 2] < errors[8 - 2] / 12
    assert errors[8 - 2] < 0.03


@pytest.mark.parametrize("bits", [2, 3, 8])
def test_the_step_is_nearly_the_best_that_a_message_can_hold(bits: int) -> None:
    """By brute force over steps, with the error of the product itself. Few large entries: cutting them off pays."""
    random = np.random.default_rng(bits)
    exact = np.linalg.qr(random.standard_t(2, (60, 4)))[0] @ np.linalg.qr(random.standard_t(2, (80, 4)))[0].T
    found = decompose(exact).truncate(4)
    coded = round_low_rank(found, exact.shape, bits=bits)
    assert isinstance(coded.form, LowRank)
    limit, errors = coded.form.limit, []
    for step in [ShortFloat(e, m).value for e in range(-24, 1) for m in range(16)]:
        sizes = np.sqrt(found.values / step)
        left, right = np.rint(found.left * sizes), np.rint(found.right * sizes[:, None])
        product = np.clip(left, -limit, limit) @ np.clip(right, -limit, limit) * step
        errors.append(np.linalg.norm(product - exact))
    assert np.linalg.norm(coded.weights() - exact) <= 1.1 * min(errors)


def test_shifts_take_fewer_bits_at_the_same_error() -> None:
    """Against one step for all components, with the same code: the reason why the form has shifts."""
    exact = matrix(90, 120, decay=1.2)
    found = decompose(exact).truncate(30)
    ours = round_low_rank(found, exact.shape, bits=8)
    assert isinstance(ours.form, LowRank)
    assert len(ours.form.octaves) > 3
    aim = np.linalg.norm(ours.weights() - found.matrix())
    best = np.inf
    for step in np.geomspace(1e-6, 1e-3, 25):
        sizes = np.sqrt(found.values / step)
        left, right = np.rint(found.left * sizes), np.rint(found.right * sizes[:, None])
        if np.linalg.norm(step * left @ right - found.matrix()) <= aim:
            form = LowRank(ours.form.step, 16, (30,))
            symbols = np.concatenate([left.ravel(), right.ravel()]).astype(np.int64)
            best = min(best, code_length(type(ours)(form, symbols, exact.shape)))
    assert code_length(ours) < 0.95 * best < np.inf


@pytest.mark.parametrize("exponent", [-40, 40])
@pytest.mark.parametrize("bits", [2, 8])
def test_the_scale_does_not_matter(exponent: int, bits: int) -> None:
    exact = matrix(20, 30, decay=0.7)
    here, there = (round_low_rank(decompose(exact * 2.0**e).truncate(4), exact.shape, bits=bits) for e in (0, exponent))
    assert np.array_equal(here.symbols, there.symbols)
    assert np.array_equal(here.weights() * 2.0**exponent, there.weights())


def test_a_steep_spectrum_keeps_the_sums_exact() -> None:
    values = 2.0 ** -np.arange(0, 60, 3.0)
    left, right = (np.linalg.qr(np.random.default_rng(k).standard_normal((25, 20)))[0] for k in (0, 1))
    coded = round_low_rank(SingularValues(left, values, right.T), (25, 25), bits=16)
    assert np.linalg.norm(coded.weights() - (left * values) @ right.T, 2) < 1e-3
    assert isinstance(coded.form, LowRank)
    assert coded.form.rank < 10  # of 20: what rounds to zero is left out


def test_many_small_components_keep_the_sums_exact() -> None:
    """600 of them with the shift 14 would reach 2^53: they take a smaller one."""
    values = np.array([1.0, *[2.0**-14] * 599])
    coded = round_low_rank(SingularValues(np.eye(600), values, np.eye(600)), (600, 600), bits=16)
    assert isinstance(coded.form, LowRank)
    assert coded.form.rank == 600
    assert len(coded.form.octaves) == 14
    assert np.abs(coded.weights() - np.diag(values)).max() < 1e-4


def test_a_singular_value_that_is_nearly_nothing_is_left_out() -> None:
    coded = round_low_rank(decompose(np.diag([1.0, 1e-310])), (2, 2), bits=16)
    assert isinstance(coded.form, LowRank)
    assert coded.form.rank == 1
    assert np.allclose(coded.weights(), np.diag([1.0, 0.0]), atol=1e-3)


def test_what_is_zero_stays_zero() -> None:
    assert isinstance(round_low_rank(decompose(np.zeros((3, 4))), (3, 4), bits=5).form, Zero)
    module = nn.Linear(40, 5)
    nn.init.zeros_(module.weight)
    coded = compress(trace(module, inputs()), TruncatedSVD()).tensors
    assert not coded["weight"].weights().any()


def test_a_layer_that_is_cheaper_by_entries_is_rounded_so() -> None:
    """A square matrix of nearly full rank: two factors have twice as many numbers."""
    network = two_layers(decay=0.05)
    plain = compress(network, Quantize(bits=5)).tensors
    whole, cut = (compress(network, TruncatedSVD(energy=energy, bits=5)).tensors for energy in (1.0, 0.2))
    assert isinstance(whole["0.weight"].form, Uniform)
    assert np.array_equal(whole["0.weight"].symbols, plain["0.weight"].symbols)
    assert whole["0.bias"].form == cut["0.second.bias"].form == plain["0.bias"].form
    factors = [cut[f"0.{part}.weight"] for part in ("first", "second")]
    assert all(isinstance(factor.form, Factor) for factor in factors)
    assert sum(map(code_length, factors)) <= code_length(plain["0.weight"])


@pytest.mark.parametrize("shape", [(12, 5), (6, 3, 3, 3)])
def test_two_layers_compute_exactly_what_the_one_did(shape: tuple[int, ...]) -> None:
    """The same symbols in about as many bits: what the rewrite adds is the layers' speed."""
    found = decompose(matrix(shape[0], int(np.prod(shape[1:])), decay=1.5))
    product = round_low_rank(found.truncate(3), shape, bits=9)
    first, second = split_factors(product)
    assert isinstance(product.form, LowRank)
    assert len(product.form.octaves) > 1
    joined = second.weights().reshape(shape[0], 3) @ first.weights().reshape(3, -1)
    assert np.array_equal(joined.reshape(shape), product.weights())
    assert code_length(first) + code_length(second) <= code_length(product) + 40
    for weights in (first.weights(), second.weights()):
        assert np.array_equal(weights, weights.astype(np.float32))


@pytest.mark.parametrize(("bits", "most"), [(7, 0.06), (3, 0.35)])
def test_factors_take_another_grid(bits: int, most: float) -> None:
    """Components from 1 down to 1/1296 in size keep their shares of the error: each has a scale of its own."""
    layer = nn.Linear(60, 50)
    module = nn.Sequential(nn.Flatten(), layer)
    weight = matrix(50, 60, decay=4)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
    inputs = np.random.default_rng(0).random((8, 60), dtype=np.float32)
    method = TruncatedSVD(rank=6, grid="codebook", bits=bits)
    compressed = compress(trace(module, ArraySamples(inputs, np.arange(8) % 5, name="noise", classes=50)), method)
    assert [type(step.rewrite).__name__ for step in compressed.rewrites] == ["LowRankLayer"]
    decoded = seal(compressed).to_module(module).get_submodule("1")
    assert isinstance(decoded, Factored)
    wanted = decompose(weight).truncate(6)
    off = decoded.dense().weight.detach().numpy() - (wanted.left * wanted.values) @ wanted.right
    shares = np.abs(np.diag(wanted.left.T @ off @ wanted.right.T)) / wanted.values
    assert (shares <= most).all(), shares


class Tied(nn.Module):
    """One weight in two layers, one that forward uses itself, and one layer that runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.flat, self.a, self.b = nn.Flatten(), nn.Linear(40, 30), nn.Linear(40, 30)
        self.b.weight = self.a.weight
        self.stray, self.twice, self.last = nn.Linear(30, 30), nn.Linear(30, 30), nn.Linear(30, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.a(x) + self.b(x))
        x = self.stray(x) + functional.linear(x, self.stray.weight)
        return self.last(self.twice(torch.relu(self.twice(x))))


def test_only_a_layer_that_nobody_else_needs_becomes_two() -> None:
    network = trace(Tied(), inputs())
    compressed = compress(network, TruncatedSVD(rank=2))
    assert [str(step) for step in compressed.rewrites] == [
        "layer 5: low-rank(rank=2)",
        "layer 8: low-rank(rank=2)",
    ]
    assert set(ranks(compressed)) == {"a.weight", "stray.weight", "twice.weight", "last.weight"}
    decoded: Any = seal(compressed).to_module(Tied())
    assert isinstance(decoded.twice, Factored)
    assert decoded.a.weight is decoded.b.weight


def test_a_layer_that_would_have_more_numbers_stays_one() -> None:
    """Fewer bits than entry by entry, but more multiplications as two layers."""
    module = nn.Linear(40, 40, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(matrix(40, 40, decay=2.5)))
    drawn = np.random.default_rng(5).standard_normal((50, 40)).astype(np.float32)
    network = trace(module, Data("drawn", 40, ArraySamples(drawn, np.arange(50) % 40, "drawn", 40)))
    compressed = compress(network, TruncatedSVD(rank=25, bits=12))
    assert isinstance(compressed.tensors["weight"].form, LowRank)
    assert not compressed.rewrites


def test_the_length_is_what_the_message_grows_by() -> None:
    network = two_layers(decay=1.5)
    small, large = (compress(network, TruncatedSVD(rank=rank, bits=8)) for rank in (1, 4))
    grown = 8 * (len(seal(large).message) - len(seal(small).message))
    ideal = sum(code_length(tensor) * sign for c, sign in ((large, 1), (small, -1)) for tensor in c.tensors.values())
    assert abs(grown - ideal) < 0.02 * abs(ideal) + 24


def test_the_length_includes_the_form() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert code_length(CodedTensor(Uniform(ShortFloat(0, 0)), nothing, (0,))) == 1 + 4  # exponent, mantissa
    # scale, bits, number of shifts, two counts of 1
    assert code_length(CodedTensor(LowRank(ShortFloat(0, 0), 8, (1, 1)), nothing, (0, 1))) == 5 + 4 + 3 + 3 + 3


def test_convolutions_are_cut_as_outputs_against_the_rest(mixed: Network) -> None:
    compressed = compress(mixed, TruncatedSVD(rank=1, bits=12))
    exact = weights_of(mixed)["0.weight"]
    assert ranks(compressed)["0.weight"] == 1
    best = decompose(exact.reshape(4, 9)).truncate(1).matrix()
    assert np.allclose(products(compressed)["0.weight"].reshape(4, 9), best, atol=1e-3 * np.abs(best).max())


def test_the_promise_covers_residual_and_rounding(mixed: Network, digits: Data) -> None:
    for method in (TruncatedSVD(rank=2, bits=4), TruncatedSVD(energy=0.9)):
        promise = promised_error(mixed, seal(compress(mixed, method)), digits.test)
        assert (promise.measured <= promise.promised).all()
        assert promise.measured.max() > 0


class TestMargin:
    def test_theorem_22_keeps_decisions_of_a_larger_margin(self) -> None:
        network, data = two_layers(decay=1.0), inputs()
        margin = 60.0
        tolerance = margin_tolerance(network, data.train, margin=margin)
        assert 0.01 < tolerance < 0.5
        coded = compress(network, TruncatedSVD(margin=margin, bits=16), samples=data.train)
        assert ranks(coded)
        by_tolerance = compress(network, TruncatedSVD(tolerance=tolerance, bits=16))
        assert seal(coded).message == seal(by_tolerance).message
        measured = promised_error(network, coded, data).measured.max()
        assert 0 < measured * np.sqrt(2) <= margin

    def test_it_is_computed_from_the_largest_input(self) -> None:
        network, data = two_layers(decay=1.0, bias=False), inputs()
        norms = [np.linalg.norm(exact, 2) for exact in weights_of(network).values()]
        largest = max(np.linalg.norm(x) for batch, _ in data.train.batches(7) for x in batch.astype(np.float64))
        expected = 0.3 / (np.sqrt(2) * np.e * largest * 2 * np.prod(norms))
        assert margin_tolerance(network, data.train, margin=0.3) == pytest.approx(expected)

    def test_a_layer_that_runs_twice_counts_twice(self) -> None:
        layer = nn.Linear(5, 5, bias=False)
        samples = ArraySamples(np.eye(5, dtype=np.float32), np.arange(5), "units", 5)
        network = trace(nn.Sequential(layer, nn.ReLU(), layer), samples)
        norm = np.linalg.norm(weights_of(network)["0.weight"], 2)
        found = margin_tolerance(network, samples, margin=0.1)
        assert found == pytest.approx(0.1 / (np.sqrt(2) * np.e * 2 * norm**2))

    def test_what_it_refuses(self, mixed: Network, linear: Network, digits: Data) -> None:
        with pytest.raises(PactError, match=r"margin: .*chain of Flatten, Linear, .*this network has Conv2d"):
            compress(mixed, TruncatedSVD(margin=1.0), samples=digits.train)
        with pytest.raises(PactError, match=r"margin: .*how large inputs are \(give samples"):
            compress(linear, TruncatedSVD(margin=1.0))


def test_options_as_text() -> None:
    assert make_method("truncated-svd", {}) == TruncatedSVD(energy=0.9)
    assert make_method("truncated-svd", {"tolerance": "0.1", "bits": "6"}) == TruncatedSVD(tolerance=0.1, bits=6)
    with pytest.raises(
        PactError, match="energy: one of rank, energy, tolerance and margin is allowed, got rank, energ"
    ):
        TruncatedSVD(rank=1, energy=0.5)


def test_progress_counts_the_tensors(mixed: Network) -> None:
    seen: list[tuple[int, int]] = []
    compress(mixed, TruncatedSVD(), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
