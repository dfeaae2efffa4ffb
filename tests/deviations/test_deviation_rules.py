"""Each rule by itself: inputs within their bound give outputs within theirs, in both precisions."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from network.sample_calls import CALLS as SAMPLE_CALLS
from network.test_rounding_rules import CALLS
from torch import Tensor
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.deviations import deviation_rules
from netpact.deviations.deviation import Deviation, LayerTensor, Walk, make_deviation
from netpact.models import build, parse_model
from netpact.network.rounding import rules as rounding_rules
from netpact.network.rounding.sum_rules import CONVOLUTIONS
from netpact.network.rounding.tolerance import make_spread, rounding, value_of

Call = Callable[[Tensor], Tensor]

# Layers are followed as a whole; all other operations that have a rounding rule have a rule here.
LAYERS = {"linear", *CONVOLUTIONS, "batch_norm"}
# Ways of calling in the rounding rules' tests that join tensors from outside, or mix samples.
UNFIT = {"add": 1, "cat": 0, "mean": 1}
# Operations with a rounding rule whose rule here does not exist yet: docs/deviations.md names them.
WITHOUT = {*(SAMPLE_CALLS.keys() - deviation_rules._RULES.keys())}

MORE: dict[str, list[tuple[tuple[int, ...], Call]]] = {
    "cat": [((3, 2, 4, 4), lambda x: torch.cat([x, x[:, :1], functional.relu(x)], dim=1))],
    "add": [((3, 2, 4, 4), lambda x: x + x.mean(dim=(2, 3), keepdim=True)), ((4, 6), lambda x: x + 0.1 + x)],
    "max_pool2d": [
        ((3, 2, 6, 6), lambda x: functional.max_pool2d(x, 3, 1)),
        ((3, 2, 6, 6), lambda x: functional.max_pool2d(x, (2, 3), stride=2, dilation=(2, 1))),
    ],
    "pad": [((3, 2, 4, 4), lambda x: functional.pad(x, (2, 2, 1, 1), mode="reflect"))],
    "split": [((3, 4), lambda x: x.split(2, dim=1)[0])],
    "sub": [((3, 2, 4, 4), lambda x: x - x.mean(dim=(2, 3), keepdim=True)), ((4, 6), lambda x: 0.1 - x - x)],
    "repeat": [((3, 2, 4), lambda x: x.repeat(1, 3, 2))],
    "max_pool1d": [((3, 2, 9), lambda x: functional.max_pool1d(x, 3, 2, dilation=2))],
    "adaptive_max_pool2d": [((3, 2, 5, 7), lambda x: functional.adaptive_max_pool2d(x, (3, 2)))],
    "amin": [((3, 2, 5), lambda x: torch.amin(x, -1))],
    "mul": [((3, 2, 4, 4), lambda x: x * x.mean(dim=(2, 3), keepdim=True)), ((3, 1, 8), lambda x: x[:, :, :1] * x)],
    "matmul": [((3, 4, 4), lambda x: x @ x)],
    "rms_norm": [((4, 6), lambda x: functional.rms_norm(x, (6,), eps=1e-2))],
    "layer_norm": [((4, 6), lambda x: functional.layer_norm(x, (6,), eps=1e-2))],
    "sum": [((3, 2, 5), lambda x: torch.sum(x, dim=1, keepdim=True))],
}


def fit_calls(name: str) -> list[tuple[tuple[int, ...], Call]]:
    given = [entry for index, entry in enumerate(CALLS.get(name, [])) if UNFIT.get(name) != index]
    return [*(entry for entry in given if _needs_no_parameter(*entry)), *MORE.get(name, [])]


def _needs_no_parameter(shape: tuple[int, ...], call: Call) -> bool:
    """Tensors from outside are no parameters here: test_parameters.py has those."""
    values = torch.ones(shape, dtype=torch.float64) + torch.arange(math.prod(shape)).reshape(shape) / 100
    _, walk = run(call, values, torch.zeros(shape[0], dtype=torch.float64))
    outside = ("come from the input", "no parameter")
    return not any(said in words for said in outside for words in walk.problems())


def start(values: Tensor, bound: Tensor, *, other: str = "float32") -> tuple[Deviation, Walk]:
    with rounding(other) as precision:
        pass
    with rounding("float32", collect=True) as own:
        walk = Walk(own, precision)
    return make_deviation(make_spread(values, torch.zeros_like(values)), bound, walk), walk


def run(call: Call, values: Tensor, bound: Tensor) -> tuple[Deviation, Walk]:
    x, walk = start(values, bound)
    with rounding("float32", collect=True) as own:
        walk.own = own
        result = call(x)
    assert isinstance(result, Deviation)
    return result, walk


def test_every_operation_with_a_rounding_rule_has_one_here() -> None:
    known = {*rounding_rules._RULES, *rounding_rules._SAME_FOR_BOTH}
    assert {*deviation_rules._RULES, *LAYERS, *WITHOUT} == known
    assert {name for name in deviation_rules._RULES if not fit_calls(name)} == {
        *("orient", "contour", "sobel", "embedding", "multi_head_attention_forward")
    }


def directions(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Differences of norm 1 for each sample: dense ones, constant ones, and those in few places."""
    kind = int(torch.randint(0, 3, (), generator=generator))
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == 1:
        drawn = torch.ones(shape, dtype=torch.float64)
    if kind == 2:
        drawn = drawn * (torch.rand(shape, generator=generator) < 0.1)
    norms = torch.linalg.vector_norm(drawn.flatten(1), dim=1).clamp(min=1e-300)
    return drawn / norms.reshape(-1, *(1,) * (len(shape) - 1))


