"""A user's own module: supplied by the user, holding nothing the message does not set, named in the certificate."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.methods import Quantize, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.head = nn.Linear(72, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


class Shifted(Small):
    """Keeps a number of its own, which decides what it computes."""

    def __init__(self, shift: float) -> None:
        super().__init__()
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + self.shift)


class Remembers(Small):
    def __init__(self) -> None:
        super().__init__()
        self.memory = {"seen": [torch.ones(3)]}


def hides_in_a_closure() -> nn.Module:
    drawn = float(torch.rand(()))

    class Hides(Small):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x + drawn)

    return Hides()


HIDING: dict[str, Callable[[], nn.Module]] = {
    "torch": lambda: Shifted(float(torch.rand(()))),
    "numpy": lambda: Shifted(float(np.random.rand())),
    "python": lambda: Shifted(random.random()),
    "closure": hides_in_a_closure,
}


@pytest.fixture(scope="module")
def own(digits: Data) -> Pact:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        return seal(compress(trace(Small(), digits), Quantize(bits=4)))


def test_the_module_is_needed(own: Pact, digits: Data) -> None:
    with pytest.raises(PactError, match=r"weights of a user's own module.*model=function"):
        certify(own, digits)
    with pytest.raises(PactError, match=r"weights of a user's own module"):
        verify(certify(own, digits, model=Small), digits)


def test_an_honest_function_is_agreed_conditionally(own: Pact, digits: Data) -> None:
    numpy_state, torch_state = np.random.get_state()[1].tolist(), torch.random.get_rng_state()  # type: ignore[index]
    certified = certify(own, digits, model=Small)
    assert np.random.get_state()[1].tolist() == numpy_state  # type: ignore[index]
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    certificate = certified.certificate
    assert certificate is not None
    assert certificate.prior == "conditional"
    assert certificate.module.endswith(":Small")
    assert verify(certified, digits, model=Small).agreed
    assert str(verify(certified, digits, model=Small)).startswith("agreed: If the module")


def test_an_instance_is_accepted_and_left_alone(own: Pact, digits: Data) -> None:
    instance = Small().train()
    before = {name: tensor.clone() for name, tensor in instance.state_dict().items()}
    certified = certify(own, digits, model=instance)
    assert certified.certificate is not None
    by_function = certify(own, digits, model=Small).certificate
    assert by_function is not None
    assert certified.certificate.errors == by_function.errors
    assert instance.training
    assert all(torch.equal(before[name], tensor) for name, tensor in instance.state_dict().items())
    assert verify(certified, digits, model=Small()).agreed


@pytest.mark.parametrize("name", HIDING)
def test_state_outside_the_message_is_refused(own: Pact, digits: Data, name: str) -> None:
    with pytest.raises(
        PactError, match=r"two copies of the module.*compute different things: it keeps state elsewhere"
    ):
        certify(own, digits, model=HIDING[name])
    with pytest.raises(PactError, match="compute different things"):
        verify(certify(own, digits, model=Small), digits, model=HIDING[name])


def test_hidden_tensors_are_refused(own: Pact, digits: Data) -> None:
    for model in (Remembers, Remembers()):
        with pytest.raises(PactError, match=r"Remembers: tensors outside parameters and buffers: memory"):
            certify(own, digits, model=model)


def test_what_is_no_module(own: Pact, digits: Data) -> None:
    nothing: Callable[[], nn.Module] = lambda: None  # type: ignore[assignment, return-value]  # noqa: E731
    with pytest.raises(PactError, match=r"must return a torch.nn.Module, got NoneType"):
        certify(own, digits, model=nothing)


def test_another_module_does_not_pass_for_the_one_in_the_file(own: Pact, digits: Data) -> None:
    with pytest.raises(PactError):
        certify(own, digits, model=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)))
