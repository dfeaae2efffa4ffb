"""RandomProjection: the laws of all methods, what it keeps, what it leaves to plain rounding, and its budgets."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.conformance import MethodConformance
from torch import nn

from netpact.algebra.projection import valid_count
from netpact.coding.format import Pact, seal
from netpact.coding.forms import VARIANTS, Projection, Uniform, Zero
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.deviations import promised_error
from netpact.measurements import MeasureOptions, measure
from netpact.methods import Method, Quantize, RandomProjection, compress, make_method, split_budget
from netpact.network import Network, trace

_KINDS = ("weight", "bias")
_BAD: list[dict[str, Any]] = [
    *({"keep": keep} for keep in (0, 0.0, -3, 1.5, True, "half", float("nan"), (), (0,), (1.5,), (True,), [3])),
    *({"eps": eps, "variant": "signs"} for eps in (0, 1.5, True, "small", float("nan"))),
    {"eps": 0.5},
    {"gamma": 0.5},
    *({"gamma": gamma, "variant": "signs"} for gamma in (0, -1.0, True, "large", float("nan"), float("inf"))),
    {"gamma": 0.5, "keep": 0.5, "variant": "signs"},
    {"gamma": 0.5, "eps": 0.5, "variant": "signs"},
    {"gamma": 0.5, "budget": "size", "variant": "signs"},
    *({"budget": budget} for budget in ("margins", 1, True)),
    {"keep": (3, 4), "budget": "cushions"},
    {"keep": (3, 4), "budget": "equal"},
    {"eps": 0.5, "budget": "equal", "variant": "signs"},
    {"eps": 0.5, "keep": 0.5, "variant": "signs"},
    *({"variant": variant} for variant in ("gaussian", 1)),
    *({"bits": bits} for bits in (1, 17, 4.0, True, "8")),
    *({"seed": seed} for seed in (-1, 2**32, 1.0, True, "0")),
]


class TestHadamard(MethodConformance):
    sizes: ClassVar[list[Method]] = [RandomProjection(keep=keep) for keep in (0.1, 0.4, 0.9)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


class TestSigns(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        RandomProjection(keep=60, variant="signs", bits=3, seed=4),
        RandomProjection(keep=60, variant="signs", bits=9, seed=4),
        RandomProjection(eps=0.9, variant="signs", bits=9),
    ]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


class TestCushions(MethodConformance):
    sizes: ClassVar[list[Method]] = [RandomProjection(keep=keep, budget="cushions") for keep in (0.1, 200, 0.9)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD


def project_by_hand(weight: torch.Tensor, form: Projection) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A^ = (1/k) sum_i <A, M_i> M_i with the matrices written out, in floating point and without rounding."""
    vector = weight.detach().double().numpy().ravel()
    matrices = form.projector(vector.size).combine(np.eye(form.count, dtype=np.int64))
    result: np.ndarray[Any, np.dtype[np.float64]] = (matrices @ vector @ matrices / form.count).reshape(weight.shape)
    return result


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_weights_are_those_of_the_algorithm_but_for_rounding(variant: str, mixed: Network) -> None:
    coded = compress(mixed, RandomProjection(keep=0.6, variant=variant, bits=16, seed=3)).tensors
    for layer, name in enumerate(("0.weight", "5.weight")):
        weight = dict(mixed.module.named_parameters())[name]
        form = coded[name].form
        assert isinstance(form, Projection)
        assert (form.count, form.variant, form.seed, form.layer) == (round(0.6 * weight.numel()), variant, 3, layer)
        exact = project_by_hand(weight, form)
        assert np.abs(coded[name].weights() - exact).max() < 1e-3 * np.abs(exact).max()


def test_everything_else_is_rounded_as_by_quantize(mixed: Network) -> None:
    own = compress(mixed, RandomProjection(keep=0.5, bits=5)).tensors
    plain = compress(mixed, Quantize(bits=5)).tensors
    for name, tensor in plain.items():
        if name not in ("0.weight", "5.weight"):
            assert own[name].form == tensor.form
            assert np.array_equal(own[name].symbols, tensor.symbols)


