"""HeavyTail: the laws of all methods, both forms against a loop over the entries, its thresholds and its noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from torch import nn

from netpact.algebra.stream import GAUSSIAN_UNIT, Stream
from netpact.coding import Contexts, Meter
from netpact.coding.format import Pact, seal
from netpact.coding.forms import KeptInNoise, Sparse, Ternary, Uniform, Zero
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, as_data
from netpact.deviations import deviation_bound
from netpact.methods import HeavyTail, Method, Quantize, UniformGrid, compress, make_method
from netpact.methods.heavy_tail import find_last_dense, theorem_budget
from netpact.methods.layer_budgets import MEASURED_BUDGETS, LayerAccuracy
from netpact.methods.tail_split import largest_tau, mean_square, split_by_recipe, split_by_theory
from netpact.models import build, parse_model
from netpact.network import Network, trace

_BAD: list[dict[str, Any]] = [
    *({"form": form} for form in ("printed", 1, None)),
    *({"layers": layers} for layers in ("first", 1, True)),
    *({"stds": stds} for stds in (-1.0, True, "two", float("nan"), float("inf"))),
    *({"tau": tau} for tau in (-0.1, True, "low")),
    {"stds": 1.0, "tau": 0.1},
    {"stds": 1.0, "eps": 0.1, "form": "theory"},
    *({"eps": eps, "form": "theory"} for eps in (0, 1.5, True, "small")),
    *({"gamma": gamma, "form": "theory"} for gamma in (0, -1.0, float("inf"))),
    {"eps": 0.5},
    {"gamma": 0.5},
    {"signed": 1},
    {"signed": True, "form": "theory"},
    {"t": 0.1},
    {"t": -0.1, "form": "theory"},
    {"t": 0.1, "form": "theory", "eps": 0.5},
    *({"bits": bits} for bits in (1, 17, 4.0, True)),
    {"grid": "even"},
    *({"seed": seed} for seed in (-1, 2**32, 1.0, True)),
]


class TestRecipe(MethodConformance):
    sizes: ClassVar[list[Method]] = [HeavyTail(stds=stds, layers="all", bits=6) for stds in (2.0, 1.0, 0.3)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


class TestTheory(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        HeavyTail(form="theory", tau=tau, layers="all", grid="codebook", seed=3) for tau in (0.3, 0.1, 0.03)
    ]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


class TestLast(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        HeavyTail(signed=True, stds=1.5, bits=6),
        HeavyTail(stds=1.0, bits=6),
        HeavyTail(form="theory", stds=0.1, bits=10),
    ]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


def by_hand(values: Any, method: HeavyTail, *, layer: int) -> Any:
    """Entry by entry, with the tensor's own mean and std, and normal numbers of the stream."""
    flat = [float(value) for value in values.ravel()]
    mean, std = math.fsum(flat) / len(flat), float(values.std())
    threshold = method.stds * std if method.stds is not None else method.tau
    assert threshold is not None
    small = [value for value in flat if abs(value) <= threshold]
    if method.form == "theory":
        mean, std = 0.0, math.sqrt(math.fsum(value**2 for value in small) / len(small))
    drawn = Stream(method.seed, "heavy-tail noise", layer).gaussians(0, len(flat)) * GAUSSIAN_UNIT
    found = []
    for value, g in zip(flat, drawn, strict=True):
        noise = mean + std * float(g)
        kept = value if (value if method.signed else abs(value)) > threshold else 0.0
        found.append(kept + noise if method.form == "theory" else kept or noise)
    return np.array(found).reshape(values.shape), std


