"""How many channels blocks of a chosen ratio have, and which blocks cannot have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from netpact.network.blocks.block import Block
from netpact.network.blocks.channel_sizes import ChannelSizes
from netpact.network.blocks.wiring import Wiring

_SHUFFLED = "shufflenet-v2"
_TWO_LAYERS = "it has no last 1x1 layer, so K = R"


@dataclass(frozen=True)
class Choice:
    """sizes: the new number of channels by number (see ChannelSizes); layers: of each number all that make it.

    reasons  by name of a block: why its K stays
    """

    sizes: Mapping[int, int]
    layers: Mapping[int, Sequence[str]]
    reasons: Mapping[str, str]

    def outputs(self, numbers: Iterable[int] | None = None) -> dict[str, int]:
        """The new number of outputs by layer."""
        chosen = self.sizes if numbers is None else numbers
        return {layer: self.sizes[number] for number in chosen for layer in self.layers[number]}


def choose_sizes(
    wiring: Wiring, blocks: Sequence[Block], *, ratio: float, widen: bool, refused: Mapping[int, str]
) -> Choice:
    """refused: numbers that must stay, each with the reason."""
    sizes = ChannelSizes(wiring)
    for block in blocks:
        if block.kind == _SHUFFLED:
            sizes.tie(wiring.joined_behind(wiring.convolution(block.layers[-1])))
    solver = _Solver(wiring, sizes, blocks, Fraction(ratio).limit_denominator(10**6), widen)
    solver.refuse(refused)
    chosen = solver.solve()
    return Choice(chosen, {number: sizes.makers(number) for number in chosen}, solver.reasons)


class _Solver:
    """The rank of a depthwise-separable block is the K of the block before: sizes are chosen until none changes."""

    def __init__(
        self, wiring: Wiring, sizes: ChannelSizes, blocks: Sequence[Block], ratio: Fraction, widen: bool
    ) -> None:
        self._sizes, self._ratio, self._widen = sizes, ratio, widen
        self._cores = {block.name: wiring.convolution(block.layers[-2]).node for block in blocks}
        self._blocks: dict[int, list[Block]] = {}
        self.reasons: dict[str, str] = {}
        for block in blocks:
            number = sizes.number_of(block.layers[-1])
            if len(block.layers) == 2 and block.kind == "funnel":
                self.reasons[block.name] = _TWO_LAYERS
            elif why := sizes.reason(number):
                self.reasons[block.name] = why
            elif sizes.is_part(number, self._cores[block.name]):
                self.reasons[block.name] = "its outputs are added to its inputs, of which its rank is made"
            else:
                self._blocks.setdefault(number, []).append(block)

    def refuse(self, refused: Mapping[int, str]) -> None:
        for number, why in refused.items():
            self.reasons |= {block.name: why for block in self._blocks.pop(number, [])}

    def solve(self) -> dict[int, int]:
        while True:
            chosen = self._settle()
            clashes = {number: wanted for number, wanted in self._wants(chosen) if len(set(wanted.values())) > 1}
            if not clashes:
                self._explain(chosen)
                return chosen
            for number, wanted in clashes.items():
                self._clash(number, wanted)

    def _settle(self) -> dict[int, int]:
        """Sizes on which the blocks of each number agree, as far as they do."""
        chosen: dict[int, int] = {}
        for _ in range(len(self._cores) + 1):
            before = dict(chosen)
            for number, wanted in self._wants(chosen):
                if len(sizes := set(wanted.values())) == 1:
                    chosen[number] = sizes.pop()
            if chosen == before:
                break
        return {number: size for number, size in chosen.items() if size != self._blocks[number][0].K}

    def _wants(self, chosen: Mapping[int, int]) -> Iterator[tuple[int, dict[str, int]]]:
        for number, blocks in self._blocks.items():
            yield number, {block.name: self._wanted(block, chosen) for block in self._deciding(blocks)}

    def _deciding(self, blocks: list[Block]) -> list[Block]:
        """Both halves of a ShuffleNet unit have equally many channels; the one with the block says how many."""
        return [block for block in blocks if block.kind == _SHUFFLED] or blocks

    def _wanted(self, block: Block, chosen: Mapping[int, int]) -> int:
        rank = self._sizes.count(self._cores[block.name], chosen)
        size = max(1, round(self._ratio * rank))
        return size if self._widen or size < block.K else block.K

    def _clash(self, number: int, wanted: Mapping[str, int]) -> None:
        for block in self._blocks.pop(number):
            own = wanted.get(block.name)
            other = next((name for name, size in wanted.items() if size != own), block.name)
            self.reasons[block.name] = (
                f"its outputs are added to those of {other}, which would have {wanted[other]} channels, not {own}"
            )

    def _explain(self, chosen: Mapping[int, int]) -> None:
        for number, blocks in self._blocks.items():
            deciding = self._deciding(blocks)
            for block in blocks:
                if block not in deciding:
                    self.reasons[block.name] = f"the other half of its unit, {deciding[0].name}, decides"
                elif number not in chosen:
                    told = "is" if round(self._ratio * block.R) == block.K else "is not above"
                    self.reasons[block.name] = f"K / R = {block.ratio:.3g} {told} {float(self._ratio):g}"
