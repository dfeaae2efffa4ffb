"""trace: the layers in order, or every reason why not; the module given is not touched."""

from __future__ import annotations

import torch
from network.awkward_modules import Shared, Straying, Tied, TwoNames, drawn
from network.rounding_nets import Residual
from torch import Tensor, nn

from netpact.models import OwnModule, build, parse_model
from netpact.network import Layer, trace


def test_layers_in_the_order_in_which_they_run() -> None:
    class Swapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(5, 3)
            self.norm = nn.BatchNorm1d(5)
            self.first = nn.Linear(4, 5, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.norm(self.first(x)))

    network = trace(Swapped(), drawn(4))
    assert network.layers == (
        Layer(1, "first", "linear", (5, 4), 20, call=1, node=1),
        Layer(2, "norm", "batch_norm", (5,), 10, call=1, node=2),
        Layer(3, "last", "linear", (3, 5), 18, call=1, node=3),
    )
    assert network.parameters == 48
    assert network.is_own_module
    assert network.name == "Swapped"
    assert network.architecture == OwnModule((4,), 3)


def test_a_changed_network_of_ours_is_the_users_own() -> None:
    module = build(parse_model("mlp:5", input_shape=(4,), classes=3))
    module[2] = nn.Tanh()
    assert trace(module, drawn(4)).is_own_module, "the file would decode to the unchanged network"


def test_skips_and_changes_in_place() -> None:
    names = [layer.name for layer in trace(Residual(), drawn(2, 6, 6)).layers]
    assert names == ["first", "second", "norm", "head"]


def test_networks_of_ours_keep_their_architecture() -> None:
    architecture = parse_model("conv:4-4", input_shape=(1, 8, 8), classes=3)
    network = trace(build(architecture), drawn(1, 8, 8))
    assert network.architecture == architecture
    assert network.name == "conv:4-4"
    assert not network.is_own_module
    assert [layer.kind for layer in network.layers][-1] == "linear"


def test_the_module_given_is_left_as_it_was() -> None:
    module = Residual().train()
    calls: list[int] = []
    module.head.register_forward_hook(lambda *_: calls.append(1))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    network = trace(module, drawn(2, 6, 6))
    assert module.training
    assert not network.module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert all(tensor.dtype == before[name].dtype for name, tensor in network.module.state_dict().items())
    hooks = [(name, len(part._forward_hooks)) for name, part in module.named_modules() if part._forward_hooks]
    assert hooks == [("head", 1)]
    assert not [name for name, part in network.module.named_modules() if part._forward_hooks]
    with torch.no_grad():
        network.module.get_parameter("head.weight").fill_(7.0)
    assert torch.equal(before["head.weight"], module.head.weight)


def test_every_run_of_a_shared_layer_is_a_layer() -> None:
    network = trace(Shared(), drawn(4))
    assert [(layer.index, layer.name, layer.call) for layer in network.layers] == [
        (1, "first", 1),
        (2, "again", 1),
        (3, "again", 2),
        (4, "again", 3),
        (5, "head", 1),
    ]
    assert [layer.parameters for layer in network.layers] == [25, 30, 30, 30, 18]
    assert network.parameters == 25 + 30 + 18
    assert [network.graph.nodes[layer.node].operation for layer in network.layers] == ["linear"] * 5
    assert len({layer.node for layer in network.layers}) == 5


def test_tied_and_renamed_layers() -> None:
    tied, renamed = trace(Tied(), drawn(4)), trace(TwoNames(), drawn(4))
    assert [(layer.name, layer.call) for layer in tied.layers] == [("first", 1), ("second", 1), ("head", 1)]
    assert tied.parameters == 16 + 4 + 4 + 15
    assert [(layer.name, layer.call) for layer in renamed.layers] == [("early", 1), ("early", 2), ("head", 1)]
    assert renamed.parameters == 20 + 15
    first, second = (tied.module.get_submodule(name) for name in ("first", "second"))
    assert first.weight is second.weight, "the private copy is tied as well"


def test_weights_that_serve_elsewhere_are_shared() -> None:
    def shared(module: nn.Module) -> list[str]:
        network = trace(module, drawn(4))
        return [layer.name for layer in network.layers if network.is_shared(layer.index)]

    assert shared(Shared()) == ["again"] * 3
    assert shared(Tied()) == ["first", "second"]
    assert shared(TwoNames()) == ["early"] * 2
    assert shared(Straying()) == ["wide"]
    assert shared(nn.Linear(4, 3)) == []


def test_parameters_that_go_astray_are_told() -> None:
    assert trace(Straying(), drawn(4)).strays == ("wide.weight",)
    assert trace(Shared(), drawn(4)).strays == ()
    assert trace(Tied(), drawn(4)).strays == ()

    class Asking(Shared):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.reshape(-1, self.first.weight.shape[1]))

    assert trace(Asking(), drawn(4)).strays == (), "its shape may be asked for"