def test_layers_that_do_not_pay_are_rounded_plainly(mixed: Network) -> None:
    """36 weights of the convolution and 360 of the linear layer."""
    plain = compress(mixed, Quantize(bits=6)).tensors
    for method in (RandomProjection(keep=(36, 100), bits=6), RandomProjection(keep=(99, 100), bits=6)):
        own = compress(mixed, method).tensors
        assert isinstance(own["0.weight"].form, Uniform)
        assert np.array_equal(own["0.weight"].symbols, plain["0.weight"].symbols)
        assert own["5.weight"].symbols.size == 100
    whole = seal(compress(mixed, RandomProjection(keep=1.0, bits=6))).message
    assert whole == seal(compress(mixed, Quantize(bits=6))).message
    method = RandomProjection(eps=0.5, variant="signs")
    counts = [tensor.symbols.size for name, tensor in compress(mixed, method).tensors.items() if name == "5.weight"]
    assert counts == [valid_count(eps=0.5, eta=0.01)]


def test_a_total_is_met_to_the_number(mixed: Network) -> None:
    coded = compress(mixed, RandomProjection(keep=150)).tensors
    counts = [tensor.symbols.size for tensor in coded.values() if isinstance(tensor.form, Projection)]
    assert counts == [14, 136]  # 150 * 36/396 = 13.6, 150 * 360/396 = 136.4


def test_equal_numbers_for_all_layers_up_to_what_they_have(mixed: Network) -> None:
    assert told(mixed, RandomProjection(keep=60, budget="equal"), None) == [30, 30]
    assert told(mixed, RandomProjection(keep=150, budget="equal"), None) == [36, 114]
    assert told(mixed, RandomProjection(keep=0.5, budget="equal"), None) == [36, 198 - 36]


def test_budgets_that_do_not_fit_the_network(mixed: Network) -> None:
    with pytest.raises(PactError, match="keep: the network has 2 layers with weights, 3 counts are given"):
        compress(mixed, RandomProjection(keep=(1, 2, 3)))
    with pytest.raises(PactError, match="keep: 2 layers need at least as many numbers, got 1"):
        compress(mixed, RandomProjection(keep=1))


def small_mlp(digits: Data) -> Network:
    return trace(nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10)), digits)


def told(network: Network, method: RandomProjection, samples: Samples | None) -> list[int]:
    coded = compress(network, method, samples=samples).tensors
    return [tensor.symbols.size for tensor in coded.values() if len(tensor.shape) >= 2]


@pytest.mark.parametrize("kept", [250, 0.4, 1])
def test_cushions_share_a_total_by_effective_parameters(kept: float, digits: Data) -> None:
    """As netpact.measure tells them; a fraction is that of all weights together."""
    network = small_mlp(digits)
    if kept == 1:
        with pytest.raises(PactError, match="keep: 2 layers need at least as many numbers, got 1"):
            compress(network, RandomProjection(keep=1, budget="cushions"), samples=digits.train)
        return
    effective = [layer.effective_parameters for layer in measure(network, digits, MeasureOptions(samples=32)).layers]
    total = kept if isinstance(kept, int) else round(kept * (768 + 120))
    expected = split_budget(total, weights=[found.value for found in effective if found], caps=(768, 120))
    assert tuple(told(network, RandomProjection(keep=kept, budget="cushions"), digits.train)) == expected
    assert expected != split_budget(total, weights=(768, 120), caps=(768, 120)), "or the test says nothing"


def test_cushions_of_convolutions_are_measured_at_32_samples(mixed: Network, digits: Data) -> None:
    """Batch norm is folded for it; the spread of the Jacobians differs from sample to sample."""
    layers = measure(mixed, digits, MeasureOptions(samples=32)).layers
    weights = [layer.effective_parameters.value for layer in layers if layer.effective_parameters is not None]
    expected = split_budget(35, weights=weights, caps=(36, 360))
    assert tuple(told(mixed, RandomProjection(keep=35, budget="cushions"), digits.train)) == expected
    assert 2 < expected[0] < 33, "or the test says nothing"


def test_cushions_in_the_order_of_the_tensors(digits: Data) -> None:
    """The module lists its layers in another order than they run in."""

    class Backwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last, self.first = nn.Linear(12, 10), nn.Linear(64, 12)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(torch.relu(self.first(x.flatten(1))))

    forwards, backwards = small_mlp(digits), Backwards()
    weights = forwards.module.state_dict()
    backwards.load_state_dict(
        {f"{name}.{kind}": weights[f"{place}.{kind}"] for name, place in (("first", 1), ("last", 3)) for kind in _KINDS}
    )
    method = RandomProjection(keep=250, budget="cushions")
    assert told(trace(backwards, digits), method, digits.train) == told(forwards, method, digits.train)[::-1]


