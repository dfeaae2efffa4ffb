"""RandomPrune and MagnitudePrune: what is kept, what it costs, and what stays 0."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from numpy.typing import NDArray
from scipy.special import gammaln
from torch import nn

from netpact.algebra.pruning import expected_share, keep_largest, magnitude_masks, random_mask
from netpact.algebra.stream import Stream
from netpact.coding.format import Pact, seal
from netpact.coding.forms import Sparse, Ternary, Uniform, Zero, unnest
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.deviations import deviation_bound
from netpact.layers import to_cp
from netpact.methods import MagnitudePrune, Method, Quantize, RandomPrune, compress
from netpact.methods.approximations import PrunedEntries
from netpact.methods.grids import CodebookGrid, PerChannel, StepGrid, TernaryGrid, UniformGrid
from netpact.models import build, parse_model
from netpact.network import Network, trace

Array = NDArray[np.float64]
GRIDS = [UniformGrid(2), UniformGrid(6), CodebookGrid(1), CodebookGrid(4), TernaryGrid(), PerChannel(UniformGrid(5))]
GRIDS += [PerChannel(CodebookGrid(3)), PerChannel(TernaryGrid())]


class TestMagnitudePrune(MethodConformance):
    sizes: ClassVar[list[Method]] = [MagnitudePrune(keep=keep) for keep in (0.05, 0.2, 0.7, 1.0)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"keep": 0.0},
        {"keep": 1.5},
        {"keep": float("nan")},
        {"keep": True},
        {"keep": "half"},
        {"scope": "network"},
        {"grid": "even"},
        {"bits": 1},
        {"bits": 17},
        {"grid": "ternary", "bits": 3},
        {"per_channel": 1},
    ]


class TestMagnitudePruneByLayer(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        MagnitudePrune(keep=keep, scope="layer", grid="codebook", bits=3, per_channel=True) for keep in (0.05, 0.3, 0.9)
    ]
    bad: ClassVar[list[dict[str, Any]]] = [{"bits": 9, "grid": "codebook"}]


class TestRandomPrune(MethodConformance):
    sizes: ClassVar[list[Method]] = [RandomPrune(scale=scale) for scale in (30.0, 5.0, 0.1)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"scale": 0.0},
        {"scale": -1.0},
        {"scale": float("inf")},
        {"scale": "10"},
        {"keep_diagonal": 1},
        {"seed": -1},
        {"seed": 1 << 32},
        {"grid": "even"},
        {"bits": 1},
        {"per_channel": "yes"},
    ]


class TestRandomPruneTernary(MethodConformance):
    sizes: ClassVar[list[Method]] = [RandomPrune(scale=s, keep_diagonal=False, grid="ternary") for s in (30.0, 3.0)]
    bad: ClassVar[list[dict[str, Any]]] = [{"grid": "ternary", "bits": 4}]


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("scale", [0.5, 2.0, 10.0, 40.0])
@pytest.mark.parametrize("std", [1e-30, 0.03, 1e20])
def test_lemma_4_1_by_simulation(scale: float, std: float) -> None:
    """The kept share and the moments of what is removed, of normal weights:  chi = 1 - sqrt(d / (d + 2)),
    E[Delta^2] = (d / (d + 2))^(3/2) Psi,  E[Delta^4] = 3 (d / (d + 2))^(5/2) Psi^2."""
    values = std * drawn(400, 1000, seed=int(scale))
    mask = random_mask(values, scale=scale, stream=Stream(1, "test"), keep_diagonal=False)
    lost = np.where(mask, 0.0, values / std)
    ratio = scale / (scale + 2)
    assert expected_share(scale) == pytest.approx(1 - math.sqrt(ratio))
    deviation = math.sqrt(ratio**0.5 * (1 - ratio**0.5) / values.size)
    assert abs(mask.mean() - expected_share(scale)) < 4 * deviation
    assert np.square(lost).mean() == pytest.approx(ratio**1.5, rel=0.02)
    assert (lost**4).mean() == pytest.approx(3 * ratio**2.5, rel=0.04)
    assert abs(lost.mean()) < 4 / math.sqrt(values.size)


def test_every_entry_is_drawn_by_itself() -> None:
    """The probability is that of the entry, and draws of two layers have nothing in common."""
    values = np.tile([0.2, 1.0, -2.0, 3.0], (20_000, 1))
    first, second = (
        random_mask(values, scale=3.0, stream=Stream(0, "test", layer), keep_diagonal=False) for layer in (0, 1)
    )
    expected = 1 - np.exp(-np.square(values[0]) / (3.0 * values.var()))
    assert np.abs(first.mean(axis=0) - expected).max() < 0.015
    assert abs(np.corrcoef(first[:, 2], second[:, 2])[0, 1]) < 0.03
    assert abs(np.corrcoef(first[:, 1], first[:, 2])[0, 1]) < 0.03


def test_long_tensors_are_drawn_in_parts_that_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    values = drawn(37, 111)
    whole = random_mask(values, scale=4.0, stream=Stream(5, "test"), keep_diagonal=True)
    monkeypatch.setattr("netpact.algebra.pruning._DRAWN_AT_ONCE", 100)
    assert np.array_equal(whole, random_mask(values, scale=4.0, stream=Stream(5, "test"), keep_diagonal=True))


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (4, 3, 3, 3)])
def test_the_diagonal_is_kept_but_for_zeros(shape: tuple[int, ...]) -> None:
    values = 1e-6 * drawn(*shape)
    values.flat[-1] = 5.0  # the others are next to nothing
    matrix = values.reshape(shape[0], -1)
    matrix[1, 1] = 0.0
    kept = random_mask(values, scale=10.0, stream=Stream(0, "test"), keep_diagonal=True).reshape(matrix.shape)
    wanted = np.eye(*matrix.shape, dtype=bool)
    wanted[1, 1] = False
    wanted[-1, -1] = kept[-1, -1]
    assert np.array_equal(kept, wanted)


def test_weights_of_one_size_are_all_kept_and_zeros_never() -> None:
    """Their variance is 0: nothing is small among them."""
    assert random_mask(np.full((3, 4), 2.0), scale=1.0, stream=Stream(0, "t"), keep_diagonal=False).all()
    assert not random_mask(np.zeros((3, 4)), scale=1.0, stream=Stream(0, "t"), keep_diagonal=True).any()
    with pytest.raises(PactError, match="scale"):
        random_mask(np.ones((3, 4)), scale=0.0, stream=Stream(0, "t"), keep_diagonal=True)


def test_the_largest_are_kept_and_of_equal_ones_the_first() -> None:
    first, second = keep_largest([np.array([[1.0, -3.0], [2.0, 0.0]]), np.array([2.0, -2.0, 0.5])], count=3)
    assert first.tolist() == [[False, True], [True, False]]
    assert second.tolist() == [True, False, False]
    with_zeros = [np.array([0.0, 0.0, 1.0, 0.0])]
    assert keep_largest(with_zeros, count=3)[0].tolist() == [False, False, True, False]
    assert not keep_largest([np.zeros(3)], count=2)[0].any()
    assert keep_largest([], count=2) == []


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("keep", [0.001, 0.25, 0.999, 1.0])
def test_masks_agree_with_a_sort(keep: float, together: bool) -> None:
    arrays = [drawn(7, 9, seed=1), 3 * drawn(40, seed=2), 0.1 * drawn(2, 3, 3, 3, seed=3)]
    found = magnitude_masks(arrays, keep=keep, together=together)
    if together:
        order = np.argsort(-np.abs(np.concatenate([values.ravel() for values in arrays])), kind="stable")
        wanted = np.zeros(len(order), dtype=bool)
        wanted[order[: max(1, round(keep * len(order)))]] = True
        assert np.array_equal(np.concatenate([mask.ravel() for mask in found]), wanted)
    else:
        for values, mask in zip(arrays, found, strict=True):
            assert mask.shape == values.shape
            assert mask.sum() == max(1, round(keep * values.size))
            assert np.abs(values[mask]).min() >= np.abs(values[~mask]).max(initial=0.0)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_what_is_kept_stays_apart_from_zero_and_the_rest_is_zero(grid: Any) -> None:
    """Also numbers far below the grid's step, and a channel of nothing but zeros."""
    values = drawn(12, 30) * (drawn(12, 30, seed=1) > 0.8)
    values[3] = 0.0
    values[5, :3] = [1e-9, -1e-9, 1e-300]
    coded = PrunedEntries(values).code(grid)
    assert np.array_equal(coded.weights() == 0, values == 0)
    if not isinstance(grid, CodebookGrid) and not isinstance(getattr(grid, "grid", None), CodebookGrid):
        assert np.array_equal(np.sign(coded.weights()), np.sign(values))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_tensors_of_zeros_and_full_ones(grid: Any) -> None:
    assert isinstance(PrunedEntries(np.zeros((3, 4))).code(grid).form, Zero)
    full = PrunedEntries(np.abs(drawn(6, 50)) + 0.1).code(grid)
    assert not any(isinstance(part, Sparse) for part in unnest(full.form)), "there is nothing to mark"
    assert (full.weights() > 0).all()
    line = PrunedEntries(np.array([0.0, 2.0, 0.0, -1.0])).code(grid)  # a vector has no channels
    assert (line.weights() != 0).tolist() == [False, True, False, True]


