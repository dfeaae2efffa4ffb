"""A block of convolutions as a Tucker or CP form of one, and the two numbers that say if it is redundant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from netpact.core.display import Displayed
from netpact.network.blocks.wiring import Conv
from netpact.network.naming import shorten_middle

# What each kind is, in the words of the paper: (T1), (T2), (C1), (C2), and Figures 8 and 9.
KINDS = {
    "bottleneck": "1x1, k x k, 1x1 to more channels than the rank: Tucker form",
    "funnel": "1x1, k x k, and no more channels than the rank: Tucker form",
    "depthwise-separable": "depthwise, 1x1: CP form",
    "inverted-residual": "1x1 to at least as many channels, depthwise, 1x1: CP form",
    "depthwise-bottleneck": "1x1 to fewer channels, depthwise, 1x1: CP form",
    "resnext": "1x1, k x k in groups, 1x1: a sum of Tucker forms",
    "shufflenet-v2": "1x1, depthwise, 1x1 on one half of the channels, which are then shuffled: CP form",
}


@dataclass(frozen=True, eq=False)
class Parts:
    """A block's convolutions, the batch norms behind each, and whether its input is added to its output."""

    convolutions: tuple[Conv, ...]
    norms: tuple[tuple[nn.Module, ...], ...]
    identity: bool


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Numerical ranks of a block's output channels; singular values up to tolerance times the largest count as 0.

    weights  of the kernel that the block stands for, activations left out
    data     of the last convolution's outputs, minus their mean; output: behind shortcut and activation, as the next
             layers read it. None where no samples were run
    vectors  at how many pixels of all samples; a rank is at most one less
    """

    tolerance: float
    weights: int
    data: int | None = None
    output: int | None = None
    vectors: int = 0

    def to_json(self) -> dict[str, object]:
        told = {"weight_rank": self.weights, "data_rank": self.data, "output_rank": self.output}
        return {**told, "rank_tolerance": self.tolerance, "rank_vectors": self.vectors}


@dataclass(frozen=True, repr=False)
class Block(Displayed):
    """K output channels from a rank of R: more of them than that are linear combinations of R.

    name        of the module that holds it, or its first and last layer
    kind        see KINDS
    K, R        output channels, and the rank of the stacked kernel along them
    parameters  of its convolutions and the batch norms behind them; flops: of one sample, a multiply-add is two
    parameters_at_ratio_1, flops_at_ratio_1  with K = R; where the input is added to the output, it has R channels too
    ranks       of the output channels, where they were asked for: find_ranks
    """

    name: str
    kind: str
    layers: tuple[str, ...]
    inputs: int
    K: int
    R: int
    identity: bool
    parameters: int
    flops: int
    parameters_at_ratio_1: int
    flops_at_ratio_1: int
    ranks: Ranks | None = None

    @property
    def ratio(self) -> float:
        return self.K / self.R

    @property
    def redundant(self) -> bool:
        """Corollary 1: with linear activations, a block with R output channels can represent the same functions."""
        return self.K > self.R

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "kind": self.kind,
            "K": self.K,
            "R": self.R,
            "ratio": self.ratio,
            "parameters": self.parameters,
            "flops": self.flops,
            "redundant": self.redundant,
            "parameters_at_ratio_1": self.parameters_at_ratio_1,
            "flops_at_ratio_1": self.flops_at_ratio_1,
            "layers": list(self.layers),
            "inputs": self.inputs,
            "identity": self.identity,
            **({} if self.ranks is None else self.ranks.to_json()),
        }

    def display_facts(self) -> dict[str, object]:
        return {key: value for key, value in self.to_json().items() if key != "layers"}


@dataclass(frozen=True, repr=False)
class Design(Displayed):
    """The blocks of a network in the order they run; parameters: of the whole network."""

    blocks: tuple[Block, ...]
    parameters: int

    @property
    def redundant(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.redundant)

    def display_facts(self) -> dict[str, object]:
        return {"blocks": len(self.blocks), "redundant": len(self.redundant), "parameters": self.parameters}

    def display_rows(self) -> list[dict[str, object]]:
        return [block.display_facts() for block in self.blocks]

    def to_json(self) -> list[dict[str, object]]:
        return [block.to_json() for block in self.blocks]

    def display_text(self) -> str:
        if not self.blocks:
            return "no block of a known kind was found"
        heads = ("block", "kind", "K", "R", "K/R", "parameters", "at K = R")
        rows = [
            (
                shorten_middle(block.name, room=24),
                block.kind,
                str(block.K),
                str(block.R),
                f"{block.ratio:.3g}{' *' if block.redundant else '  '}",
                f"{block.parameters:,}",
                f"{block.parameters_at_ratio_1:,}" if block.redundant else "",
            )
            for block in self.blocks
        ]
        return "\n".join([*_lay_out(heads, rows), "", self.sentence, *self._rank_lines()])

    def _rank_lines(self) -> list[str]:
        """A second table, where ranks were asked for."""
        known = [(block, block.ranks) for block in self.blocks if block.ranks is not None]
        if not known:
            return []
        heads = ("rank of the output channels", "K", "R", "weights", "on data", "behind activation")
        rows = [
            (
                shorten_middle(block.name, room=32),
                *map(str, (block.K, block.R, ranks.weights)),
                *("" if number is None else str(number) for number in (ranks.data, ranks.output)),
            )
            for block, ranks in known
        ]
        last = f"Singular values up to {known[0][1].tolerance:g} times the largest count as 0."
        return ["", *_lay_out(heads, rows, words=1), "", last]

    @property
    def sentence(self) -> str:
        """What the table comes to."""
        own = sum(block.parameters for block in self.redundant)
        saved = sum(block.parameters - block.parameters_at_ratio_1 for block in self.redundant)
        if not own:
            return f"None of the {len(self.blocks)} blocks has more output channels than its rank."
        return (
            f"* {len(self.redundant)} of {len(self.blocks)} blocks have more output channels than their rank. With "
            f"K = R they would have {saved:,} parameters fewer, {100 * saved / own:.0f} % of theirs and "
            f"{100 * saved / self.parameters:.0f} % of the network's {self.parameters:,}."
        )


def _lay_out(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 2) -> list[str]:
    """A table as text; the first columns are words, the others numbers."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def make_block(kind: str, parts: Parts, name: str, *, rank: int) -> Block:
    first, last = parts.convolutions[0], parts.convolutions[-1]
    inputs, outputs = first.module.in_channels, last.module.out_channels
    now = count_costs(parts, inputs=inputs, outputs=outputs)
    then = count_costs(parts, inputs=rank if parts.identity else inputs, outputs=rank)
    layers = tuple(conv.name for conv in parts.convolutions)
    return Block(name, kind, layers, inputs, outputs, rank, parts.identity, *now, *then)


def count_costs(parts: Parts, *, inputs: int, outputs: int) -> tuple[int, int]:
    """Parameters and FLOPs of a block whose first layer reads so many channels and whose last one gives out so many.

    In a depthwise layer that reads the block's input, every channel has its kernels.
    """
    parameters = flops = 0
    last = len(parts.convolutions) - 1
    for place, (conv, norms) in enumerate(zip(parts.convolutions, parts.norms, strict=True)):
        module = conv.module
        taken = inputs if place == 0 else module.in_channels
        made = outputs if place == last else module.out_channels
        groups = module.groups
        if place == 0 and conv.is_depthwise:
            groups, made = taken, made if last == 0 else taken * (module.out_channels // module.in_channels)
        weights = made * (taken // groups) * math.prod(module.kernel_size)
        parameters += weights + (made if module.bias is not None else 0)
        parameters += sum(made for norm in norms for _ in norm.parameters(recurse=False))
        flops += 2 * weights * conv.sites
    return parameters, flops
