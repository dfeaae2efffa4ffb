"""The convolutions of a network in the order they run, and what lies between one and the next."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.network.graph import Graph
from netpact.network.probing import RUN_ERRORS, drop_hooks
from netpact.network.recording import Recording, record
from netpact.network.rounding.pointwise import POINTWISE

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
# What works entry by entry, or channel by channel: it changes neither how many channels there are nor their order.
CHANNELWISE = frozenset({name.strip("_") for name in POINTWISE} | {"batch_norm", "clone", "contiguous", "detach"})
_SPLITS = frozenset({"chunk", "split", "narrow", "getitem"})
_SHUFFLES = frozenset({"channel_shuffle", "transpose", "permute", "swapaxes"})
_VIEWS = frozenset({"view", "reshape", "contiguous", "flatten", "unflatten"})


@dataclass(frozen=True, eq=False)
class Conv:
    """One convolution that runs once.

    entry  the node that it reads; node: the one that it makes
    sites  how many places of the output one filter is applied at
    """

    name: str
    module: Convolution
    entry: int
    node: int
    sites: int

    @property
    def is_pointwise(self) -> bool:
        return all(side == 1 for side in self.module.kernel_size) and self.module.groups == 1

    @property
    def is_spatial(self) -> bool:
        return any(side > 1 for side in self.module.kernel_size)

    @property
    def is_depthwise(self) -> bool:
        return self.module.groups == self.module.in_channels > 1


class Wiring:
    """One run of a module on a few samples, with the questions that a block finder asks."""

    def __init__(self, module: nn.Module, inputs: Tensor) -> None:
        self.module, self.inputs = copy.deepcopy(module).eval(), inputs
        drop_hooks(self.module)
        try:
            with torch.random.fork_rng(devices=[]):
                self.recording: Recording = record(self.module, inputs)
        except RUN_ERRORS as error:
            raise PactError(
                f"it does not run on inputs of shape {tuple(inputs.shape[1:])}: {error}", where=type(module).__name__
            ) from error
        if self.recording.graph is None:
            raise PactError("must return one tensor that is computed from its input", where=type(module).__name__)
        self.graph: Graph = self.recording.graph
        self.parts = dict(self.module.named_modules())

    @torch.no_grad()
    def run(self) -> object:
        """Once more, on the same samples."""
        return self.module(self.inputs.clone())

    @cached_property
    def convolutions(self) -> tuple[Conv, ...]:
        """In the order they run; one that runs several times, or reads several tensors, is none of a block."""
        runs = [run for run in self.recording.runs if type(self.parts.get(run.name)) in _CONVOLUTIONS]
        often = Counter(run.name for run in runs)
        found = []
        for run in runs:
            entries = self._entries(run.name)
            if often[run.name] == 1 and run.node is not None and len(entries) == 1:
                part = self.parts[run.name]
                assert isinstance(part, _CONVOLUTIONS)
                shape = self.graph.nodes[run.node].shape
                found.append(Conv(run.name, part, entries.pop(), run.node, math.prod(shape[1:])))
        return tuple(found)

    def convolution(self, name: str) -> Conv:
        return next(conv for conv in self.convolutions if conv.name == name)

    def follower(self, conv: Conv) -> Conv | None:
        """The convolution that alone reads what this one gives out, with nothing but channelwise maps between."""
        *_, end = self.path(conv.node)
        readers = self.graph.readers(end)
        found = [one for one in self.convolutions if one.entry == end]
        alone = len(found) == 1 and all(self.graph.nodes[node].module == found[0].name for node in readers)
        return found[0] if alone and end != self.graph.output else None

    def path(self, node: int) -> Iterator[int]:
        """The node and those behind it, as long as each has one reader, which is channelwise and reads nothing else."""
        yield node
        while node != self.graph.output and len(readers := self.graph.readers(node)) == 1:
            found = self.graph.nodes[readers[0]]
            if found.operation not in CHANNELWISE or len(found.inputs) > 1:
                return
            node = found.index
            yield node

    def output_behind(self, conv: Conv) -> int:
        """What the next layers read of it: behind channelwise maps, and behind a sum where only that reads them."""
        *_, end = self.path(conv.node)
        readers = self.graph.readers(end)
        if len(readers) == 1 and self.graph.nodes[readers[0]].operation == "add":
            *_, end = self.path(readers[0])
        return end

    def norms(self, conv: Conv) -> tuple[nn.Module, ...]:
        """The batch norms behind a convolution, up to what is no longer channelwise."""
        names = dict.fromkeys(
            self.graph.nodes[node].module
            for node in self.path(conv.node)
            if self.graph.nodes[node].operation == "batch_norm"
        )
        return tuple(self.parts[name] for name in names)

    def has_identity(self, first: Conv, last: Conv) -> bool:
        """Whether what the first one reads, before channelwise maps, is added to what the last one gives out."""
        *_, end = self.path(last.node)
        before = self._channelwise_before(first.entry)
        sums = [self.graph.nodes[node] for node in self.graph.readers(end)]
        return any(one.operation == "add" and before & set(one.inputs) for one in sums)

    def is_split_before(self, conv: Conv) -> bool:
        """Whether it reads some of the channels that another part of the network reads the rest of."""
        return any(self.graph.nodes[node].operation in _SPLITS for node in self._channelwise_before(conv.entry))

    def joined_behind(self, conv: Conv) -> tuple[int, ...]:
        """The tensors whose channels stand beside its own in what reads them."""
        *_, end = self.path(conv.node)
        return tuple(source for node in self._joins(end) for source in self.graph.nodes[node].inputs)

    def is_shuffled_behind(self, conv: Conv) -> bool:
        """Whether its channels are joined with others and then mixed, group by group."""
        *_, end = self.path(conv.node)
        for node in self._joins(end):
            while len(readers := self.graph.readers(node)) == 1:
                [node] = readers
                if self.graph.nodes[node].operation in _SHUFFLES:
                    return True
                if self.graph.nodes[node].operation not in _VIEWS:
                    break
        return False

    def _joins(self, node: int) -> list[int]:
        return [reader for reader in self.graph.readers(node) if self.graph.nodes[reader].operation == "cat"]

    def _entries(self, name: str) -> set[int]:
        own = [node for node in self.graph.nodes if node.module == name and node.inputs]
        made = {node.index for node in own}
        return {source for node in own for source in node.inputs} - made

    def _channelwise_before(self, node: int) -> set[int]:
        found = {node}
        while (one := self.graph.nodes[node]).operation in CHANNELWISE and len(one.inputs) == 1:
            [node] = one.inputs
            found.add(node)
        return found
