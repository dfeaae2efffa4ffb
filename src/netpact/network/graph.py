"""How data flows through a network: one node for every tensor that an operation made from the network's input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from netpact.core.errors import PactError

INPUT = 0  # the index of the node that stands for the network's input


@dataclass(frozen=True)
class Node:
    """One tensor.

    index      its place in Graph.nodes, in the order of execution
    operation  the torch function that made it: conv2d, relu, add, cat; "input" for the network's input
    module     the qualified name of the innermost module that this happened in; "" is the network itself
    call       how often that module had been called by then, from 1
    inputs     the nodes that it was made from; parameters and constants are none
    shape      without the axis of the samples
    """

    index: int
    operation: str
    module: str
    call: int
    inputs: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """The nodes in the order of execution, and which of them is the network's output."""

    nodes: tuple[Node, ...]
    output: int

    def __post_init__(self) -> None:
        for place, node in enumerate(self.nodes):
            if node.index != place or any(not 0 <= source < place for source in node.inputs):
                raise PactError(f"{node} is not made from nodes before it", where=f"graph, node {place}")
        if not 0 <= self.output < len(self.nodes):
            raise PactError(f"there are {len(self.nodes)} nodes, none is number {self.output}", where="graph, output")

    def sources(self, index: int) -> tuple[int, ...]:
        return self.nodes[self._check(index)].inputs

    def readers(self, index: int) -> tuple[int, ...]:
        """The nodes that are made from this one."""
        return self._readers[self._check(index)]

    def before(self, starts: Iterable[int], stops: frozenset[int] = frozenset()) -> frozenset[int]:
        """The nodes given and all that they come from; what is in `stops` is reached but not passed."""
        return _reach(starts, self.sources, stops)

    def after(self, starts: Iterable[int], stops: frozenset[int] = frozenset()) -> frozenset[int]:
        """The nodes given and all that come from them; what is in `stops` is reached but not passed."""
        return _reach(starts, self.readers, stops)

    def is_on_every_path(self, index: int) -> bool:
        """Whether everything that goes from the input to the output goes through this node."""
        if self._check(index) in (INPUT, self.output):
            return True
        return self.output not in self.after([INPUT], frozenset([index]))

    @cached_property
    def _readers(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.nodes]
        for node in self.nodes:
            for source in node.inputs:
                found[source].append(node.index)
        return tuple(map(tuple, found))

    def _check(self, index: int) -> int:
        if not 0 <= index < len(self.nodes):
            raise PactError(f"must be a node from 0 to {len(self.nodes) - 1}, got {index}", where="graph")
        return index


def _reach(starts: Iterable[int], step: Callable[[int], tuple[int, ...]], stops: frozenset[int]) -> frozenset[int]:
    waiting, seen = list(starts), set[int]()
    while waiting:
        index = waiting.pop()
        if index not in seen:
            seen.add(index)
            if index not in stops:
                waiting.extend(step(index))
    return frozenset(seen)