@pytest.mark.parametrize(
    "method",
    [
        HeavyTail(bits=16, seed=5),
        HeavyTail(bits=16, signed=True, layers="all"),
        HeavyTail(form="theory", bits=16, stds=1.5, layers="all", seed=9),
    ],
    ids=str,
)
def test_weights_are_those_of_the_recipe_but_for_rounding(method: HeavyTail, mixed: Network) -> None:
    """A mean is off by at most 1/512 of the std; the std by at most 1/32, and kept weights by half a step."""
    coded = compress(mixed, method).tensors
    names = ("0.weight", "5.weight") if method.layers == "all" else ("5.weight",)
    assert {name for name, one in coded.items() if isinstance(one.form, KeptInNoise)} == set(names)
    for name in names:
        values = dict(mixed.module.named_parameters())[name].detach().double().numpy()
        # Layers are counted among all weight tensors: noise does not change when more layers get it.
        expected, std = by_hand(values, method, layer=("0.weight", "5.weight").index(name))
        off = np.abs(coded[name].weights() - expected)
        assert off.max() <= std * (4 / 32 + 1 / 512) + 1e-3
        exact = method.split(mixed)[name].weights()
        assert np.abs(exact - expected).max() <= std * (4 / 32 + 1 / 512)
        assert np.abs(coded[name].weights() - exact).max() <= 1e-3


def test_kept_weights_are_left_alone_and_the_rest_is_noise(linear: Network) -> None:
    values = dict(linear.module.named_parameters())["fc1.weight"].detach().double().numpy()
    one, other = (HeavyTail(seed=seed).split(linear)["fc1.weight"] for seed in (0, 1))
    kept = np.abs(values) > values.std()
    assert np.array_equal(one.kept, kept)
    assert 0 < one.kept_count == kept.sum() < values.size
    assert np.array_equal(one.weights()[kept], values[kept])
    assert (one.weights()[~kept] != other.weights()[~kept]).all()
    noise = one.weights()[~kept]
    assert abs(noise.mean() - values.mean()) < 4 * values.std() / math.sqrt(noise.size)
    assert noise.std() == pytest.approx(values.std(), rel=0.15)
    signed = HeavyTail(signed=True).split(linear)["fc1.weight"]
    assert np.array_equal(signed.kept, values > values.std())


def test_noise_costs_a_few_bytes_whatever_the_layer(digits: Data) -> None:
    """Positions cost about log2 C(n, k) bits, noise nothing: a layer of noise alone takes some ten bytes."""
    network = trace(wide_network(), digits)
    lengths = {}
    for tau in (1e9, 2.6 / 8, 2.0 / 8):
        tensor = compress(network, HeavyTail(tau=tau, grid="ternary", seed=7)).tensors["1.weight"]
        meter = Meter()
        type(tensor.form).code(meter, tensor.form)
        assert meter.total < 80
        tensor.form.code_symbols(meter, tensor.symbols, tensor.shape, Contexts())
        size, kept = tensor.symbols.size if len(tensor.symbols) else 64 * 800, HeavyTail(tau=tau).split(network)
        found = kept["1.weight"].kept_count
        ideal = (math.lgamma(size + 1) - math.lgamma(found + 1) - math.lgamma(size - found + 1)) / math.log(2)
        lengths[found] = (meter.total, ideal + found)  # and a sign for each
    assert min(lengths) == 0
    assert lengths[0][0] < 80
    for found, (total, ideal) in lengths.items():
        if found:
            assert ideal - 64 < total < 1.1 * ideal + 160


def wide_network() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(2)
        layer = nn.Linear(64, 800)
        nn.init.normal_(layer.weight, std=0.125)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), nn.Unflatten(1, (10, 80)), nn.Flatten(2), Mean())


class Mean(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=2)


def test_without_noise_it_is_magnitude_pruning(mixed: Network) -> None:
    coded = compress(mixed, HeavyTail(form="theory", t=0, stds=1.5, bits=8)).tensors["5.weight"]
    values = dict(mixed.module.named_parameters())["5.weight"].detach().double().numpy()
    assert isinstance(coded.form, Uniform)
    assert np.array_equal(coded.weights() == 0, np.abs(values) <= 1.5 * values.std())


def test_noise_may_be_of_any_size_in_theory(mixed: Network) -> None:
    """Also where no weight is below the threshold."""
    split = HeavyTail(form="theory", t=0.25, tau=0.0).split(mixed)["5.weight"]
    off = split.weights() - split.values
    assert off.std() == pytest.approx(0.5, rel=0.1)
    form = split.code(UniformGrid(8)).form
    assert isinstance(form, KeptInNoise)
    assert form.everywhere