@pytest.mark.parametrize("name", sorted(deviation_rules._RULES.keys() - {"orient", "preprocess", "embedding"}))
@torch.no_grad()
def test_inputs_within_their_bound_give_outputs_within_theirs(name: str) -> None:
    generator = torch.Generator().manual_seed(len(name))
    for shape, call in fit_calls(name):
        for magnitude, share in ((1.0, 0.5), (100.0, 1e-3), (1e-2, 0.0)):
            values = torch.randn(shape, generator=generator, dtype=torch.float64) * magnitude
            bound = torch.rand(shape[0], generator=generator, dtype=torch.float64) * magnitude * share
            result, walk = run(call, values.clone(), bound)
            assert not walk.problems()
            exact = call(values.clone())
            for _ in range(30):
                step = directions(shape, generator) * bound.reshape(-1, *(1,) * (len(shape) - 1))
                other = values + step * (1 - 1e-6)
                single = other.float()
                # Rounding the input moves it too: it has to stay within the bound to be an example.
                inside = torch.linalg.vector_norm((single.double() - values).flatten(1), dim=1) <= bound
                for machine, valid in ((call(other.clone()), inside | True), (call(single.clone()), inside)):
                    apart = torch.linalg.vector_norm((machine.double() - exact).flatten(1), dim=1)
                    assert bool((apart[valid] <= result.bound[valid]).all())


def test_rounding_alone_is_covered() -> None:
    """No difference in the input at all: what is left is the other network's own rounding."""
    generator = torch.Generator().manual_seed(5)
    single = torch.rand(8, 3, 6, 6, generator=generator)
    calls: list[Call] = [
        lambda x: functional.avg_pool2d(x, 3, 1),
        lambda x: x.mean(dim=(2, 3)),
        lambda x: x + 0.1,
        lambda x: functional.leaky_relu(x.transpose(1, 2) + 1e-3, 0.3),
        torch.tanh,
        torch.sigmoid,
        functional.silu,
        lambda x: functional.elu(-x, 0.7),
        functional.softplus,
        functional.hardswish,
        functional.hardsigmoid,
        lambda x: functional.gelu(-6 * x),
        lambda x: functional.gelu(-x, approximate="tanh"),
        lambda x: (x * 0.1).clamp(0.03, 0.07) / 0.7,
        lambda x: 0.1 - x,
        lambda x: x.sum(dim=1),
    ]
    for call in calls:
        result, _ = run(call, single.double(), torch.zeros(8, dtype=torch.float64))
        apart = torch.linalg.vector_norm((call(single).double() - call(single.double())).flatten(1), dim=1)
        assert bool((apart > 0).any())
        assert bool((apart <= result.bound).all())
        assert float(result.bound.max()) < 1e-3


