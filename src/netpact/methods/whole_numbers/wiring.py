"""Which tensors of a network must share a unit: whatever is added, joined or pooled between two layers with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers import ChannelAffine
from netpact.layers.whole.averages import AVERAGED
from netpact.network.graph import INPUT, Graph, Node
from netpact.network.recording import record

WEIGHTED = (nn.Linear, nn.Conv2d, ChannelAffine)
CLIPPED = (nn.ReLU6, nn.Hardtanh)
POOLED = (nn.AvgPool2d, nn.AdaptiveAvgPool2d)
_PLAIN = {"relu", "max_pool2d", "max_pool1d", "flatten", "reshape", "view", "permute", "transpose", "dropout", "pad"}


@dataclass
class Wire:
    """Tensors of one unit: what layers write, other operations work on, and layers read.

    plain   nothing but relu, max pooling and moves: the readers' own steps may be the unit
    output  the logits are among them
    averaged  some of them are averages, which are whole multiples of a fraction
    """

    writers: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    plain: bool = True
    raw: bool = False
    output: bool = False
    averaged: bool = False


@dataclass(frozen=True)
class Wiring:
    """The wires by number; of every weighted layer the wire that it reads and the one that it writes.

    clips  the wire that a ReLU6 or Hardtanh stands in
    pools  how many entries an average-pooling module averages, where that is no power of two
    order  the weighted layers as they run first
    """

    wires: dict[int, Wire]
    reads: dict[str, int]
    writes: dict[str, int]
    clips: dict[str, int]
    pools: dict[str, int]
    order: tuple[str, ...]


def find_wiring(module: nn.Module, inputs: Tensor) -> Wiring:
    """From one run of a folded module."""
    recording = record(module, inputs)
    graph = recording.graph
    if graph is None:
        raise PactError("what it returns is not computed from its input", where=type(module).__name__)
    parts = dict(module.named_modules())
    weighted = {name for name, part in parts.items() if type(part) in WEIGHTED}
    inside = {node.index for node in graph.nodes if node.index != INPUT and node.module in weighted}
    joined = _Joined(len(graph.nodes))
    for node in graph.nodes:
        if node.index not in inside:
            for source in node.inputs:
                joined.join(node.index, source)
    ends = _ends(graph, inside)
    for name in weighted:  # a layer that runs twice reads one unit and writes one
        for side in (0, 1):
            nodes = ends.get(name, ([], []))[side]
            for one in nodes[1:]:
                joined.join(nodes[0], one)
    return _describe(graph, inside, joined, ends, parts)


def _ends(graph: Graph, inside: set[int]) -> dict[str, tuple[list[int], list[int]]]:
    """Of every weighted layer the nodes from outside that it reads, and those of its own that others read."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for index in sorted(inside):
        node = graph.nodes[index]
        reads, writes = found.setdefault(node.module, ([], []))

        def same(other: int, name: str = node.module, call: int = node.call) -> bool:
            return other in inside and (graph.nodes[other].module, graph.nodes[other].call) == (name, call)

        reads += [source for source in node.inputs if not same(source)]
        if index == graph.output or any(not same(reader) for reader in graph.readers(index)):
            writes.append(index)
    return found


def _describe(
    graph: Graph,
    inside: set[int],
    joined: _Joined,
    ends: dict[str, tuple[list[int], list[int]]],
    parts: dict[str, nn.Module],
) -> Wiring:
    wires: dict[int, Wire] = {}
    reads, writes, clips, pools = (dict[str, int]() for _ in range(4))
    for name, (sources, results) in ends.items():
        if not sources or not results:
            raise PactError("a layer does not stand between the input and the logits", where=name)
        reads[name], writes[name] = joined.of(sources[0]), joined.of(results[0])
        wires.setdefault(reads[name], Wire()).readers.append(name)
        wires.setdefault(writes[name], Wire()).writers.append(name)
    for node in graph.nodes:
        if node.index in inside:
            continue
        wire = wires.setdefault(joined.of(node.index), Wire())
        wire.raw |= node.index == INPUT
        wire.plain &= node.index == INPUT or node.operation in _PLAIN
        pooled = _count_pooled(parts.get(node.module), graph, node)
        if pooled & (pooled - 1):
            pools[node.module] = pooled
        elif node.operation in AVERAGED:
            wire.averaged = True
        if type(parts.get(node.module)) in CLIPPED:
            wire.plain = False
            clips[node.module] = joined.of(node.index)
    wires[joined.of(graph.output)].output = True
    _refuse_added_input(wires)
    return Wiring(wires, reads, writes, clips, pools, tuple(sorted(ends, key=lambda name: min(ends[name][1]))))


def _count_pooled(part: nn.Module | None, graph: Graph, node: Node) -> int:
    """How many entries a module for average pooling averages; 0 for other modules."""
    if type(part) not in POOLED or not node.inputs:
        return 0
    if isinstance(part, nn.AvgPool2d):
        sides = part.kernel_size if isinstance(part.kernel_size, tuple) else (part.kernel_size, part.kernel_size)
        return math.prod(sides)
    before, after = graph.nodes[node.inputs[0]].shape, node.shape
    return math.prod(before[-2:]) // max(1, math.prod(after[-2:]))


def _refuse_added_input(wires: dict[int, Wire]) -> None:
    for wire in wires.values():
        if wire.raw and (wire.writers or wire.output):
            raise PactError(
                "the network's input is added to or joined with what layers make of it",
                where=", ".join(wire.writers),
                hint="put a 1 x 1 convolution around it, or take another arithmetic",
            )


class _Joined:
    """Sets of nodes that grow together."""

    def __init__(self, count: int) -> None:
        self._up = list(range(count))

    def of(self, node: int) -> int:
        while self._up[node] != node:
            self._up[node] = self._up[self._up[node]]
            node = self._up[node]
        return node

    def join(self, one: int, other: int) -> None:
        self._up[max(self.of(one), self.of(other))] = min(self.of(one), self.of(other))