def test_signs_of_what_is_kept_are_all_kept(mixed: Network) -> None:
    tensor = compress(mixed, HeavyTail(grid="ternary")).tensors["5.weight"]
    assert isinstance(tensor.form, KeptInNoise)
    assert isinstance(tensor.form.inner, Sparse)
    assert isinstance(tensor.form.inner.inner, Ternary)
    kept = HeavyTail().split(mixed)["5.weight"].kept
    values = dict(mixed.module.named_parameters())["5.weight"].detach().double().numpy()
    assert np.array_equal(np.sign(tensor.weights()[kept]), np.sign(values[kept]))


@pytest.mark.parametrize("constant", [0.0, -0.25, 0.25])
def test_a_constant_layer_has_no_noise(constant: float) -> None:
    values = np.full((5, 6), constant)
    for split in (
        split_by_recipe(values, 1.0, signed=False),
        split_by_recipe(values, 0.0, signed=True),
        split_by_theory(values, 0.0),
    ):
        coded = split.code(UniformGrid(8))
        assert np.abs(coded.weights() - values).max() <= abs(constant) / 32
        assert np.array_equal(split.weights(), values)


def test_a_mean_beyond_all_measure_is_rounded_instead() -> None:
    values = 1e6 + np.array([[0.0, 1.0, 2.0, 3.0]])
    split = split_by_recipe(values, 2e6, signed=False)
    assert not isinstance(split.code(UniformGrid(8)).form, KeptInNoise)
    near = split_by_recipe(values / 1e6, 2.0, signed=False)
    assert near.std > 0
    assert np.abs(near.weights() - 1).max() < 1e-5  # 4,096 times the std is not reached, and the mean is met


def test_noise_has_the_mean_of_the_layer_and_runs_on_through_all_of_it() -> None:
    """A layer of more than one block of noise, with a mean of three times its std; nothing is kept."""
    values = 0.3 + 0.1 * np.random.default_rng(0).standard_normal((200, 300))
    split = split_by_recipe(values, 10.0, signed=False)
    drawn = Stream(0, "heavy-tail noise", 0).gaussians(0, values.size).reshape(values.shape) * GAUSSIAN_UNIT
    mean, std = split.noise
    assert std == pytest.approx(values.std(), rel=1 / 32)
    assert mean == pytest.approx(values.mean(), abs=std / 500)
    np.testing.assert_allclose(split.weights(), mean + std * drawn, rtol=1e-6, atol=1e-7)


def test_a_layer_of_zeros_is_zeros() -> None:
    assert isinstance(split_by_theory(np.zeros((3, 4)), 1.0).code(UniformGrid(8)).form, Zero)