def test_cushions_need_samples_and_layers_of_their_own(digits: Data, mixed: Network) -> None:
    network = small_mlp(digits)
    for method in (RandomProjection(budget="cushions"), RandomProjection(gamma=1.0, variant="signs")):
        with pytest.raises(PactError, match="samples: cushions are measured on samples, and there are none") as raised:
            compress(network, method)
        assert "samples=data.train" in str(raised.value)
    with pytest.raises(PactError, match="without batch norm"):
        compress(mixed, RandomProjection(eps=0.5, budget="cushions", variant="signs"), samples=digits.train)
    shared = nn.Linear(64, 64)
    twice = trace(nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared, nn.ReLU(), nn.Linear(64, 10)), digits)
    with pytest.raises(PactError, match=r"1\.weight: cushions are those of linear and convolution layers that run"):
        compress(twice, RandomProjection(budget="cushions"), samples=digits.train)


def test_a_dead_layer_has_no_share(digits: Data) -> None:
    network = small_mlp(digits)
    with torch.no_grad():
        network.module.get_parameter("3.weight").zero_()
    with pytest.raises(PactError, match=r"3\.weight: a cushion is 0 or a contraction infinite") as raised:
        compress(network, RandomProjection(budget="cushions"), samples=digits.train)
    assert 'budget="size"' in str(raised.value)


def test_margins_of_real_networks_ask_for_more_numbers_than_weights(digits: Data) -> None:
    """The paper's own recipe: every layer is told plainly, and the message is that of Quantize."""
    network = small_mlp(digits)
    own = compress(network, RandomProjection(gamma=1.0, variant="signs", bits=6), samples=digits.train)
    assert seal(own).message == seal(compress(network, Quantize(bits=6))).message


def aligned(count: int = 4) -> tuple[Network, Data]:
    """A wide layer whose inputs all lie near its first singular vector: as large a cushion as there can be."""
    generator = np.random.default_rng(0)
    direction = generator.standard_normal(4096)
    layer = nn.Linear(4096, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.stack([direction, 0.1 * generator.standard_normal(4096)])))
    inputs = direction * generator.uniform(0.5, 2.0, (count, 1)) + 0.05 * generator.standard_normal((count, 4096))
    data = as_data((inputs.astype(np.float32), np.arange(count) % 2), classes=2)
    return trace(layer, data), data


def test_law_an_accuracy_of_the_outputs_is_kept_by_the_method() -> None:
    """Counts by hand, eps_1 = eps mu / (6 sqrt 2); then |f - f^| <= eps |f| for every seed."""
    network, data = aligned()
    weight = network.module.get_parameter("weight").detach().double().numpy()
    inputs = next(iter(data.train.batches(4)))[0].astype(np.float64)
    exact = inputs @ weight.T
    norm = np.linalg.norm
    cushion = min(norm(f) / (norm(weight) * norm(x)) for f, x in zip(exact, inputs, strict=True))
    # Rows of the Jacobian at 4 samples: eta = 0.02 / (2 * 1 * 4 * 2).
    expected = valid_count(eps=0.9 * cushion / (6 * math.sqrt(2)), eta=0.02 / 16)
    gamma = 0.9 * math.sqrt(2) * max(map(norm, exact))
    by_gamma = RandomProjection(gamma=float(gamma), variant="signs", bits=16)
    assert told(network, by_gamma, data.train) == pytest.approx([expected], abs=1)
    assert expected < weight.size, "or nothing is projected"
    for seed in range(12):
        method = RandomProjection(eps=0.9, budget="cushions", variant="signs", bits=16, seed=seed)
        coded = compress(network, method, samples=data.train).tensors["weight"]
        assert coded.symbols.size == pytest.approx(expected, abs=1)
        off = inputs @ coded.weights().T - exact
        assert (norm(off, axis=1) <= 0.9 * norm(exact, axis=1)).all()


def test_a_tensor_of_zeros_stays_zero(digits: Data) -> None:
    linear = nn.Linear(64, 10)
    with torch.no_grad():
        linear.weight.zero_()
    module = nn.Sequential(nn.Flatten(), linear)
    coded = compress(trace(module, digits), RandomProjection()).tensors
    assert isinstance(coded["1.weight"].form, Zero)


