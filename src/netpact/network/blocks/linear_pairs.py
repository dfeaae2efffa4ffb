"""Layers with more kernels than dimensions, and the layer that reads them through linear maps alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from netpact.layers.rewrites.low_rank import can_factor
from netpact.network.blocks.wiring import Wiring
from netpact.network.graph import Node

# Linear, and the same for every channel: they commute with a mixing of channels.
_LINEAR = frozenset({"avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d"}) | {
    "adaptive_avg_pool3d",
    "mean",
    "flatten",
    "view",
    "reshape",
    "squeeze",
    "clone",
    "contiguous",
    "detach",
}


_SAME = 1e-9  # of the numbers that were subtracted, in float64


@dataclass(frozen=True, eq=False)
class Split:
    """W x + b = mixing (K, R) times (kernels x + bias), plus what the reader makes of the rest of b.

    kernels  None: the layer's inputs themselves
    shift    what the reader's outputs gain by b where it is not in the first bias; None where it is, or is 0
    """

    mixing: Tensor
    kernels: Tensor | None
    bias: Tensor
    shift: Tensor | None = None

    @property
    def rank(self) -> int:
        return self.mixing.shape[1]


@dataclass(frozen=True, eq=False)
class Pair:
    """A layer with fewer dimensions than kernels, and the layer that reads it.

    why  this cannot be used; then the reader may be empty
    """

    name: str
    reader: str
    kernels: int
    split: Split
    why: str = ""


def find_pairs(wiring: Wiring, *, tolerance: float) -> list[Pair]:
    """All layers whose kernels span fewer dimensions than there are kernels, in the order they run."""
    runs = [run for run in wiring.recording.runs if can_factor(wiring.parts.get(run.name, nn.Identity()))]
    often = Counter(run.name for run in runs)
    found = []
    for run in runs:
        layer = wiring.parts[run.name]
        assert isinstance(layer, (nn.Linear, nn.Conv2d))
        kernels = len(layer.weight)
        if run.node is None or (split := _split(layer, tolerance, with_bias=False)).rank == kernels:
            continue
        reader, why = _find_reader(wiring, run.node, kernels)
        why = "it runs several times" if often[run.name] > 1 else why
        why = why or _refuse_reader(wiring, run.node, kernels, reader, often)
        if not why and layer.bias is not None and bool(layer.bias.any()):
            shift = _bias_shift(wiring, run.name, reader)
            larger = replace(split, shift=shift) if shift is not None else _split(layer, tolerance, with_bias=True)
            if larger.rank == kernels:
                why = "its bias takes one kernel more, because of the padding behind it"
            else:
                split = larger
        found.append(Pair(run.name, reader, kernels, split, why))
    return found


def _split(layer: nn.Linear | nn.Conv2d, tolerance: float, *, with_bias: bool) -> Split:
    """with_bias: as one more column of the kernels, so that padding behind it does not matter."""
    weight = layer.weight.detach().flatten(1)
    stacked = weight
    if with_bias:
        assert layer.bias is not None
        stacked = torch.cat([weight, layer.bias.detach()[:, None]], dim=1)
    u, s, v = torch.linalg.svd(stacked, full_matrices=False)
    rank, width = max(1, int((s > tolerance * s[0]).sum())) if len(s) else 0, weight.shape[1]
    if not with_bias and rank == width and _is_pointwise(layer):
        return Split(weight, None, weight.new_zeros(rank))
    left = s[:rank, None] * v[:rank]
    return Split(u[:, :rank], left[:, :width], left[:, -1] if with_bias else left.new_zeros(rank))


def _bias_shift(wiring: Wiring, name: str, reader: str) -> Tensor | None:
    """What a layer's bias adds to each output of the reader; None where padding makes that differ from place to place.

    All maps between the two are linear, so that the difference of two runs is this whatever the input.
    """
    layer, outputs = wiring.parts[name], list[Tensor]()
    handle = wiring.parts[reader].register_forward_hook(lambda _, __, output: outputs.append(output.detach()))
    bias = layer.bias
    assert isinstance(bias, nn.Parameter)
    try:
        wiring.run()
        layer.bias = None
        wiring.run()
    finally:
        layer.bias = bias
        handle.remove()
    difference = (outputs[0] - outputs[1]).flatten(2) if outputs[0].dim() > 2 else (outputs[0] - outputs[1])[..., None]
    shift = difference[0, :, 0]
    size = float(outputs[0].abs().max()) + float(bias.abs().max())
    same = torch.allclose(difference, shift[None, :, None].expand_as(difference), rtol=0.0, atol=_SAME * size)
    return shift if same else None


def _is_pointwise(layer: nn.Linear | nn.Conv2d) -> bool:
    if isinstance(layer, nn.Linear):
        return True
    return layer.kernel_size == (1, 1) and layer.stride == (1, 1) and layer.padding in ((0, 0), "valid", "same")


def _find_reader(wiring: Wiring, node: int, kernels: int) -> tuple[str, str]:
    """The weight layer behind linear maps, or why there is none."""
    graph = wiring.graph
    while True:
        if node == graph.output:
            return "", "its kernels are the network's outputs"
        readers = graph.readers(node)
        names = {graph.nodes[reader].module for reader in readers}
        if len(names) == 1 and can_factor(wiring.parts.get(next(iter(names)), nn.Identity())):
            return names.pop(), ""
        if len(readers) > 1:
            return "", "several parts of the network read it"
        found: Node = graph.nodes[readers[0]]
        if found.operation not in _LINEAR or len(found.inputs) > 1:
            return "", f"{found.operation} lies between it and the next layer"
        before = graph.nodes[node].shape
        if found.shape[:1] not in ((kernels,), (math.prod(before),)):
            return "", f"{found.operation}, between it and the next layer, mixes channels"
        node = found.index


def _refuse_reader(wiring: Wiring, node: int, kernels: int, reader: str, often: Counter[str]) -> str:
    if often[reader] > 1:
        return f"{reader}, which reads it, runs several times"
    layer, shape = wiring.parts[reader], wiring.graph.nodes[node].shape
    if isinstance(layer, nn.Linear):
        # Channels come first; a Linear on images reads the last axis, whose entries are no channels.
        [entry] = {source for one in wiring.graph.nodes if one.module == reader for source in one.inputs}
        is_flat = len(wiring.graph.nodes[entry].shape) == 1
        if not is_flat or not shape or layer.in_features % kernels or shape[0] != kernels:
            return f"{reader} does not read its channels one after the other"
    elif shape[:1] != (layer.weight.shape[1],):
        return f"{reader} reads other channels"
    return ""
