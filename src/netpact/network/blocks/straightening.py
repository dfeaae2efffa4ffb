"""Blocks of a chosen expansion ratio t = K / R in the places of others, for a network that will be trained again.

K follows the rank: K = t R. All layers whose outputs are added to a block's have as many channels; what reads them
follows. Where blocks of several ranks are added up, no K fits them all, and they stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from netpact.core.checks import check_instance, check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, Samples
from netpact.models import AnyModule, as_module, initialise
from netpact.network.blocks.block import Block
from netpact.network.blocks.choosing import Choice, choose_sizes
from netpact.network.blocks.finding import design_blocks, find_again
from netpact.network.blocks.inputs import sample_inputs
from netpact.network.blocks.resizing import resize
from netpact.network.blocks.wiring import Wiring
from netpact.network.flops import run_sample
from netpact.network.naming import shorten_middle

_SEED = Seed(0, ("straighten",))


@dataclass(frozen=True, repr=False)
class Straightening(Displayed):
    """What became of one block.

    after  the same in the new network
    why    its K was not chosen by its own rank; empty where it was
    """

    before: Block
    after: Block
    why: str = ""

    def to_json(self) -> dict[str, object]:
        told = {"name": self.before.name, "kind": self.before.kind, "R": self.before.R, "K": self.before.K}
        new = {"new_R": self.after.R, "new_K": self.after.K, "new_ratio": self.after.ratio}
        costs = {"parameters": self.before.parameters, "new_parameters": self.after.parameters}
        return {**told, **new, **costs, "flops": self.before.flops, "new_flops": self.after.flops, "why": self.why}

    def display_facts(self) -> dict[str, object]:
        return self.to_json()

    def display_text(self) -> str:
        name, before, after = shorten_middle(self.before.name, room=32), self.before, self.after
        told = f"{name}: K = {before.K}, R = {before.R}"
        if self.why and (before.K, before.R) == (after.K, after.R):
            return f"{told} stays: {self.why}"
        counts = f"{before.parameters:,} parameters became {after.parameters:,}"
        return f"{told} became K = {after.K}, R = {after.R}; {counts}{f'; {self.why}' if self.why else ''}"


@dataclass(frozen=True, repr=False)
class Straightened(Displayed):
    """module: a new one; rows: one for each block; parameters and flops (of one sample): of the whole network."""

    module: nn.Module
    ratio: float
    rows: tuple[Straightening, ...]
    parameters: int
    new_parameters: int
    flops: int
    new_flops: int

    @property
    def changed(self) -> tuple[Straightening, ...]:
        return tuple(row for row in self.rows if not row.why)

    def display_facts(self) -> dict[str, object]:
        return {key: value for key, value in self.to_json().items() if key != "blocks"}

    def display_rows(self) -> list[dict[str, object]]:
        return [row.display_facts() for row in self.rows]

    def to_json(self) -> dict[str, object]:
        return {
            "ratio": self.ratio,
            "parameters": self.parameters,
            "new_parameters": self.new_parameters,
            "flops": self.flops,
            "new_flops": self.new_flops,
            "blocks": [row.to_json() for row in self.rows],
        }

    def display_text(self) -> str:
        whole = (
            f"{len(self.changed)} of {len(self.rows)} blocks were given K / R = {self.ratio:g}. The network has "
            f"{self.new_parameters:,} parameters in place of {self.parameters:,}, {self.new_flops:,} FLOPs in place of "
            f"{self.flops:,}."
        )
        return "\n".join([*map(str, self.rows), *([""] if self.rows else []), whole])


def straighten(
    module: AnyModule,
    data: Data | Samples | object = None,
    *,
    ratio: float = 1,
    widen: bool = False,
    seed: Seed = _SEED,
) -> nn.Module:
    """A new module whose blocks with K / R above the ratio have K = ratio times R, to be trained again.

    explain_straighten says what was done, and where it was not possible and why.
    """
    return explain_straighten(module, data, ratio=ratio, widen=widen, seed=seed).module


def explain_straighten(
    module: AnyModule,
    data: Data | Samples | object = None,
    *,
    ratio: float = 1,
    widen: bool = False,
    seed: Seed = _SEED,
) -> Straightened:
    """Straighten the blocks of any module that find_blocks finds, and say what was done.

    data   as for find_blocks
    ratio  t = K / R; K is rounded to a whole number of channels
    widen  also the blocks whose K / R is below the ratio
    seed   of the layers whose shapes change, which are drawn as torch draws new ones; the others keep their weights
    """
    check_number(ratio, where="ratio", above=0)
    check_instance(seed, Seed, where="seed", hint="write Seed(0)")
    given = as_module(module, where="module")
    inputs = sample_inputs(given, data)
    wiring = Wiring(given, inputs)
    blocks = design_blocks(wiring)
    made, changed, choice = _apply(wiring, given, blocks, ratio=ratio, widen=widen)
    initialise(made, seed, only=changed)
    after = Wiring(made, inputs)
    rows = [Straightening(block, find_again(after, block), choice.reasons.get(block.name, "")) for block in blocks]
    parameters = [sum(parameter.numel() for parameter in one.parameters()) for one in (given, made)]
    flops = [run_sample(one.module, {}, inputs[:1]).total for one in (wiring, after)]
    return Straightened(made, float(ratio), tuple(rows), *parameters, *flops)


def _apply(
    wiring: Wiring, module: nn.Module, blocks: Sequence[Block], *, ratio: float, widen: bool
) -> tuple[nn.Module, frozenset[str], Choice]:
    """The network with all sizes that it runs with."""
    refused: dict[int, str] = {}
    while True:
        choice = choose_sizes(wiring, blocks, ratio=ratio, widen=widen, refused=refused)
        try:
            return (*resize(module, wiring.inputs, choice.outputs()), choice)
        except PactError as error:
            refused |= _find_obstacle(wiring, module, choice) or dict.fromkeys(choice.sizes, error.what)


def _find_obstacle(wiring: Wiring, module: nn.Module, choice: Choice) -> dict[int, str]:
    """The first number with which the network no longer runs, and what it says."""
    numbers = list(choice.sizes)
    for count in range(1, len(numbers) + 1):
        try:
            resize(module, wiring.inputs, choice.outputs(numbers[:count]))
        except PactError as error:
            return {numbers[count - 1]: error.what}
    return {}
