"""Modules of every kind: their parameters are coded, and what the theory does not know is named, not refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from network.awkward_modules import With, drawn
from torch import Tensor, nn

from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.measurements import measure
from netpact.methods import MagnitudePrune, Quantize, compress
from netpact.network import trace
from netpact.pacts.certification import certify


class Doubling(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class Norm(nn.Module):
    """Statistics of the inputs as buffers, and where they are as integers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.1, 0.7, -0.3, 0.25]))
        self.register_buffer("order", torch.tensor([3, 1, 0, 2]))
        self.order_again = nn.Parameter(torch.tensor([2, 0, 1, 3], dtype=torch.int32), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        assert isinstance(self.mean, Tensor)
        assert isinstance(self.order, Tensor)
        return (x - self.mean)[:, self.order][:, self.order_again.long()]


def look(module: With, x: Tensor) -> Tensor:
    rows = x[:, None]
    found: Tensor = module.head(module.get_submodule("look")(rows, rows, rows)[0][:, 0])
    return found


def embed(module: With, x: Tensor) -> Tensor:
    places = torch.arange(4)
    found: Tensor = module.head(x + module.get_submodule("table")(places)[:, 0])
    return found


OTHERS: dict[str, tuple[Callable[[], nn.Module], tuple[str, ...]]] = {
    "layer norm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 3)), ("0 (LayerNorm)",)),
    "LSTM": (
        lambda: With(lambda s, x: s.head(s.memory(x[:, None])[0][:, 0]), memory=nn.LSTM(4, 4, batch_first=True)),
        ("memory (LSTM)",),
    ),
    "attention": (
        lambda: With(look, look=nn.MultiheadAttention(4, 1, batch_first=True)),
        ("look (MultiheadAttention)", "look.out_proj (NonDynamicallyQuantizableLinear)"),
    ),
    "bare parameter": (
        lambda: With(lambda s, x: s.head(x * s.scale), scale=nn.Parameter(torch.tensor(1.5))),
        ("the module itself (With)",),
    ),
    "embedding": (lambda: With(embed, table=nn.Embedding(4, 4)), ("table (Embedding)",)),
    "subclass": (lambda: nn.Sequential(Doubling(4, 3)), ("0 (Doubling)",)),
    "never run": (lambda: With(spare=nn.Linear(2, 2)), ("spare (Linear)",)),
    "on constants": (
        lambda: With(lambda s, x: s.head(x) + s.side(torch.ones(1, 2).to(x.dtype)), side=nn.Linear(2, 3)),
        ("side (Linear)",),
    ),
    "statistics": (lambda: nn.Sequential(Norm(), nn.Linear(4, 3)), ("0 (Norm)",)),
}


@pytest.fixture(params=OTHERS)
def made(request: pytest.FixtureRequest) -> tuple[Callable[[], nn.Module], tuple[str, ...]]:
    return OTHERS[request.param]


def test_parameters_of_every_module_are_coded(made: tuple[Callable[[], nn.Module], tuple[str, ...]]) -> None:
    make, others = made
    torch.manual_seed(0)
    module, data = make(), drawn(4)
    network = trace(module, data)
    assert network.others == others
    for method in (Quantize(bits=12), MagnitudePrune(keep=0.9)):
        compressed = compress(network, method)
        named = [*module.named_parameters(), *module.named_buffers()]
        assert list(compressed.tensors) == [name for name, _ in named], "each tensor, and each once"
        pact = Pact.from_bytes(seal(compressed).to_bytes())
        torch.manual_seed(1)
        opened = pact.to_module(make())
        for (name, tensor), coded in zip(named, compressed.tensors.values(), strict=True):
            found = dict([*opened.named_parameters(), *opened.named_buffers()])[name]
            torch.testing.assert_close(found.double(), torch.from_numpy(coded.weights()))
            if name in dict(module.named_buffers()) or not tensor.is_floating_point():
                assert torch.equal(found, tensor), "buffers and integers are exact"


def test_what_can_be_measured_is(made: tuple[Callable[[], nn.Module], tuple[str, ...]]) -> None:
    make, others = made
    network = trace(make(), drawn(4))
    if not network.layers:
        with pytest.raises(PactError, match="no weight layers to measure"):
            measure(network, drawn(4))
        return
    found = measure(network, drawn(4))
    assert found.layers
    (words,) = (words for words in found.warnings if words.startswith("left out"))
    assert all(name in words for name in others)


def test_operations_without_a_rule_are_named_when_they_are_needed() -> None:
    make = OTHERS["LSTM"][0]
    data = drawn(4)
    network = trace(make(), data)
    assert network.unruled == ("lstm",)
    with pytest.raises(PactError, match="no rounding bound is known for the operation lstm") as raised:
        certify(seal(compress(network, Quantize(bits=8))), data, model=make)
    assert "as-run" in raised.value.hint


class Tied(nn.Module):
    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = self.first if again else nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(torch.relu(self.second(torch.relu(self.first(x)))))
        return found


@pytest.mark.parametrize("again", [False, True])
def test_tied_weights_are_measured(again: bool) -> None:
    """Both layers change together: the noise of one is not drawn again for the other."""
    torch.manual_seed(0)
    found = measure(Tied(again=again), drawn(4))
    assert [layer.name for layer in found.layers] == ["first", "first" if again else "second", "head"]
    assert all(layer["interlayer_smoothness"].value > 0 for layer in found.layers[:2])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**62) - 1])
def test_integers_beyond_float64_are_refused(value: int) -> None:
    class Large(With):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("big", torch.tensor([value]))

    def make() -> Any:
        return Large()

    with pytest.raises(PactError, match="big"):
        seal(compress(trace(make(), drawn(4)), Quantize(bits=4))).to_module(make())