def test_a_codebook_with_a_zero_in_it() -> None:
    """Lloyd's centre of -1, 1 and their like is 0: such numbers go to the nearest value that is not."""
    values = np.concatenate([np.tile([-1.0, 1.0], 50), np.full(3, 100.0), [0.0]])
    coded = PrunedEntries(values).code(CodebookGrid(1))
    assert np.array_equal(coded.weights() != 0, values != 0)


def test_the_step_allows_for_numbers_that_must_not_vanish() -> None:
    """With two bits the least error is at the mean magnitude, not where small ones round to 0."""
    values = np.where(drawn(400) > 0, 1.0, -1.0) * (0.05 + np.abs(drawn(400, seed=1)))
    coded = PrunedEntries(values).code(UniformGrid(2))
    assert isinstance(coded.form, Uniform)
    assert coded.form.step.value == pytest.approx(np.abs(values).mean(), rel=1 / 31)


def test_a_grid_without_a_rule_says_so() -> None:
    step = UniformGrid(4).round(drawn(20)).form.step  # type: ignore[attr-defined]
    with pytest.raises(NotImplementedError, match="StepGrid"):
        PrunedEntries(drawn(20)).code(StepGrid(step))


@pytest.fixture(scope="module")
def wide(digits: Data) -> Network:
    """Trained for as long as it takes to have weights of different sizes."""
    return trace(build(parse_model("mlp:300-300", input_shape=(1, 8, 8), classes=10), seed=Seed(3)), digits)