class TestThresholds:
    @pytest.mark.parametrize("seed", range(20))
    def test_the_largest_tau_is_that_of_a_search(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        values = np.round(random.standard_t(2, 60), 1 if seed % 2 else 6)
        budget = float(random.uniform(0.0, 8.0))

        def spent(tau: float) -> float:
            return tau**2 + mean_square(values[np.abs(values) <= tau])

        allowed = [tau for tau in np.abs(values) if spent(float(tau)) <= budget]
        assert largest_tau(values, budget) == max(allowed, default=0.0)

    def test_of_the_theorem(self, chain: Network, digits: Data) -> None:
        """tau^2 + t = eps_i^2 |W|_F^2 / (2 log(3 / eta_i)), eps_i = eps mu_i mu_i->/(6cd), as far as it is reached."""
        data = as_data(digits.train.take(slice(200), name="few"))  # type: ignore[attr-defined]
        names = ("fc1.weight", "fc2.weight")
        measured = MEASURED_BUDGETS["cushions"].measure(chain, data.train, names, None)
        method = HeavyTail(form="theory", eps=1.0, layers="all")
        splits = method.split(chain, data.train)
        found = measured.accuracies_for_output(1.0, delta=0.02)
        for name, accuracy in zip(names, found, strict=True):
            split = splits[name]
            tau = float(np.abs(split.values[~split.kept]).max(initial=0.0))
            budget = math.exp(2 * accuracy.log_eps) * np.square(split.values).sum() / (2 * math.log(3 / accuracy.eta))
            assert theorem_budget(split.values, accuracy) == pytest.approx(budget)
            assert tau**2 + split.std**2 <= budget
            above = float(np.abs(split.values[split.kept]).min())
            assert above**2 + mean_square(split.values[np.abs(split.values) <= above]) > budget
        assert compress(chain, method, samples=data).tensors.keys() == dict(chain.module.named_parameters()).keys()

    def test_a_larger_accuracy_or_margin_replaces_more(self, chain: Network, digits: Data) -> None:
        kept = []
        plain = HeavyTail(form="theory", layers="all")
        for gamma, eps in ((1e-3, None), (0.5, None), (None, 1.0)):
            splits = replace(plain, stds=None, gamma=gamma, eps=eps).split(chain, digits.train)
            kept.append(sum(split.kept_count for split in splits.values()))
        assert kept[0] >= kept[1] >= kept[2] > 0

    def test_budgets_need_samples_and_no_batch_norm(self, chain: Network, mixed: Network, digits: Data) -> None:
        with pytest.raises(PactError, match=r"samples: cushions are measured on samples.*or give stds or tau"):
            compress(chain, HeavyTail(form="theory", eps=0.5))
        with pytest.raises(PactError, match="networks without batch norm"):
            compress(mixed, HeavyTail(form="theory", gamma=0.5), samples=digits)

    def test_the_budget_grows_with_eta_and_the_size_of_the_layer(self) -> None:
        values = np.ones((3, 3))
        small, large = LayerAccuracy(math.log(0.1), 1e-6), LayerAccuracy(math.log(0.1), 1e-2)
        assert theorem_budget(values, small) < theorem_budget(values, large)
        assert theorem_budget(10 * values, small) == pytest.approx(100 * theorem_budget(values, small))


@pytest.fixture(scope="module")
def chain(digits: Data) -> Network:
    architecture = parse_model("mlp:20", input_shape=digits.input_shape, classes=digits.classes)
    return trace(build(architecture, seed=Seed(4)), digits)


class TestDeviations:
    """Bounds on the deviation need the decoded weights only, whatever they are."""

    @pytest.mark.parametrize("form", ["table1", "theory"])
    def test_no_output_moves_further_than_is_promised(self, form: str, chain: Network, digits: Data) -> None:
        ratios = []
        for seed in range(3):
            method = HeavyTail(form=form, layers="all", stds=0.7, seed=seed)
            pact = seal(compress(chain, method))
            bound = deviation_bound(chain, pact, digits.train)
            inputs, _ = next(iter(digits.train.batches(64)))
            x = torch.from_numpy(inputs).double()
            with torch.no_grad():
                moved = (chain.module.double()(x) - pact.to_module().double()(x)).norm(dim=1).numpy()
            chain.module.float()
            limits = bound.bounds[: len(moved)]
            assert (moved <= limits).all()
            ratios.append(float(np.median(moved / limits)))
        assert 0.02 < float(np.median(ratios)) < 1


def test_the_last_dense_layer_is_the_last_to_run(mixed: Network, digits: Data) -> None:
    assert find_last_dense(mixed) == "5.weight"
    only = trace(nn.Sequential(nn.Conv2d(1, 10, 8), nn.Flatten()), digits)
    with pytest.raises(PactError, match=r'no dense layer \(take layers="all"'):
        compress(only, HeavyTail())
    assert isinstance(compress(only, HeavyTail(layers="all")).tensors["0.weight"].form, KeptInNoise)


def test_it_can_be_named_on_the_command_line(linear: Network) -> None:
    method = make_method("heavy-tail", {"form": "theory", "stds": "2", "t": "0.01", "layers": "all"})
    assert method == HeavyTail(form="theory", stds=2, t=0.01, layers="all")
    assert replace(HeavyTail(), stds=None) == HeavyTail(stds=1.0)
    assert len(seal(compress(linear, HeavyTail())).message) < len(seal(compress(linear, Quantize(bits=8))).message)


def test_a_file_says_the_same_whatever_was_drawn_before(linear: Network) -> None:
    first = seal(compress(linear, HeavyTail(seed=11)))
    np.random.default_rng().standard_normal(5)
    again = Pact.from_bytes(first.to_bytes()).decode()
    assert first.decoder_version == 3
    assert np.array_equal(
        again.tensors["fc1.weight"].weights(), compress(linear, HeavyTail(seed=11)).tensors["fc1.weight"].weights()
    )
