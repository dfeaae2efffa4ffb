"""A trained module as the theory sees it: its weight layers in the order they run, or what is not supported."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.layers.rewrites import Step
from netpact.models import AnyModule, Architecture, OwnModule, as_module, is_as_built
from netpact.network.adapting import adapt, is_adapted, needs_adapting
from netpact.network.graph import INPUT, Graph
from netpact.network.kinds import KINDS
from netpact.network.probing import PROBE, Probed, drop_hooks, probe
from netpact.network.refusals.obstacles import UnsupportedNetworkError, find_obstacles


@dataclass(frozen=True)
class Layer:
    """One run of a layer with parameters. index counts from 1 in execution order.

    name        of its module; a module that runs several times gives several layers
    parameters  of its module: the rows of a repeated or tied layer list the same numbers again
    call        which run of its module this is, from 1
    node        what it returned, in the network's graph
    """

    index: int
    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int
    call: int = 1
    node: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Network(Displayed):
    """A supported classifier: a private copy of the module in eval mode, its architecture, its layers, its graph.

    In questions about the graph, layer 0 is the network's input and the number of layers + 1 is the logits.

    strays    parameters that are also used outside their layers, as in linear(x, self.fc.weight.T). What is computed
              from them carries a rounding bound like everything else; deviation bounds, by layers, refuse
    rewrites  what fold_batch_norm or remove_filters changed in the module: written into the file
    others    modules with parameters that are no layers here: of a kind that the theory does not know, never run, or
              run on constants. Their parameters are coded like all others; measurements and theorems leave them out
    unruled   operations without a rounding rule: no proven arithmetic, the network can be certified as run
    """

    module: nn.Module
    architecture: Architecture | OwnModule
    layers: tuple[Layer, ...]
    name: str
    graph: Graph
    strays: tuple[str, ...] = ()
    rewrites: tuple[Step, ...] = ()
    others: tuple[str, ...] = ()
    unruled: tuple[str, ...] = ()

    @property
    def parameters(self) -> int:
        """Every tensor once, however many layers it serves."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    def display_facts(self) -> Row:
        return {
            "name": self.name,
            "parameters": self.parameters,
            "layers": len(self.layers),
            "input_shape": str(self.architecture.input_shape),
            "classes": self.architecture.classes,
            "left_out_by_theory": ", ".join(self.others),
            "without_rounding_rule": ", ".join(self.unruled),
        }

    def display_rows(self) -> list[Row]:
        """One row a layer."""
        return [
            {"layer": one.name, "kind": one.kind, "shape": str(one.shape), "parameters": one.parameters}
            for one in self.layers
        ]

    @property
    def is_own_module(self) -> bool:
        return isinstance(self.architecture, OwnModule)

    def check_fits(self, samples: Data | Samples) -> None:
        """Refuse samples of another shape or with other classes than the network was traced with."""
        wanted = (self.architecture.input_shape, self.architecture.classes)
        given = (samples.input_shape, samples.classes)
        if wanted != given:
            raise PactError(
                f"the network takes inputs of shape {wanted[0]} and has {wanted[1]} classes, "
                f"the samples have {given[0]} and {given[1]}",
                where=samples.name,
            )

    def feeders(self, index: int) -> tuple[int, ...]:
        """The layers whose outputs reach this one's input through operations without weights."""
        starts = self.entries(index)
        reached = self.graph.before(starts, self._weighted)
        return tuple(sorted({self._owners[node] for node in reached if node in self._owners}))

    def readers(self, index: int) -> tuple[int, ...]:
        """The layers that this one's output reaches through operations without weights."""
        own = self._node(index)
        starts = [node for node in self.graph.readers(own) if self._owners.get(node) != index]
        reached = self.graph.after(starts, self._weighted)
        found = {self._owners[node] for node in reached if node in self._owners}
        if self.graph.output == own or self.graph.output in reached - self._weighted:
            found.add(len(self.layers) + 1)
        return tuple(sorted(found))

    def is_cut_point(self, index: int) -> bool:
        """Whether everything that the logits know of the input has gone through this layer's output."""
        return self.graph.is_on_every_path(self._node(index))

    def is_shared(self, index: int) -> bool:
        """Whether a layer's weights serve elsewhere too: in another run, in another module, or outside all layers."""
        if not 1 <= index <= len(self.layers):
            raise PactError(f"layers are from 1 to {len(self.layers)}, got {index}", where="layer")
        name = self.layers[index - 1].name
        own = {id(parameter) for parameter in self.module.get_submodule(name).parameters()}
        others = [part for other, part in self.module.named_modules() if other != name]
        lent = [parameter for part in others for parameter in part.parameters(recurse=False)]
        lent += [self.module.get_parameter(stray) for stray in self.strays]
        runs = sum(layer.name == name for layer in self.layers)
        return runs > 1 or any(id(parameter) in own for parameter in lent)

    def between(self, first: int, last: int) -> tuple[str, ...]:
        """The operations on all ways from one layer's output to another's input, in the order of execution."""
        ahead = self.graph.after([self._node(first)]) - {self._node(first)}
        way = ahead & self.graph.before(self.entries(last))
        return tuple(self.graph.nodes[node].operation for node in sorted(way))

    @cached_property
    def _owners(self) -> dict[int, int]:
        """The layer of every node that was made inside one; the input is layer 0's."""
        calls = {(layer.name, layer.call): layer.index for layer in self.layers}
        nodes = ((node.index, calls.get((node.module, node.call))) for node in self.graph.nodes)
        return {INPUT: 0} | {node: layer for node, layer in nodes if layer is not None and node != INPUT}

    @cached_property
    def _weighted(self) -> frozenset[int]:
        return frozenset(self._owners)

    def _node(self, index: int) -> int:
        if not 0 <= index <= len(self.layers):
            raise PactError(f"layers are from 1 to {len(self.layers)}, 0 is the input; got {index}", where="layer")
        return INPUT if index == 0 else self.layers[index - 1].node

    def entries(self, index: int) -> tuple[int, ...]:
        """The nodes from outside that a layer reads."""
        if not 1 <= index <= len(self.layers) + 1:
            count = len(self.layers)
            raise PactError(f"layers are from 1 to {count}, {count + 1} is the logits; got {index}", where="layer")
        if index == len(self.layers) + 1:
            return (self.graph.output,)
        own = [node for node, layer in self._owners.items() if layer == index]
        return tuple({source for node in own for source in self.graph.sources(node)} - set(own))


