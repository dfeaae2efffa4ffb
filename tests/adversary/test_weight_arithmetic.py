"""Arithmetic on weights outside a layer, and on other constants: exact in float64, wrong in float32.

The adversary computes with parameters before they are used. (w + 2^28) - 2^28 is w in float64, where errors are
counted, and 0 in float32. Also tried: the same through a list of parameters, through .data, .item(), numpy, a change in
place, a transposed view, constants made in forward, tensors that are no parameters at all, weights of more digits than
float32 has, and a module that asks for the type of its input.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.methods import Quantize, compress
from netpact.network import ToleranceRun, count_errors, trace
from netpact.pacts.certification import certify

FAR = 2.0**28
OUTSIDE = torch.eye(3)


def data(rows: int = 40) -> Data:
    labels = np.arange(rows) % 3
    x = 0.25 * np.random.default_rng(1).random((rows, 3)).astype(np.float32)
    x[np.arange(rows), labels] += 1
    return Data("own", 3, ArraySamples(x, labels, "own", 3))


class Computes(nn.Module):
    def __init__(self, way: Callable[[Computes, Tensor], Tensor]) -> None:
        super().__init__()
        self.way = way
        self.fc = nn.Linear(3, 3)
        nn.init.eye_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)
        self.requires_grad_(False)
        self.listed = [self.fc.weight]

    def forward(self, x: Tensor) -> Tensor:
        return self.way(self, x)


def through(weight: Callable[[Computes], Tensor]) -> Callable[[Computes, Tensor], Tensor]:
    return lambda module, x: functional.linear(x, weight(module)) + 0 * module.fc(x)


# What a float32 run computes otherwise. Each is counted as wrong on every sample, or refused by name.
COUNTED: dict[str, Callable[[Computes, Tensor], Tensor]] = {
    "the weight": through(lambda m: (m.fc.weight + FAR) - FAR),
    "through a list": through(lambda m: (m.listed[0] + FAR) - FAR),
    "a matrix product": through(lambda m: ((m.fc.weight + FAR) - FAR) @ m.fc.weight),
    "a product": lambda m, x: m.fc(x) * ((m.fc.weight.sum(1) + FAR) - FAR),
    "an exponential": through(lambda m: torch.exp(2 * m.fc.weight + FAR - FAR)),
    "a transposed view": through(lambda m: (m.fc.weight.T + FAR).t() - FAR),
    "moved and copied": through(lambda m: (m.fc.weight.reshape(-1).clone() + FAR).view(3, 3) - FAR),
    "a bias": lambda m, x: m.fc(x) + ((m.fc.weight[0, 0] + FAR) - FAR) * 0.5 - m.fc.bias,
    "a constant of the program": lambda m, x: m.fc(x) + (torch.full((3,), FAR + 1, dtype=x.dtype) - FAR),
    "a tensor of literals": lambda m, x: m.fc(x) + (torch.tensor([FAR + 1, FAR - 2, FAR + 3], dtype=x.dtype) - FAR),
}
REFUSED: dict[str, tuple[str, Callable[[Computes, Tensor], Tensor]]] = {
    "data": ("data", through(lambda m: m.fc.weight.data + FAR - FAR)),
    "item": ("item", lambda m, x: m.fc(x) * ((m.fc.weight[0, 0].item() + FAR) - FAR)),
    "float": ("float", lambda m, x: m.fc(x) * float(m.fc.weight[0, 0])),
    "tolist": ("tolist", lambda m, x: m.fc(x) * m.fc.weight.tolist()[0][0]),
    "numpy": ("numpy", through(lambda m: torch.from_numpy((m.fc.weight.numpy() + FAR) - FAR))),
    "in place": ("in place", lambda m, x: m.fc(x) if m.fc.weight.add_(FAR).sub_(FAR) is not None else x),
    "sinh": ("sinh", through(lambda m: m.fc.weight.sinh())),
    "a vector of weights": ("by a vector", lambda m, x: m.fc(x) + functional.linear(x, m.fc.bias)[:, None]),
    "outside": ("neither parameter nor buffer", through(lambda m: OUTSIDE.to(m.fc.weight.dtype))),
    "random": ("randn", lambda m, x: m.fc(x) + 0 * torch.randn(3)),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_computed_from_weights_carries_a_spread(name: str) -> None:
    module, samples = Computes(COUNTED[name]), data().train
    inputs = torch.from_numpy(next(iter(samples.batches(40)))[0])
    run = ToleranceRun(module, "float32")(inputs.numpy())
    off = (module(inputs).double() - run.values).abs()
    assert float(off.max()) > 0.3, "the attack works: a float32 run computes something else"
    assert bool((off <= run.spread).all())
    assert count_errors(module, samples, arithmetic="float32").errors == 40
    # A network in float64 may compute with float32 constants: they are bounded as such.
    assert count_errors(Computes(COUNTED[name]), samples, arithmetic="float64").errors == 40


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused_by_name(name: str) -> None:
    said, way = REFUSED[name]
    with pytest.raises(PactError, match="no rounding bound is known") as caught:
        count_errors(Computes(way), data().train, arithmetic="float32")
    assert said in caught.value.what
    # No file would hold it, in whatever arithmetic; and a network that changes itself is no fixed function.
    never = {"outside": said, "numpy": "neither parameter nor buffer", "in place": "two runs on the same samples"}
    if name in never:
        with pytest.raises(PactError, match=never[name]):
            trace(Computes(way), data())
    else:
        assert any(said in operation for operation in trace(Computes(way), data()).unruled)


def test_the_whole_way_from_module_to_certificate() -> None:
    def make() -> nn.Module:
        return Computes(COUNTED["the weight"])

    pact = seal(compress(trace(make(), data()), Quantize(bits=8)))
    certificate = certify(pact, data(), model=make, most_near_ties=1).certificate
    assert certificate is not None
    assert certificate.errors == certificate.samples


def test_harmless_uses_of_a_weight_stay_exact() -> None:
    """A view, and a sum of small whole numbers: nothing is lost in float32, and nearly nothing is allowed for."""
    for way in (through(lambda m: m.fc.weight.t()), lambda m, x: m.fc(x) + m.fc.bias):
        run = ToleranceRun(Computes(way), "float32")
        assert float(run(next(iter(data().train.batches(40)))[0]).spread.max()) < 1e-5


@pytest.mark.parametrize("pick", [lambda m: m.fc.weight, lambda m: m.listed[0]])
def test_no_deviation_is_bounded_past_a_layer(pick: Callable[[Computes], Tensor]) -> None:
    module = Computes(lambda m, x: m.fc(x) + functional.linear(x, pick(m)))
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.fc.weight.mul_(2)
    found = promised_error(module, other, data())
    assert found.unbounded == found.samples
    assert "outside its layer" in found.note


def test_weights_of_more_digits_than_the_precision_has() -> None:
    layer = nn.Linear(3, 3).double()
    with torch.no_grad():
        layer.weight.copy_(torch.eye(3).double() * (1 + 2.0**-40))
    with pytest.raises(PactError, match="weight holds numbers that float32 does not have"):
        count_errors(layer, data().train, arithmetic="float32")
    assert count_errors(layer, data().train, arithmetic="float64").samples == 40


class Peeks(nn.Module):
    """A good classifier in float64, where errors are counted, and a constant one in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        nn.init.eye_(self.fc.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) if x.dtype == torch.float64 else self.fc(0 * x)


def test_a_module_that_asks_for_the_type_of_its_input_is_found_out() -> None:
    with pytest.raises(PactError, match="a run in float32 on this machine is not within the proven rounding bound"):
        count_errors(Peeks(), data().train, arithmetic="float32")
