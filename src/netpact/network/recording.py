"""Writing down the graph of a network while it runs: no symbols, no second reading of its code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netpact.network.graph import INPUT, Graph, Node
from netpact.network.nested import tensors_in

# What Python calls its operators, where it is not what torch calls them once the underscores are gone.
_OPERATORS = {"iadd": "add", "radd": "add", "isub": "sub", "rsub": "sub", "imul": "mul", "rmul": "mul"} | {
    "truediv": "div",
    "itruediv": "div",
    "rtruediv": "div",
}
# What makes plain numbers of a tensor: the program may decide by them what it does next.
_EXITS = {"item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__index__", "__contains__"}


@dataclass(frozen=True)
class Run:
    """One call of a module: its name, which call of it this is, from 1, and the node it returned.

    node  None where what it returned is no tensor, or does not depend on the network's input
    """

    name: str
    call: int
    node: int | None


@dataclass(frozen=True, eq=False)
class Recording:
    """One run of a network on a few samples.

    output  what it returned
    graph   None where that is no tensor made from the input
    runs    every call of every module, in the order in which they ended
    strays  parameters used by another module than the one that owns them
    exits   operations by which numbers that depend on the input left the tensors
    kept    by node: the tensors that were asked for, as they were made
    """

    output: object
    graph: Graph | None
    runs: tuple[Run, ...]
    strays: tuple[str, ...]
    exits: tuple[str, ...]
    kept: Mapping[int, Tensor]


@torch.no_grad()
def record(module: nn.Module, inputs: Tensor, keep: frozenset[int] = frozenset()) -> Recording:
    """Run the module once and write down what happens. The module gets its hooks back as they were.

    keep  nodes whose tensors are wanted; of a network that runs alike for all samples they have the same numbers
    """
    given = inputs.clone()
    recorder = _Recorder(module, given, keep)
    with recorder.following(module), recorder:
        output = module(given)
    node = recorder.node_of(output)
    graph = None if node is None else Graph(tuple(recorder.nodes), node)
    strays, exits = (tuple(dict.fromkeys(names)) for names in (recorder.strays, recorder.exits))
    return Recording(output, graph, tuple(recorder.runs), strays, exits, MappingProxyType(recorder.kept))


class _Recorder(TorchFunctionMode):
    """Sees every torch function while it is entered. Within its own methods torch works as usual."""

    def __init__(self, module: nn.Module, inputs: Tensor, keep: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.kept: dict[int, Tensor] = {}
        self._keep = keep
        self.nodes = [Node(INPUT, "input", "", 1, (), tuple(inputs.shape[1:]))]
        self.runs: list[Run] = []
        self.strays: list[str] = []
        self.exits: list[str] = []
        self._stack: list[tuple[str, int]] = []
        self._homes = _owners_of_parameters(module)
        # Tensors are told apart by their id: every one that is known is kept alive, so that no id is used twice.
        self._known: dict[int, tuple[Tensor, int]] = {}
        self._sharing: dict[int, list[int]] = {}
        self._written: dict[int, int] = {}
        self._know(inputs, INPUT)

    @contextmanager
    def following(self, module: nn.Module) -> Iterator[None]:
        """Within this block, know which call of which module is running."""
        calls: Counter[str] = Counter()

        def enter(name: str) -> None:
            calls[name] += 1
            self._stack.append((name, calls[name]))

        def leave(output: object) -> None:
            # Looking at the tensor here would be an operation of its own; its id is not.
            name, call = self._stack.pop()
            self.runs.append(Run(name, call, self._known.get(id(output), (None, None))[1]))

        handles = []
        for name, part in module.named_modules():
            handles.append(part.register_forward_pre_hook(lambda _, __, name=name: enter(name), prepend=True))
            handles.append(part.register_forward_hook(lambda _, __, output: leave(output)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def node_of(self, value: object) -> int | None:
        """The node that a tensor comes from; a view made before its storage was written comes from the writing."""
        if not isinstance(value, Tensor):
            return None
        if id(value) in self._known:
            return self._known[id(value)][1]
        return self._written.get(_storage(value))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = list(tensors_in((args, kwargs or {})))
        versions = [tensor._version for tensor in given]
        found = [self.node_of(tensor) for tensor in given]
        result = func(*args, **(kwargs or {}))
        made = list(tensors_in(result))
        changed = [tensor for tensor, version in zip(given, versions, strict=True) if tensor._version != version]
        if made or changed:
            self._note_strays(given)
        if sources := tuple(sorted({node for node in found if node is not None})):
            self._note(_name(func), sources, made, changed)
            self.exits += [_name(func)] if getattr(func, "__name__", "") in _EXITS else []
        return result

    def _note(self, operation: str, sources: tuple[int, ...], made: list[Tensor], changed: list[Tensor]) -> None:
        """A new node for every tensor that was made, and for every one that was changed where it lies.

        An operation that hands back its own argument as it was, as dropout in eval mode does, makes no node.
        """
        for tensor in changed:
            node = self._add(operation, sources, tensor)
            pointer = _storage(tensor)
            self._written[pointer] = node
            self._know(tensor, node)
            for key in self._sharing.get(pointer, []):
                self._known[key] = (self._known[key][0], node)
        for tensor in made:
            if id(tensor) not in self._known:
                self._know(tensor, self._add(operation, sources, tensor))

    def _add(self, operation: str, sources: tuple[int, ...], tensor: Tensor) -> int:
        module, call = self._stack[-1] if self._stack else ("", 1)
        node = Node(len(self.nodes), operation, module, call, sources, tuple(tensor.shape[1:]))
        self.nodes.append(node)
        if node.index in self._keep:
            self.kept[node.index] = tensor.clone()  # what comes next may work in place
        return node.index

    def _know(self, tensor: Tensor, node: int) -> None:
        self._known[id(tensor)] = (tensor, node)
        self._sharing.setdefault(_storage(tensor), []).append(id(tensor))

    def _note_strays(self, given: list[Tensor]) -> None:
        running = self._stack[-1][0] if self._stack else ""
        for tensor in given:
            name, homes = self._homes.get(id(tensor), ("", ()))
            if name and running not in homes:
                self.strays.append(name)


def _owners_of_parameters(module: nn.Module) -> dict[int, tuple[str, tuple[str, ...]]]:
    """For each parameter, by id: its name, and the names of all modules that hold it."""
    homes: dict[int, tuple[str, tuple[str, ...]]] = {}
    for owner, part in module.named_modules():
        for key, parameter in part.named_parameters(recurse=False):
            name, before = homes.get(id(parameter), (f"{owner}.{key}".lstrip("."), ()))
            homes[id(parameter)] = (name, (*before, owner))
    return homes


def _name(func: Callable[..., Any]) -> str:
    """add for x + y, x += y and torch.add alike; T for x.T."""
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        name = str(getattr(getattr(func, "__self__", None), "__name__", name))
    bare = name.strip("_")
    return _OPERATORS.get(bare, bare)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