def ideal_bits(values: Array) -> float:
    """log2 C(n, k) for the places, and the entropy of the k values by their own frequencies."""
    flat = values.ravel()
    kept = flat[flat != 0]
    logs = gammaln(np.array([flat.size, kept.size, flat.size - kept.size]) + 1) / math.log(2)
    _, counts = np.unique(kept, return_counts=True)
    return float(logs[0] - logs[1] - logs[2] - (counts * np.log2(counts / kept.size)).sum())


@pytest.mark.parametrize(
    "method",
    [
        MagnitudePrune(keep=0.05),
        MagnitudePrune(keep=0.05, bits=4, scope="layer"),
        MagnitudePrune(keep=0.05, grid="ternary"),
        RandomPrune(scale=20.0, bits=4),
    ],
    ids=str,
)
def test_the_size_is_that_of_places_and_values(method: Method, wide: Network) -> None:
    coded = compress(wide, method).tensors
    bits = 8 * len(seal(compress(wide, method)).message)
    # Of few numbers, nearly all different, the entropy says nothing: biases are taken for the 8 bits that they have.
    ideal = sum(ideal_bits(one.weights()) if one.shape[1:] else 8 * len(one.symbols) for one in coded.values())
    assert bits <= 1.02 * ideal + 400, "400 bits for architecture, forms and steps"
    assert bits >= 0.9 * ideal


