"""The numerical rank of a block's K output channels, beside the rank R that its layers allow.

From the weights alone, with the activations left out, the channels are the rows of one matrix

    W_last diag(scale) W_before     (K x inputs * kernel), the kernel that the block stands for

and on data the vectors of K numbers at every pixel of every sample, minus their mean: behind the last convolution, with
at most R dimensions, and behind its shortcut and activation, which may make more of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.models import AnyModule, as_module
from netpact.network.blocks.block import Block, Design, Parts, Ranks
from netpact.network.blocks.finding import design_blocks, list_parts
from netpact.network.blocks.inputs import sample_inputs
from netpact.network.blocks.wiring import Conv, Wiring
from netpact.network.recording import record

TOLERANCE = 1e-6  # of the largest singular value, as in collapse
_LEAST = 1e-7  # on data, squares of singular values are computed in float64
_BATCH = 32
RANK_SAMPLES = 256


@torch.no_grad()
def find_ranks(
    model: AnyModule, data: Data | Samples | object = None, *, tolerance: float = TOLERANCE, samples: int = RANK_SAMPLES
) -> Design:
    """The blocks of find_blocks, each with the ranks of its output channels.

    tolerance  singular values up to this share of the largest one count as 0
    samples    how many of the training samples are run, or of a batch of inputs; 0: weights alone. So without data
    """
    check_number(tolerance, where="tolerance", least=_LEAST, below=1)
    check_integer(samples, where="samples", least=0)
    module = copy.deepcopy(as_module(model, where="model")).double().eval()
    wiring = Wiring(module, sample_inputs(module, data).double())
    blocks = design_blocks(wiring)
    batches = _batches(data, samples) if data is not None and samples else iter(())
    spreads = _measure(wiring, blocks, batches)
    found = []
    for block, parts in zip(blocks, list_parts(wiring, blocks), strict=True):
        last, output = (spreads.get(node) for node in _nodes(wiring, block))
        ranks = Ranks(
            tolerance=tolerance,
            weights=count_rank(kernel_values(parts), tolerance),
            data=None if last is None else count_rank(last.values(), tolerance),
            output=None if output is None else count_rank(output.values(), tolerance),
            vectors=0 if last is None else last.count,
        )
        found.append(replace(block, ranks=ranks))
    return Design(tuple(found), sum(parameter.numel() for parameter in module.parameters()))


def count_rank(values: Tensor, tolerance: float) -> int:
    """How many singular values are above this share of the largest one."""
    return int((values > tolerance * values.max()).sum()) if values.numel() else 0


def kernel_values(parts: Parts) -> Tensor:
    """Singular values of the kernel that a block stands for, its output channels against all else."""
    *inner, last = zip(parts.convolutions, parts.norms, strict=True)
    before = _scaled(*inner[0])
    for conv, norms in inner[1:]:
        before = torch.einsum("poq,oit->pitq", _scaled(conv, norms), before).flatten(2)
    # K x R times R x many: of the second factor its triangle is enough.
    triangle = torch.linalg.qr(before.flatten(1).T, mode="r").R
    return torch.linalg.svdvals(_scaled(*last).flatten(1) @ triangle.T)


def _scaled(conv: Conv, norms: Sequence[nn.Module]) -> Tensor:
    """The kernel as (outputs, inputs, taps) without groups, times what the batch norms multiply each output by."""
    weight, groups = conv.module.weight.detach().flatten(2), conv.module.groups
    outputs, inputs, taps = weight.shape
    dense = weight.new_zeros((groups, outputs // groups, groups, inputs, taps))
    for group, own in enumerate(weight.reshape(groups, outputs // groups, inputs, taps)):
        dense[group, :, group] = own
    scale = weight.new_ones(outputs)
    for norm in norms:
        factor, variance = getattr(norm, "weight", None), getattr(norm, "running_var", None)
        if factor is not None:
            scale = scale * factor.detach()
        if variance is not None:
            scale = scale / torch.sqrt(variance + norm.eps)
    return dense.reshape(outputs, groups * inputs, taps) * scale[:, None, None]


@dataclass
class Spread:
    """The sum of outer products of vectors minus their mean, batch by batch (Chan, Golub and LeVeque 1983)."""

    count: int
    mean: Tensor
    products: Tensor

    @staticmethod
    def of(images: Tensor) -> Spread:
        """Of one batch: its channels at every pixel."""
        rows = images.movedim(1, -1).flatten(0, -2)
        mean = rows.mean(dim=0)
        return Spread(len(rows), mean, (rows - mean).T @ (rows - mean))

    def merge(self, other: Spread) -> Spread:
        count, apart = self.count + other.count, other.mean - self.mean
        between = torch.outer(apart, apart) * (self.count * other.count / count)
        mean = self.mean + apart * (other.count / count)
        return Spread(count, mean, self.products + other.products + between)

    def values(self) -> Tensor:
        return torch.linalg.eigvalsh(self.products).clamp(min=0).sqrt()


def _measure(wiring: Wiring, blocks: Sequence[Block], batches: Iterator[Tensor]) -> Mapping[int, Spread]:
    """By node, over all batches."""
    wanted = frozenset(node for block in blocks for node in _nodes(wiring, block))
    spreads: dict[int, Spread] = {}
    for inputs in batches:
        with torch.random.fork_rng(devices=[]):
            recording = record(wiring.module, inputs, keep=wanted)
        if recording.graph is None or len(recording.graph.nodes) != len(wiring.graph.nodes):
            raise PactError("runs otherwise for other samples", where=type(wiring.module).__name__)
        for node, tensor in recording.kept.items():
            own = Spread.of(tensor)
            spreads[node] = spreads[node].merge(own) if node in spreads else own
    return spreads


def _nodes(wiring: Wiring, block: Block) -> tuple[int, int]:
    """What the last convolution gives out, and what the next layers read of it."""
    last = wiring.convolution(block.layers[-1])
    return last.node, wiring.output_behind(last)


def _batches(data: Data | Samples | object, samples: int) -> Iterator[Tensor]:
    if isinstance(data, Tensor):
        yield from data.detach()[:samples].double().split(_BATCH)
        return
    left = samples
    for inputs, _ in as_data(data).train.batches(_BATCH):
        yield torch.from_numpy(inputs)[:left].double()
        left -= len(inputs)
        if left <= 0:
            return
