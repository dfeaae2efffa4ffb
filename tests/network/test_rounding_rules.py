"""Each rule by itself: what an operation does to inputs within their spread stays within the spread it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from network.rounding_nets import run_with_spread
from torch import Tensor, nn
from torch.nn import functional

from netpact.errors import PactError
from netpact.network import rounding_rules
from netpact.network.rounding import make_spread, rounding, spread_of, value_of

WEIGHT, BIAS = torch.randn(3, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0.5, -2, 1])
KERNEL = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(1))
MEAN, VARIANCE = torch.tensor([0.3, -1.5]), torch.tensor([0.02, 4.0])

Call = Callable[[Tensor], Tensor]
VECTOR, IMAGE = (4, 6), (3, 2, 4, 4)


def typed(constant: Tensor, like: Tensor) -> Tensor:
    return constant.to(like.dtype)


CALLS: dict[str, list[tuple[tuple[int, ...], Call]]] = {
    "linear": [(VECTOR, lambda x: functional.linear(x, typed(WEIGHT, x), typed(BIAS, x)))],
    "conv2d": [
        (IMAGE, lambda x: functional.conv2d(x, typed(KERNEL, x), typed(BIAS, x), stride=2, padding=1)),
        (IMAGE, lambda x: functional.conv2d(x, typed(KERNEL[:2, :1], x), None, 1, 0, 1, 2)),
    ],
    "avg_pool2d": [
        (IMAGE, lambda x: functional.avg_pool2d(x, 3, 1, 1)),
        (IMAGE, lambda x: functional.avg_pool2d(x, 2, divisor_override=-3)),
    ],
    "adaptive_avg_pool2d": [(IMAGE, lambda x: functional.adaptive_avg_pool2d(x, 3))],
    "mean": [(IMAGE, lambda x: x.mean(dim=(2, 3))), (IMAGE, lambda x: x.permute(1, 2, 3, 0).mean(2, keepdim=True))],
    "add": [(VECTOR, lambda x: torch.add(x, x.flatten(1))), (VECTOR, lambda x: torch.add(x, typed(WEIGHT[:1], x)))],
    "add_": [(VECTOR, lambda x: x.clone().add_(x))],
    "__add__": [(VECTOR, lambda x: x + 0.1), (VECTOR, lambda x: x.__add__(x))],
    "__radd__": [(VECTOR, lambda x: 0.1 + x)],
    "__iadd__": [(VECTOR, lambda x: x.clone().__iadd__(x))],
    "relu": [(VECTOR, lambda x: functional.relu(x)), (VECTOR, lambda x: functional.relu(x.clone(), inplace=True))],
    "relu_": [(VECTOR, lambda x: functional.relu_(x.clone())), (VECTOR, lambda x: x.clone().relu_())],
    "relu6": [(VECTOR, lambda x: functional.relu6(x))],
    "hardtanh": [
        (VECTOR, lambda x: functional.hardtanh(x, -1, 2)),
        (VECTOR, lambda x: nn.ReLU6(inplace=True)(x.clone())),
    ],
    "leaky_relu": [
        (VECTOR, lambda x: functional.leaky_relu(x, 0.3)),
        (VECTOR, lambda x: nn.LeakyReLU(0.7, inplace=True)(x.clone())),
    ],
    "tanh": [(VECTOR, lambda x: torch.tanh(x))],
    "sigmoid": [(VECTOR, lambda x: torch.sigmoid(x))],
    "batch_norm": [
        (
            IMAGE,
            lambda x: functional.batch_norm(
                x, typed(MEAN, x), typed(VARIANCE, x), typed(BIAS[:2], x), typed(BIAS[1:], x), eps=1e-5
            ),
        ),
        (IMAGE, lambda x: functional.batch_norm(x, typed(MEAN, x), typed(VARIANCE, x))),
    ],
    "flatten": [(IMAGE, lambda x: x.flatten(1))],
    "view": [(IMAGE, lambda x: x.view(3, -1))],
    "reshape": [(IMAGE, lambda x: x.reshape(x.shape[0], -1))],
    "permute": [(IMAGE, lambda x: x.permute(0, 2, 3, 1))],
    "transpose": [(IMAGE, lambda x: x.transpose(1, 2))],
    "squeeze": [(IMAGE, lambda x: x.unsqueeze(1).squeeze(1))],
    "unsqueeze": [(IMAGE, lambda x: x.unsqueeze(1))],
    "contiguous": [(IMAGE, lambda x: x.permute(0, 2, 3, 1).contiguous())],
    "clone": [(IMAGE, lambda x: x.clone())],
    "detach": [(IMAGE, lambda x: x.detach())],
    "pad": [
        (IMAGE, lambda x: functional.pad(x, (1, 2, 0, 1))),
        (IMAGE, lambda x: functional.pad(x, (1, 1, 1, 1), mode="circular")),
    ],
    "cat": [(IMAGE, lambda x: torch.cat([x, torch.ones_like(value_of(x)), x], dim=1))],
    "chunk": [(IMAGE, lambda x: x.chunk(2, dim=1)[1])],
    "split": [(IMAGE, lambda x: x.split(1, dim=1)[1])],
    "__getitem__": [(IMAGE, lambda x: x[:, :, 1:, ::2])],
    "max_pool2d": [(IMAGE, lambda x: functional.max_pool2d(x, 3, 2, 1))],
    "dropout": [(IMAGE, lambda x: functional.dropout(x, 0.5, training=False))],
    "dropout2d": [(IMAGE, lambda x: functional.dropout2d(x, 0.5, training=False))],
}


def test_every_rule_is_searched() -> None:
    # The stem takes nothing but whole samples, and has tests of its own.
    assert {*CALLS, "orient"} == {*rounding_rules._RULES, *rounding_rules._SAME_FOR_BOTH}


def used_names(call: Call, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    seen = set()
    apply = rounding_rules.apply_rule

    def note(func: Callable[..., object], *rest: Any) -> object:
        seen.add(func.__name__)
        return apply(func, *rest)

    monkeypatch.setattr(rounding_rules, "apply_rule", note)
    x = torch.ones(shape, dtype=torch.float64)
    with rounding("float32"):
        call(make_spread(x, torch.zeros_like(x)))
    return seen


@pytest.mark.parametrize("name", CALLS)
def test_the_search_reaches_the_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Which of its names torch gives an operator written as a sign differs between versions.
    names = {name, {"__add__": "add", "__radd__": "add", "__iadd__": "add_"}.get(name, name)}
    assert any(names & used_names(call, shape, monkeypatch) for shape, call in CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@torch.no_grad()
def test_inputs_within_their_spread_give_outputs_within_theirs(name: str) -> None:
    """Float32 results of float32 inputs that differ by up to the spread, and float64 results of the same inputs."""
    generator = torch.Generator().manual_seed(len(name))
    for shape, call in CALLS[name]:
        for magnitude in (1e-3, 1.0, 100.0):
            x = torch.randn(shape, generator=generator, dtype=torch.float64) * magnitude
            x.flatten()[::3] *= 1e-4  # near the corners of ReLU and its like
            spread = torch.rand(shape, generator=generator, dtype=torch.float64) * magnitude * 1e-3
            with rounding("float32"):
                result = call(make_spread(x.clone(), spread.clone()))
            allowed = spread_of(result)
            for _ in range(20):
                sign = torch.randint(-1, 2, shape, generator=generator)
                other = (x + sign * spread * (1 - 1e-6)).float()
                # Rounding the input to float32 moves it too; what counts is that it stays within the spread.
                other = torch.where((other.double() - x).abs() <= spread, other, x.float())
                inside = (other.double() - x).abs() <= spread
                other = torch.where(inside, other.double(), x)
                for machine in (call(other.clone()), call(other.float().clone()) if bool(inside.all()) else None):
                    if machine is not None:
                        assert bool(((machine.double() - value_of(result)).abs() <= allowed).all())


def test_a_number_in_the_program_is_rounded_too() -> None:
    """0.1 is another number in float32, and -0.1 + 0.1 leaves nothing but that difference."""
    x = torch.tensor([[-0.1, 0.0]], dtype=torch.float32)
    with rounding("float32"):
        result = make_spread(x.double(), torch.zeros(1, 2, dtype=torch.float64)) + 0.1
    assert bool((((x + 0.1).double() - value_of(result)).abs() <= spread_of(result)).all())


def test_a_mean_counts_all_its_terms() -> None:
    """The first axis may be anything after a permutation: the number of terms is not read off it."""
    x = make_spread(torch.ones(1000, 1, dtype=torch.float64), torch.zeros(1000, 1, dtype=torch.float64))
    with rounding("float32"):
        assert float(spread_of(x.mean(0))) >= 1000 * 2.0**-24


REFUSED: dict[str, Call] = {
    "mul": lambda x: x * 2,
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: functional.log_softmax(x, 1),
    "T": lambda x: functional.relu(x) + functional.relu(x).T.T,
    "data": lambda x: x + x.data,
    "matmul": lambda x: x @ x,
    "view in this form": lambda x: x.view(torch.int64).view(torch.float64),
    "dropout in this form": lambda x: functional.dropout(x, 0.5, training=True),
    "pad in this form": lambda x: functional.pad(x, (1, 1), value=2.0),
    "linear by a tensor that depends on the input": lambda x: functional.linear(x, functional.relu(x)),
    "mean with dtype": lambda x: x + x.mean(1, keepdim=True, dtype=torch.float32),
    "add with alpha": lambda x: torch.add(x, x, alpha=2),
    "leaky_relu with slope 1.5": lambda x: functional.leaky_relu(x, 1.5),
    "hardtanh between -0.1 and 0.1": lambda x: functional.hardtanh(x, -0.1, 0.1),
    "batch_norm in training mode": lambda x: functional.batch_norm(x, None, None, training=True),
    "gelu": lambda x: functional.gelu(x),
    "numpy": lambda x: torch.from_numpy(x.numpy()),
}


class Calls(nn.Module):
    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x)


@pytest.mark.parametrize("name", REFUSED)
def test_operations_without_a_rule_are_named(name: str) -> None:
    with pytest.raises(PactError) as raised:
        run_with_spread(Calls(REFUSED[name]), np.eye(4, dtype=np.float32))
    assert f"no rounding bound is known for the operation {name}" in str(raised.value)
    assert all(operation in raised.value.hint for operation in ("linear", "conv2d", "relu", "max_pool2d"))


def test_names_for_people_are_those_that_can_be_called() -> None:
    listed = rounding_rules.supported_operations()
    assert listed == sorted(listed)
    assert "__add__" not in listed
    assert "relu_" not in listed
