"""Quantize: every weight of a trained network to the nearest point of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.coding.format import Compressed
from netpact.core.checks import check_choice, check_flag, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import code_network
from netpact.methods.calibrated.options import ROUNDINGS, Calibrated, no_inputs, uneven_grid
from netpact.methods.calibrated.rounding import round_on_inputs
from netpact.methods.choices import importance_of
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.method import METHODS, Method
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples


_OTHER_BITS = 8


@METHODS.add
@dataclass(frozen=True)
class Quantize:
    """Round the weights of linear and conv layers to a grid, and biases to 8 bits; nothing is retrained.

    If samples are given, the weights of an even grid are rounded layer by layer on some of their inputs (no label is
    looked at): each makes up for the errors of those before, batch norm is folded first, biases are corrected. With a
    rate, every weight goes to the point with the least  error^2 + rate * bits.

    bits         uniform: 2 to 16 bits a weight before entropy coding; codebook: 1 to 8; ternary: always 2 (-1, 0, 1)
    grid         "uniform" (evenly spaced), "codebook" (2^bits values fitted to them), "ternary" (the largest, as signs)
    shared       one grid for all layers instead of one for each
    density      ternary: the share of weights that is kept
    per_channel  a scale for each output channel; the default for second-order rounding
    rate         the price of a bit, in squared steps of the grid; with 0 every weight goes to the nearest point
    rounding     "nearest", or "second-order", which needs samples and an even grid and is then the default
    tolerance    instead of bits: the squared change of the logits, as a share of their variance, that is aimed at
    calibration  how many inputs second-order rounding looks at, drawn from the samples
    """

    bits: int | None = None
    grid: str = "uniform"
    shared: bool = False
    density: float = 0.3
    per_channel: bool | None = None
    rate: float = 0.0
    rounding: str | None = None
    tolerance: float | None = None
    calibration: int = 512
    name: ClassVar[str] = "quantize"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (
        SizeKnob("tolerance", (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)),
        SizeKnob("bits", (8, 6, 5, 4, 3, 2), {"per_channel": True}),
        SizeKnob("bits", (4, 3, 2, 1), {"grid": "codebook"}),
        SizeKnob("density", (0.5, 0.3, 0.1, 0.03), {"grid": "ternary"}),
    )

    def __post_init__(self) -> None:
        check_flag(self.shared, where="shared")
        self._check_rounding()
        self._grid()
        check_integer(self.calibration, where="calibration", least=1)
        if self.per_channel is not None:
            check_flag(self.per_channel, where="per_channel")
        if self.bits is None and self.tolerance is None:
            object.__setattr__(self, "bits", default_bits(self.grid))

    def _check_rounding(self) -> None:
        if self.tolerance is not None:
            check_number(self.tolerance, where="tolerance", above=0, most=1)
            if self.bits is not None:
                raise PactError("one of bits and tolerance is allowed, got both", where="tolerance")
        if self.rounding is not None:
            check_choice(self.rounding, ROUNDINGS, where="rounding")
        if not self._takes_second_order():
            for name, asked in (("rounding", self.rounding == ROUNDINGS[1]), ("tolerance", self.tolerance is not None)):
                if asked:
                    raise uneven_grid(name)

    def _takes_second_order(self) -> bool:
        return self.grid == "uniform" and not self.shared and self.rounding != ROUNDINGS[0]

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if samples is None and (self.tolerance is not None or self.rounding == ROUNDINGS[1]):
            raise no_inputs("Quantize()")
        grid = self._grid()
        if samples is not None and self._takes_second_order():
            channels = self.per_channel is not False
            options = Calibrated(self.bits, self.tolerance, self.rate, channels, self.calibration)
            return round_on_inputs(network, grid, options, samples, progress)
        importance = importance_of(network.module, samples, rate=self.rate)
        return code_network(network, grid, shared=self.shared, importance=importance)

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
        """With a tolerance: of what no layer holds."""
        bits = _OTHER_BITS if self.tolerance is not None else self.bits
        channels = bool(self.per_channel)
        return make_grid(self.grid, bits=bits, density=self.density, per_channel=channels, rate=self.rate)
