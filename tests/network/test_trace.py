"""trace: the layers in order, or every reason why not; the module given is not touched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from network.rounding_nets import Residual
from torch import Tensor, nn

from netpact.datasets import ArraySamples, Data
from netpact.errors import PactError
from netpact.models import OwnModule, build, parse_model
from netpact.network import Layer, trace


def data(*shape: int, classes: int = 3, count: int = 6) -> Data:
    x = np.random.default_rng(0).random((count, *shape)).astype(np.float32)
    samples = ArraySamples(x, np.arange(count) % classes, "drawn", classes)
    return Data("drawn", classes, samples)


def test_layers_in_the_order_in_which_they_run() -> None:
    class Swapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(5, 3)
            self.norm = nn.BatchNorm1d(5)
            self.first = nn.Linear(4, 5, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.norm(self.first(x)))

    network = trace(Swapped(), data(4))
    assert network.layers == (
        Layer(1, "first", "linear", (5, 4), 20),
        Layer(2, "norm", "batch_norm", (5,), 10),
        Layer(3, "last", "linear", (3, 5), 18),
    )
    assert network.parameters == 48
    assert network.is_own_module
    assert network.name == "Swapped"
    assert network.architecture == OwnModule((4,), 3)


def test_a_changed_network_of_ours_is_the_users_own() -> None:
    module = build(parse_model("mlp:5", input_shape=(4,), classes=3))
    module[2] = nn.Tanh()
    assert trace(module, data(4)).is_own_module, "the file would decode to the unchanged network"


def test_skips_and_changes_in_place() -> None:
    names = [layer.name for layer in trace(Residual(), data(2, 6, 6)).layers]
    assert names == ["first", "second", "norm", "head"]


def test_networks_of_ours_keep_their_architecture() -> None:
    architecture = parse_model("conv:4-4", input_shape=(1, 8, 8), classes=3)
    network = trace(build(architecture), data(1, 8, 8))
    assert network.architecture == architecture
    assert network.name == "conv:4-4"
    assert not network.is_own_module
    assert [layer.kind for layer in network.layers][-1] == "linear"


def test_the_module_given_is_left_as_it_was() -> None:
    module = Residual().train()
    calls: list[int] = []
    module.head.register_forward_hook(lambda *_: calls.append(1))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    network = trace(module, data(2, 6, 6))
    assert module.training
    assert not network.module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert all(tensor.dtype == before[name].dtype for name, tensor in network.module.state_dict().items())
    hooks = [(name, len(part._forward_hooks)) for name, part in module.named_modules() if part._forward_hooks]
    assert hooks == [("head", 1)]
    assert not [name for name, part in network.module.named_modules() if part._forward_hooks and name != "head"]
    with torch.no_grad():
        network.module.get_parameter("head.weight").fill_(7.0)
    assert torch.equal(before["head.weight"], module.head.weight)


class With(nn.Module):
    """A linear classifier and something that is in the way."""

    def __init__(self, **parts: object) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


class Then(With):
    def __init__(self, then: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.then = then

    def forward(self, x: Tensor) -> object:  # type: ignore[override]
        return self.then(self.head(x))


def with_nan() -> nn.Module:
    module = With()
    with torch.no_grad():
        module.head.weight[1, 2] = float("nan")
    return module


def run_twice() -> nn.Module:
    middle = nn.Linear(4, 4)
    return nn.Sequential(middle, middle, nn.Linear(4, 3))


ZOO: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "LSTM": (lambda: With(memory=nn.LSTM(4, 4)), r"memory \(LSTM\): holds parameters or buffers, but its kind"),
    "attention": (lambda: With(look=nn.MultiheadAttention(4, 1)), r"look \(MultiheadAttention\): holds parameters"),
    "bare parameter": (
        lambda: With(scale=nn.Parameter(torch.ones(1))),
        r"the module itself \(With\): holds parameters",
    ),
    "embedding": (lambda: With(table=nn.Embedding(4, 4)), r"table \(Embedding\): holds parameters"),
    "layer norm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 3)), r"0 \(LayerNorm\): holds parameters"),
    "half": (lambda: With().half(), r"head \(Linear\): weight is torch.float16, only float32 is supported"),
    "NaN": (with_nan, r"head \(Linear\): weight holds NaN or infinity"),
    "hidden tensor": (lambda: With(table=[torch.ones(3)]), r"table: outside parameters and buffers"),
    "nested hidden tensor": (lambda: With(table={"a": [(torch.ones(3),)]}), r"table: outside parameters and buffers"),
    "hidden array": (lambda: With(numbers=np.ones(3)), r"numbers: outside parameters and buffers"),
    "unused": (lambda: With(spare=nn.Linear(2, 2)), r"spare: has parameters but does not run"),
    "input shape": (lambda: nn.Linear(5, 3), r"does not run on inputs of shape \(4,\)"),
    "classes": (lambda: nn.Linear(4, 7), r"logits of shape \(4, 7\), needed is \(4, 3\)"),
    "softmax": (lambda: Then(lambda x: x.softmax(1)), r"operation softmax: no rule for it"),
    "property": (lambda: Then(lambda x: x + x.data), r"operation data: no rule for it"),
    "tuple": (lambda: Then(lambda x: (x, x)), r"it returns tuple, one tensor of logits is needed"),
    "constant": (lambda: Then(lambda x: torch.zeros(4, 3)), r"it returns Tensor, one tensor of logits"),
    "twice": (run_twice, r"0: runs more than once"),
    "no parameters": (nn.Identity, r"there are no parameters"),
}


@pytest.mark.parametrize("name", ZOO)
def test_unsupported_networks_are_refused_by_name(name: str) -> None:
    make, message = ZOO[name]
    module = make()
    with pytest.raises(PactError, match=message) as raised:
        trace(module, data(4))
    assert raised.value.where == type(module).__name__
    assert "BatchNorm1d, BatchNorm2d, ChannelAffine, Conv2d, Linear" in raised.value.hint


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(PactError) as raised:
        trace(With(memory=nn.LSTM(4, 4), table=nn.Embedding(2, 2), kept=torch.ones(2)), data(4))
    assert all(place in str(raised.value) for place in ("memory (LSTM)", "table (Embedding)", "kept"))
    with pytest.raises(PactError) as raised:
        trace(Then(lambda x: (x.exp() * 2).softmax(1)), data(4))
    assert all(f"operation {name}: no rule" in str(raised.value) for name in ("exp", "mul", "softmax"))


def test_what_is_no_module() -> None:
    with pytest.raises(PactError, match=r"model: trace needs a torch.nn.Module, got dict"):
        trace({}, data(4))  # type: ignore[arg-type]