def test_the_seed_is_in_the_message(linear: Network) -> None:
    messages = {seal(compress(linear, RandomProjection(seed=seed))).message for seed in (0, 1, 2**32 - 1)}
    assert len(messages) == 3
    forms = [Pact(message).decode().tensors["fc1.weight"].form for message in messages]
    assert {form.seed for form in forms if isinstance(form, Projection)} == {0, 1, 2**32 - 1}


def test_more_numbers_come_nearer(linear: Network, digits: Data) -> None:
    """Half of the weights lose something, almost all of them little; and what is promised holds."""
    errors = []
    for keep in (0.3, 0.95):
        pact = seal(compress(linear, RandomProjection(keep=keep)))
        promise = promised_error(linear, pact, digits)
        assert np.all(promise.measured <= promise.promised)
        errors.append(float(np.median(promise.measured)))
    assert errors[1] < 0.5 * errors[0]


def test_the_command_line_can_name_it() -> None:
    method = make_method("random-projection", {"keep": "0.25", "variant": "signs", "bits": "6"})
    assert method == RandomProjection(keep=0.25, variant="signs", bits=6)
    assert make_method("random-projection", {"keep": "5000"}) == RandomProjection(keep=5000)
    method = make_method("random-projection", {"keep": "0.5", "budget": "cushions"})
    assert method == RandomProjection(keep=0.5, budget="cushions")
    method = make_method("random-projection", {"gamma": "2", "variant": "signs"})
    assert method == RandomProjection(gamma=2, variant="signs", budget="cushions")


budgets = st.lists(st.tuples(st.floats(1e-12, 1e12), st.integers(1, 10**6)), min_size=1, max_size=12)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(layers=budgets, share=st.floats(0, 1.5))
def test_budgets_are_shared_out_in_proportion(layers: list[tuple[float, int]], share: float) -> None:
    """All of it, within 1 and the cap; and for one rate every layer has its share, within 1, or is at a limit."""
    weights, caps = [weight for weight, _ in layers], [cap for _, cap in layers]
    total = max(len(caps), round(share * sum(caps)))
    counts = split_budget(total, weights=weights, caps=caps)
    assert sum(counts) == min(total, sum(caps))
    assert all(1 <= count <= cap for count, cap in zip(counts, caps, strict=True))
    # Above 1 a count needs a rate of at least (count - 1)/weight, below its cap of at most (count + 1)/weight.
    triples = list(zip(counts, weights, caps, strict=True))
    at_least = max((((count - 1) / weight) for count, weight, _ in triples if count > 1), default=0.0)
    at_most = min((((count + 1) / weight) for count, weight, cap in triples if count < cap), default=math.inf)
    assert at_least <= at_most * (1 + 1e-9)


def test_budgets_by_hand() -> None:
    assert split_budget(40, weights=(100, 1), caps=(10, 50)) == (10, 30)
    # Once the largest is full, those far below it still differ.
    assert split_budget(34, weights=(1e300, 1e-300, 2e-300), caps=(4, 90, 90)) == (4, 10, 20)
    assert split_budget(10, weights=(1, 1, 2), caps=(9, 9, 9)) == (3, 2, 5)
    assert split_budget(10, weights=(2.2, 2.9, 4.9), caps=(9, 9, 9)) == (2, 3, 5)
    assert split_budget(100, weights=(1, 1), caps=(3, 4)) == (3, 4)
    assert split_budget(5, weights=(1e-300, 1, 1e300), caps=(9, 9, 9)) == (1, 1, 3)


@pytest.mark.parametrize(
    ("total", "weights", "caps", "reason"),
    [
        (5, (1.0,), (2, 3), "weights: 2 layers need as many weights, got 1"),
        (5, (1.0, 0.0), (2, 3), "weights, layer 1: must be a finite number > 0"),
        (5, (1.0, math.inf), (2, 3), "weights, layer 1"),
        (5, (1.0, math.nan), (2, 3), "weights, layer 1"),
        (5, (1.0, 1.0), (2, 0), "caps, layer 1: a layer has at least one"),
        (1, (1.0, 1.0), (2, 3), "total: 1 parameters for 2 layers"),
    ],
)
def test_bad_budgets(total: int, weights: tuple[float, ...], caps: tuple[int, ...], reason: str) -> None:
    with pytest.raises(PactError, match=reason):
        split_budget(total, weights=weights, caps=caps)
