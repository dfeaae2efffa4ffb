"""The recorded graph: what came from what, and the questions that are asked of it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network.awkward_modules import Shared, With, drawn
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.models import build, parse_model
from netpact.network import Graph, Network, Node, trace
from netpact.network.recording import record


class Function(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def operations(function: Callable[[Tensor], Tensor]) -> list[tuple[str, tuple[int, ...]]]:
    """The nodes behind the input, of a function of a batch of 2 x 4 numbers."""
    graph = record(Function(function), torch.rand(2, 4)).graph
    assert graph is not None
    assert graph.output == len(graph.nodes) - 1
    return [(node.operation, node.inputs) for node in graph.nodes[1:]]


def test_operations_have_one_name_however_they_are_written() -> None:
    assert operations(lambda x: x + x) == [("add", (0,))]
    assert operations(lambda x: 1 + x) == [("add", (0,))]
    assert operations(lambda x: torch.add(x, 1)) == [("add", (0,))]
    assert operations(lambda x: (x - 1) / 2) == [("sub", (0,)), ("div", (1,))]
    assert operations(torch.relu) == operations(functional.relu) == operations(nn.ReLU()) == [("relu", (0,))]
    assert operations(lambda x: x.T) == [("T", (0,))]
    assert operations(lambda x: torch.cat([x, x * 2])) == [("mul", (0,)), ("cat", (0, 1))]


def test_constants_parameters_and_questions_of_shape_are_no_nodes() -> None:
    weight = torch.rand(3, 4)
    assert operations(lambda x: functional.linear(x, weight.abs()) + torch.zeros(len(x), 3)) == [
        ("linear", (0,)),
        ("add", (1,)),
    ]
    assert operations(lambda x: x.view(x.shape[0], x.size(1) * x.dim() // 2)) == [("view", (0,))]
    # What hands its argument back as it was leaves no trace either.
    assert operations(lambda x: functional.dropout(x, training=False) + 1) == [("add", (0,))]


def test_changes_in_place_come_before_later_readers() -> None:
    def activate(x: Tensor) -> Tensor:
        y = x * 2
        functional.relu(y, inplace=True)
        return y + 1

    assert operations(activate) == [("mul", (0,)), ("relu", (1,)), ("add", (2,))]

    def accumulate(x: Tensor) -> Tensor:
        y = x * 2
        y += x
        return y.tanh()

    assert operations(accumulate) == [("mul", (0,)), ("add", (0, 1)), ("tanh", (2,))]

    def change_itself(x: Tensor) -> Tensor:
        x.relu_()
        return x.tanh()

    assert operations(change_itself) == [("relu", (0,)), ("tanh", (1,))]


def test_changes_in_place_are_seen_through_every_view() -> None:
    def through_a_view(x: Tensor) -> Tensor:
        y = x * 2
        y[:, 0].sigmoid_()
        return y.tanh()

    assert operations(through_a_view) == [
        ("mul", (0,)),
        ("getitem", (1,)),
        ("sigmoid", (2,)),
        ("tanh", (3,)),
    ]

    def into_a_constant(x: Tensor) -> Tensor:
        y = torch.zeros(2, 4)
        row = y[0]
        y[:, 1] = x[:, 2]
        return row.tanh()

    assert operations(into_a_constant) == [("getitem", (0,)), ("setitem", (1,)), ("tanh", (2,))]

    def into_out(x: Tensor) -> Tensor:
        y = torch.zeros(2, 4)
        torch.add(x, 1, out=y)
        return y.tanh()

    assert operations(into_out) == [("add", (0,)), ("tanh", (1,))]

    def older_view(x: Tensor) -> Tensor:
        y = x * 2
        view = y.view(4, 2)
        y.tanh_()
        return view + 1

    assert operations(older_view) == [("mul", (0,)), ("view", (1,)), ("tanh", (1,)), ("add", (3,))]


def test_several_results_are_several_nodes() -> None:
    assert operations(lambda x: x.chunk(2, dim=1)[1] + 1) == [("chunk", (0,)), ("chunk", (0,)), ("add", (2,))]
    assert [name for name, _ in operations(lambda x: x.max(1).values.exp())] == ["max", "max", "exp"]


def test_nodes_know_their_module_its_call_and_their_shape() -> None:
    network = trace(Shared(), drawn(4))
    seen = [(node.operation, node.module, node.call, node.inputs, node.shape) for node in network.graph.nodes]
    assert seen == [
        ("input", "", 1, (), (4,)),
        ("linear", "first", 1, (0,), (5,)),
        ("relu", "", 1, (1,), (5,)),
        ("linear", "again", 1, (2,), (5,)),
        ("tanh", "", 1, (3,), (5,)),
        ("linear", "again", 2, (4,), (5,)),
        ("relu", "", 1, (5,), (5,)),
        ("add", "", 1, (4, 6), (5,)),
        ("linear", "again", 3, (7,), (5,)),
        ("relu", "", 1, (8,), (5,)),
        ("linear", "head", 1, (9,), (3,)),
    ]
    assert [layer.node for layer in network.layers] == [1, 3, 5, 8, 10]


def test_questions_about_a_skip() -> None:
    """first -> again 1 -> (+ again 2) -> again 3 -> head"""
    network = trace(Shared(), drawn(4))
    assert [network.feeders(index) for index in range(1, 7)] == [(0,), (1,), (2,), (2, 3), (4,), (5,)]
    assert [network.readers(index) for index in range(6)] == [(1,), (2,), (3, 4), (4,), (5,), (6,)]
    assert [network.is_cut_point(index) for index in range(6)] == [True, True, True, False, True, True]
    assert network.between(0, 1) == ()
    assert network.between(1, 2) == ("relu",)
    assert network.between(2, 4) == ("tanh", "linear", "relu", "add")
    assert network.between(3, 4) == ("relu", "add")
    assert network.between(5, 6) == ()
    assert network.between(4, 2) == (), "nothing flows back"


def test_padding_belongs_to_its_layer_and_the_input_may_go_past() -> None:
    class Past(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular")
            self.head = nn.Linear(72, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head((x + self.conv(x)).flatten(1))

    network = trace(Past(), drawn(2, 6, 6))
    assert [node.operation for node in network.graph.nodes] == ["input", "pad", "conv2d", "add", "flatten", "linear"]
    assert network.layers[0].node == 2
    assert network.feeders(1) == (0,)
    assert network.feeders(2) == (0, 1)
    assert network.readers(0) == (1, 2)
    assert not network.is_cut_point(1)
    assert network.entries(1) == (0,)


@pytest.mark.parametrize("model", ["vgg:11-4-1", "resnet:8-4-1", "densenet:10-4-1"])
def test_only_what_has_a_way_around_is_no_cut_point(model: str) -> None:
    network = trace(build(parse_model(model, input_shape=(1, 8, 8), classes=3)), drawn(1, 8, 8))
    passed = [layer.name for layer in network.layers if not network.is_cut_point(layer.index)]
    assert passed == [layer.name for layer in network.layers if ".body." in layer.name]
    assert bool(passed) == (model != "vgg:11-4-1")


def test_a_branch_that_leads_nowhere_is_no_way_around() -> None:
    def forward(module: With, x: Tensor) -> Tensor:
        hidden: Tensor = module.get_submodule("a")(x)
        _ = x + hidden
        return module.head(hidden)

    network = trace(With(forward, a=nn.Linear(4, 4)), drawn(4))
    assert network.is_cut_point(1)
    assert network.readers(1) == (2,)


def ways(graph: Graph, start: int, end: int) -> list[frozenset[int]]:
    if start == end:
        return [frozenset([end])]
    return [way | {start} for reader in graph.readers(start) for way in ways(graph, reader, end)]


@given(st.randoms(use_true_random=False), st.integers(2, 9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_cut_points_are_on_every_way(source: random.Random, count: int) -> None:
    nodes = [Node(0, "input", "", 1, (), ())]
    for index in range(1, count):
        inputs = sorted(source.sample(range(index), source.randint(1, min(2, index))))
        nodes.append(Node(index, "add", "", 1, tuple(inputs), ()))
    graph = Graph(tuple(nodes), count - 1)
    every = ways(graph, 0, graph.output)
    for index in range(count):
        assert graph.is_on_every_path(index) == all(index in way for way in every)
        assert graph.after([index]) == {node for node in range(count) if ways(graph, index, node)}
        assert graph.before([index]) == {node for node in range(count) if ways(graph, node, index)}


def test_nonsense_is_refused() -> None:
    node = Node(0, "input", "", 1, (), ())
    with pytest.raises(PactError, match="graph, output: there are 1 nodes, none is number 1"):
        Graph((node,), 1)
    with pytest.raises(PactError, match=r"graph, node 1: .*not made from nodes before it"):
        Graph((node, Node(1, "add", "", 1, (1,), ())), 1)
    with pytest.raises(PactError, match="graph: must be a node from 0 to 0, got 7"):
        Graph((node,), 0).readers(7)
    network: Network = trace(With(), drawn(4))
    for ask, index in ((network.readers, 2), (network.is_cut_point, -1), (network.feeders, 0), (network.entries, 3)):
        with pytest.raises(PactError, match=f"layer: layers are from 1 to 1, .*got {index}"):
            ask(index)


def test_the_module_gets_its_hooks_back() -> None:
    module = With()
    record(module, torch.rand(2, 4))
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