def test_a_pruned_network_keeps_its_zeros(wide: Network, digits: Data) -> None:
    once = compress(wide, MagnitudePrune(keep=0.1, bits=16))
    module = seal(once).to_module()
    again = trace(module, digits)
    zero = {name: tensor.weights() == 0 for name, tensor in once.tensors.items() if tensor.shape[1:]}
    for method in (MagnitudePrune(keep=1.0), MagnitudePrune(keep=0.5), MagnitudePrune(keep=0.05), RandomPrune()):
        found = compress(again, method).tensors
        for name, was in zero.items():
            assert not found[name].weights()[was].any()
    kept = {name: tensor.weights() == 0 for name, tensor in compress(again, MagnitudePrune(keep=1.0)).tensors.items()}
    assert all(np.array_equal(kept[name], was) for name, was in zero.items())


def test_global_and_by_layer(digits: Data) -> None:
    module: Any = nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))
    with torch.no_grad():
        module[1].weight.mul_(100)
    network = trace(module, digits)
    alike = compress(network, MagnitudePrune(keep=0.25, scope="layer")).tensors
    assert [np.count_nonzero(alike[name].symbols) for name in ("1.weight", "3.weight")] == [320, 50]
    together = compress(network, MagnitudePrune(keep=0.25)).tensors
    assert np.count_nonzero(together["1.weight"].symbols) == round(0.25 * 1480)
    assert isinstance(together["3.weight"].form, Zero)
    assert np.count_nonzero(together["1.bias"].weights()) == 20, "biases are not pruned"


def test_ternary_writes_signs_with_zeros_of_its_own(wide: Network) -> None:
    coded = compress(wide, MagnitudePrune(keep=0.2, grid="ternary")).tensors["fc1.weight"]
    assert isinstance(coded.form, Ternary)


def test_layers_in_cp_form_are_pruned_factor_by_factor(digits: Data) -> None:
    model = build(parse_model("conv:6-8", input_shape=(1, 8, 8), classes=10), seed=Seed(0))
    network = trace(to_cp(model, start="random"), digits)
    coded = seal(compress(network, MagnitudePrune(keep=0.3, scope="layer")))
    shares = [
        np.count_nonzero(tensor.weights()) / tensor.weights().size
        for tensor in coded.decode(network.module).tensors.values()
        if tensor.shape[1:]
    ]
    assert shares == pytest.approx([0.3] * len(shares), abs=0.05)
    bound = deviation_bound(network, coded, digits.test)
    assert (bound.measured <= bound.bounds).all()


@pytest.mark.parametrize("method", [MagnitudePrune(keep=0.3), RandomPrune(scale=2.0), RandomPrune(per_channel=True)])
def test_the_deviation_bound_holds_for_pruned_networks_with_biases(method: Method, digits: Data) -> None:
    """A law; the median ratio keeps a weakened constant from passing."""
    ratios = []
    for seed in range(3):
        module = build(parse_model("mlp:30-20", input_shape=(1, 8, 8), classes=10), seed=Seed(seed))
        with torch.no_grad():
            for part in module.modules():
                if isinstance(part, nn.Linear):
                    part.bias.uniform_(-0.5, 0.5, generator=torch.Generator().manual_seed(seed))
        network = trace(module, digits)
        bound = deviation_bound(network, seal(compress(network, method)), digits.test)
        assert (bound.measured <= bound.bounds).all()
        ratios.append(np.median(bound.measured / bound.bounds))
    assert 0.02 < np.median(ratios) < 0.9


def test_the_seed_changes_what_is_kept_and_is_not_in_the_message(wide: Network) -> None:
    first, second = (compress(wide, RandomPrune(scale=4.0, seed=seed)) for seed in (0, 1))
    masks = [found.tensors["fc2.weight"].symbols != 0 for found in (first, second)]
    assert 0.1 < np.mean(masks[0] != masks[1]) < 0.5
    opened = Pact.from_bytes(seal(first).to_bytes()).to_module()
    assert np.array_equal(opened.fc2.weight.numpy() != 0, masks[0].reshape(300, 300))  # type: ignore[union-attr, operator]


def test_pruning_costs_less_than_rounding_everything(wide: Network) -> None:
    dense = len(seal(compress(wide, Quantize(bits=6))).message)
    assert len(seal(compress(wide, MagnitudePrune(keep=0.1))).message) < 0.3 * dense