def trace(model: AnyModule, data: Data | Samples | object, *, output: str | int = "") -> Network:
    """Record the layers and the graph of a module by running a few samples through it. One error lists all problems.

    model  a module, what train returned, or the path of a file of save_weights
    data  what the network classifies: what load_data or as_data returns, or arrays (x, y)
    output  which entry holds the logits, where the module returns a tuple or a dict: written into the file
    """
    model = as_module(model)
    source = as_data(data)
    where = type(model).__name__
    obstacles = find_obstacles(model)
    problems = list(obstacles.problems)
    if not obstacles.can_run:
        raise UnsupportedNetworkError(problems, where=where)
    try:
        module = copy.deepcopy(model).eval()
    except (RuntimeError, TypeError, AttributeError) as error:
        raise UnsupportedNetworkError([*problems, f"it cannot be copied: {error}"], where=where) from error
    inputs, _ = next(iter(source.train.batches(PROBE)))
    output = str(output)
    if needs_adapting(module, torch.from_numpy(inputs), source.layout, output, classes=source.classes):
        adapt(module, source.layout, output, classes=source.classes)
    probed = probe(module, torch.from_numpy(inputs), classes=source.classes)
    problems += probed.problems
    layers, others, further = _layers(module, probed)
    problems += further
    if problems or probed.graph is None:
        raise UnsupportedNetworkError(problems, where=where)
    drop_hooks(module)
    architecture, rewrites = _architecture(module, source, output)
    name = where if isinstance(architecture, OwnModule) else str(architecture)
    return Network(module, architecture, layers, name, probed.graph, probed.strays, rewrites, others, probed.unruled)


def _architecture(module: nn.Module, data: Data, output: str) -> tuple[Architecture | OwnModule, tuple[Step, ...]]:
    """Ours, if the module still is what its architecture builds, or that without the channels that remove_filters took:
    layer by layer the same, but for the weights. And what was changed in it, which the file says."""
    stated, base = (getattr(module, name, None) for name in ("netpact_architecture", "netpact_base"))
    rewrites: tuple[Step, ...] = getattr(module, "netpact_rewrites", ())
    if is_adapted(module):
        return OwnModule(data.input_shape, data.classes, output), rewrites
    if isinstance(stated, Architecture) and is_as_built(module, stated):
        return stated, ()
    if isinstance(base, Architecture) and is_as_built(module, base, rewrites):
        return base, rewrites
    return OwnModule(data.input_shape, data.classes), rewrites


def _layers(module: nn.Module, probed: Probed) -> tuple[tuple[Layer, ...], tuple[str, ...], list[str]]:
    """The runs of layers with parameters, the modules with parameters that are no layers, and what is wrong.

    Nothing is known of a network that did not run. Batch norm without parameters of its own is a layer too: it holds
    its running statistics.
    """
    parts = {name: part for name, part in module.named_modules() if KINDS.find(part) and _has_tensors(part)}
    if not probed.runs:
        return (), (), []
    layers: list[Layer] = []
    on_constants = []
    for run in probed.runs:
        if run.name not in parts:
            continue
        if run.node is None:
            on_constants.append(run.name)
            continue
        part = parts[run.name]
        weight = getattr(part, "weight", None)
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else ()
        count = sum(parameter.numel() for parameter in part.parameters(recurse=False))
        kind = KINDS.of(part).name
        layers.append(Layer(len(layers) + 1, run.name, kind, shape, count, run.call, run.node))
    found = {layer.name for layer in layers}
    problems = [
        f"{name}: runs on something that does not come from the input, and elsewhere on what does"
        for name in dict.fromkeys(on_constants)
        if name in found
    ]
    holders = [name for name, part in module.named_modules() if any(True for _ in part.parameters(recurse=False))]
    others = [_place(name, module) for name in holders if name not in found]
    return tuple(layers), tuple(others), problems


def _place(name: str, module: nn.Module) -> str:
    return f"{name or 'the module itself'} ({type(module.get_submodule(name)).__name__})"


def _has_tensors(part: nn.Module) -> bool:
    return any(True for _ in part.parameters(recurse=False)) or any(True for _ in part.buffers(recurse=False))
