"""Subnormal numbers: some machines flush them to zero, and a later layer makes them large again.

An input of 2^-130 times a weight of 2^124 decides the class; where subnormal numbers are flushed, the input is 0. Also
tried: subnormal weights, biases, buffers and constants, batch norm with subnormal parts, a process that flushes while
it counts, and deviation bounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.network import ToleranceRun, count_errors

LOW, HIGH = 2.0**-130, 2.0**124


@pytest.fixture
def flushing() -> Iterator[None]:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormal numbers")
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def rows(values: list[list[float]], labels: list[int]) -> ArraySamples:
    return ArraySamples(np.array(values, dtype=np.float32), np.array(labels), "rows", 2)


def layer(weight: list[list[float]], bias: list[float] | None = None) -> nn.Linear:
    made = nn.Linear(len(weight[0]), len(weight), bias=bias is not None).requires_grad_(False)
    with torch.no_grad():
        made.weight.copy_(torch.tensor(weight))
        if bias is not None:
            made.bias.copy_(torch.tensor(bias))
    return made


class Shifted(nn.Module):
    """The sum of the input and a constant that is made in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.head = layer([[HIGH, 0.0], [0.0, 0.0]])

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x + torch.tensor([LOW, 0.0], dtype=x.dtype))


def normed(part: str, *, variance: float = 1.0) -> nn.Module:
    norm = nn.BatchNorm1d(2, eps=0.0).eval().requires_grad_(False)
    nn.init.constant_(norm.running_var, variance)  # type: ignore[arg-type]
    if part == "weight":
        nn.init.constant_(norm.weight, LOW)
        return nn.Sequential(norm, layer([[HIGH, 0.0], [0.0, 0.0]]))
    nn.init.constant_(getattr(norm, part), -LOW if part == "running_mean" else LOW)
    return nn.Sequential(norm, layer([[HIGH, 0.0], [0.0, 0.0]]))


# A network and a sample of class 0 that is right by 2^-6 with subnormal numbers, and a tie without.
ATTACKS: dict[str, tuple[nn.Module, list[float]]] = {
    "input": (layer([[HIGH, 0.0], [0.0, 0.0]]), [LOW, 0.0]),
    "input through ReLU": (nn.Sequential(nn.ReLU(), layer([[HIGH, 0.0], [0.0, 0.0]])), [LOW, 0.0]),
    "weight": (nn.Sequential(layer([[LOW, 0.0], [0.0, 0.0]]), layer([[HIGH, 0.0], [0.0, 0.0]])), [1.0, 0.0]),
    "weight and a large input": (layer([[LOW, 0.0], [0.0, 0.0]]), [HIGH, 0.0]),
    "bias": (nn.Sequential(layer([[0.0, 0.0]] * 2, [LOW, 0.0]), layer([[HIGH, 0.0], [0.0, 0.0]])), [1.0, 0.0]),
    "constant": (Shifted(), [0.0, 0.0]),
    "weight of a norm": (normed("weight"), [1.0, 0.0]),
    "weight of a norm that divides": (normed("weight", variance=2.0**-80), [1.0, 0.0]),
    "bias of a norm": (normed("bias"), [0.0, 0.0]),
    "mean of a norm": (normed("running_mean"), [0.0, 0.0]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_class_that_flushing_changes_is_an_error(name: str) -> None:
    module, sample = ATTACKS[name]
    assert float(module(torch.tensor([sample])).diff()) < -(2.0**-8), "it is right where nothing is flushed"
    counted = count_errors(module, rows([sample] * 3, [0] * 3), arithmetic="float32")
    assert (counted.errors, counted.near_ties) == (3, 3)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_machine_that_flushes_stays_within_the_spread(name: str, request: pytest.FixtureRequest) -> None:
    module, sample = ATTACKS[name]
    run = ToleranceRun(module, "float32")(np.array([sample], dtype=np.float32))
    request.getfixturevalue("flushing")
    found = module(torch.tensor([sample]))
    assert bool(((found.double() - run.values).abs() <= run.spread).all())


def test_nothing_is_counted_while_this_process_flushes(flushing: None) -> None:
    with pytest.raises(PactError, match="subnormal numbers are flushed to zero in this process"):
        count_errors(layer([[1.0, 0.0], [0.0, 1.0]]), rows([[1.0, 0.0]], [0]), arithmetic="float32")


def test_ordinary_zeros_are_exact() -> None:
    run = ToleranceRun(layer([[1.0, 2.0], [3.0, -4.0]]), "float32")(np.array([[0.0, -0.0], [5.0, 7.0]], np.float32))
    assert float(run.spread.abs().max()) == 0


@pytest.mark.parametrize("name", ["input", "weight and a large input", "weight"])
def test_deviations_allow_for_flushing_too(name: str) -> None:
    module, sample = ATTACKS[name]
    data = Data("rows", 2, rows([sample] * 3, [0, 1, 0]))
    assert float(promised_error(module, module, data).promised.min()) >= 2.0**-7
