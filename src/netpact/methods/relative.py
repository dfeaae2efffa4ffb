"""QuantizeDifference: what a network has learned beyond a base network, rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.coding.format import Compressed
from netpact.core.checks import check_choice, check_flag, check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import Dense, FromBase, as_array
from netpact.methods.base_tensors import code_by_base, difference
from netpact.methods.calibrated.differences import round_differences
from netpact.methods.calibrated.options import ROUNDINGS, Calibrated, no_inputs, uneven_grid
from netpact.methods.choices import importance_of
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network
from netpact.pacts.priors import Base

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True, eq=False)
class QuantizeDifference:
    """Every parameter as the base's plus a rounded difference; where nothing changed, a symbol costs almost nothing.

    Tensors that the base lacks, those of a new head for example, are rounded by themselves. If samples are given,
    rounding is chosen layer by layer on some of their inputs, as in Quantize.

    base         the network that was there before the data; it is not written into the file, but a helper's split is
    bits         for each difference before entropy coding: uniform 2 to 16, codebook 1 to 8, ternary 2
    grid         "uniform", "codebook" or "ternary"; see Quantize
    density      ternary: the share of differences that is kept
    per_channel  a scale for each output channel; the default for second-order rounding
    rate         the price of a bit, in squared steps; see Quantize
    rounding     "nearest", or "second-order", which needs samples and an even grid and is then the default
    calibration  how many inputs second-order rounding looks at, drawn from the samples
    """

    base: Base
    bits: int | None = None
    grid: str = "uniform"
    density: float = 0.3
    per_channel: bool | None = None
    rate: float = 0.0
    rounding: str | None = None
    calibration: int = 512
    name: ClassVar[str] = "quantize-difference"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("bits", (8, 6, 4, 3, 2)),)

    def __post_init__(self) -> None:
        self._grid()
        if not isinstance(self.base, Base):
            raise PactError(f"must be a Base, got {type(self.base).__name__}", where="base", hint="open_base(path)")
        check_integer(self.calibration, where="calibration", least=1)
        if self.rounding is not None:
            check_choice(self.rounding, ROUNDINGS, where="rounding")
        if self.rounding == ROUNDINGS[1] and self.grid != "uniform":
            raise uneven_grid("rounding")
        if self.per_channel is not None:
            check_flag(self.per_channel, where="per_channel")
        if self.bits is None:
            object.__setattr__(self, "bits", default_bits(self.grid))

    def __repr__(self) -> str:
        more = ("grid", "density", "per_channel", "rate", "rounding", "calibration")
        told = {name: getattr(self, name) for name in more if getattr(self, name) != getattr(type(self), name)}
        said = "".join(f", {name}={value!r}" for name, value in told.items())
        return f"QuantizeDifference(base={self.base.name!r}, bits={self.bits}{said})"

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid, tensors = self._grid(), {}
        if samples is None and self.rounding == ROUNDINGS[1]:
            raise no_inputs("QuantizeDifference(base)")
        if samples is not None and self.grid == "uniform" and self.rounding != ROUNDINGS[0]:
            channels = self.per_channel is not False
            options = Calibrated(self.bits, None, self.rate, channels, self.calibration)
            return round_differences(network, self.base, grid, options, samples, progress)
        importance = importance_of(network.module, samples, rate=self.rate)
        for name, parameter in network.module.named_parameters():
            if parameter.is_floating_point() and self.base.has(name, tuple(parameter.shape)):
                beyond = difference(self.base, name, as_array(parameter))
                tensors[name] = FromBase(Dense(beyond, importance.get(name))).code(grid)
        return code_by_base(network, self.base, tensors, grid)

    def _grid(self) -> Grid:
        channels = bool(self.per_channel)
        return make_grid(self.grid, bits=self.bits, density=self.density, per_channel=channels, rate=self.rate)
