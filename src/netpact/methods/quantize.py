"""Quantize: every weight of a trained network to the nearest point of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.coding.format import Compressed
from netpact.core.checks import check_flag
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import code_network
from netpact.methods.choices import importance_of
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.method import METHODS, Method
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True)
class Quantize:
    """Round the weights of linear and conv layers to a grid, and biases to 8 bits; nothing is retrained.

    With a rate, every weight goes to the point with the least  error^2 + rate * bits.  If samples are given, errors are
    weighed by the mean square of what the weight is multiplied by.

    bits         uniform: 2 to 16 bits a weight before entropy coding; codebook: 1 to 8; ternary: always 2 (-1, 0, 1)
    grid         "uniform" (evenly spaced), "codebook" (2^bits values fitted to them), "ternary" (the largest, as signs)
    shared       one grid for all layers instead of one for each
    density      ternary: the share of weights that is kept
    per_channel  a scale for each output channel
    rate         the price of a bit, in squared steps of the grid; with 0 every weight goes to the nearest point
    """

    bits: int | None = None
    grid: str = "uniform"
    shared: bool = False
    density: float = 0.3
    per_channel: bool = False
    rate: float = 0.0
    name: ClassVar[str] = "quantize"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (
        SizeKnob("bits", (8, 6, 5, 4, 3, 2), {"per_channel": True}),
        SizeKnob("bits", (4, 3, 2, 1), {"grid": "codebook"}),
        SizeKnob("density", (0.5, 0.3, 0.1, 0.03), {"grid": "ternary"}),
    )

    def __post_init__(self) -> None:
        self._grid()
        check_flag(self.shared, where="shared")
        if self.bits is None:
            object.__setattr__(self, "bits", default_bits(self.grid))

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        importance = importance_of(network.module, samples, rate=self.rate)
        return code_network(network, self._grid(), shared=self.shared, importance=importance)

    def in_whole_numbers(self) -> Method:
        """WholeNumber has an even grid with a step for each output channel, and at most 8 bits."""
        from netpact.methods.whole_number import WholeNumber

        if self.grid != "uniform" or self.shared or self.bits is None:
            raise PactError(
                "an integer network takes an even grid for each layer",
                where="grid",
                hint="Quantize(bits=2 to 8), or WholeNumber",
            )
        return WholeNumber(bits=self.bits)

    def _grid(self) -> Grid:
        return make_grid(self.grid, bits=self.bits, density=self.density, per_channel=self.per_channel, rate=self.rate)