def test_a_change_in_place_keeps_the_bound() -> None:
    x, _ = start(torch.tensor([[-1.0, 2.0]], dtype=torch.float64), torch.tensor([0.5], dtype=torch.float64))
    with rounding("float32"):
        assert functional.relu_(x) is x
    assert float(x.bound) >= 0.5
    assert value_of(x.held).tolist() == [[0.0, 2.0]]


CONSTANT = torch.ones(4, dtype=torch.float64)
WEIGHT = torch.ones(4, dtype=torch.float64).as_subclass(LayerTensor)
REFUSED: dict[str, Call] = {
    "mul by a parameter or buffer outside its layer": lambda x: x * WEIGHT,
    "softmax across samples": lambda x: x.softmax(0),
    "mm": lambda x: torch.mm(x, x),
    "matmul that mixes samples": lambda x: x @ x,
    "amax across samples": lambda x: x - x.amax(dim=0, keepdim=True),
    "amin across samples": lambda x: x + x.amin(dim=0),
    "sum across samples": lambda x: x + x.sum(dim=0),
    "flip across samples": lambda x: x.flip(0),
    "roll across samples": lambda x: x.roll(1),
    "repeat across samples": lambda x: x.repeat(2, 1),
    "stack along the samples' axis": lambda x: torch.stack([x, x]),
    "sub of a Tensor that does not come from the input": lambda x: x - CONSTANT,
    "add of a Tensor that does not come from the input": lambda x: x + CONSTANT,
    "add by a parameter or buffer outside its layer": lambda x: x + WEIGHT,
    "cat of a Tensor that does not come from the input": lambda x: torch.cat([x, torch.ones(4, 4).double()], dim=1),
    "cat along the samples' axis": lambda x: torch.cat([x, x], dim=0),
    "relu across samples": lambda x: x.transpose(0, 1).relu(),
    "add across samples": lambda x: x + x.transpose(0, 1),
    "flatten across samples": lambda x: x.transpose(0, 1).flatten(),
    "mean across samples": lambda x: x + x.mean(dim=0, keepdim=True),
    "add that lines the samples up with another axis": lambda x: x.unsqueeze(1) + x,
    "linear": lambda x: functional.linear(x, torch.eye(4).double()),
    "dropout in this form": lambda x: functional.dropout(x, 0.5, training=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_named(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(4, 4, generator=generator, dtype=torch.float64)
    result, walk = run(REFUSED[name], values, torch.ones(4, dtype=torch.float64))
    assert name in walk.problems()
    assert bool(torch.isinf(result.bound).all())


def test_parameters_alone_are_no_way_around_their_layer() -> None:
    for call in (torch.tanh, torch.sum, lambda w: w[0], lambda w: w * 2, functional.gelu):
        with pytest.raises(PactError, match="outside its layer"):
            call(WEIGHT)
    with pytest.raises(PactError, match="outside its layer"):
        _ = WEIGHT.data
    assert WEIGHT.shape == (4,)


@pytest.mark.parametrize(
    ("model", "name"), [("oriented", "orient"), ("contours:4-3-2-1", "contour"), ("sobel:8-5-4-2-1-5", "sobel")]
)
def test_a_stem_is_the_same_for_both_and_only_on_the_input(model: str, name: str) -> None:
    edges = build(parse_model(model, input_shape=(1, 8, 8), classes=10))[0]
    images = torch.randint(0, 256, (2, 1, 8, 8), generator=torch.Generator().manual_seed(0)).double() / 255
    result, walk = run(edges, images, torch.zeros(2, dtype=torch.float64))
    assert not walk.problems()
    assert float(result.bound.max()) == 0.0
    _, walk = run(edges, images, torch.ones(2, dtype=torch.float64))
    assert walk.problems() == [f"{name} of anything but the input"]


@pytest.mark.parametrize("call", [torch.relu, torch.sigmoid, lambda x: x + x, lambda x: functional.pad(x, (1, 1))])
def test_what_is_not_bounded_never_becomes_finite(call: Call) -> None:
    result, _ = run(call, torch.ones(2, 3, dtype=torch.float64), torch.full((2,), math.inf))
    assert not bool(torch.isfinite(result.bound).any())
