"""QuantizeDifference: what a network has learned beyond a base network, rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import Dense, FromBase, as_array
from netpact.methods.choices import importance_of
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.method import METHODS
from netpact.models import OwnModule
from netpact.network import Network
from netpact.pacts.priors import Base

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True, eq=False)
class QuantizeDifference:
    """Every parameter as the base's plus a rounded difference; where nothing changed, a symbol costs almost nothing.

    base         the network that was there before the data; it is not written into the file, but a helper's split is
    bits         for each difference before entropy coding: uniform 2 to 16, codebook 1 to 8, ternary 2
    grid         "uniform", "codebook" or "ternary"; see Quantize
    density      ternary: the share of differences that is kept
    per_channel  a scale for each output channel
    rate         the price of a bit, in squared steps; see Quantize
    """

    base: Base
    bits: int | None = None
    grid: str = "uniform"
    density: float = 0.3
    per_channel: bool = False
    rate: float = 0.0
    name: ClassVar[str] = "quantize-difference"

    def __post_init__(self) -> None:
        self._grid()
        if not isinstance(self.base, Base):
            raise PactError(f"must be a Base, got {type(self.base).__name__}", where="base", hint="open_base(path)")
        if self.bits is None:
            object.__setattr__(self, "bits", default_bits(self.grid))

    def __repr__(self) -> str:
        more = {"grid": self.grid, "density": self.density, "per_channel": self.per_channel, "rate": self.rate}
        said = "".join(f", {name}={value!r}" for name, value in more.items() if value != getattr(type(self), name))
        return f"QuantizeDifference(base={self.base.name!r}, bits={self.bits}{said})"

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if isinstance(network.architecture, OwnModule) or any(True for _ in network.module.buffers()):
            raise PactError("only netpact's own architectures can be encoded against a base", where=network.name)
        grid = self._grid()
        tensors, importance = {}, importance_of(network.module, samples, rate=self.rate)
        for name, parameter in network.module.named_parameters():
            own = as_array(parameter)
            tensors[name] = FromBase(Dense(own - self.base.tensor(name, own.shape), importance.get(name))).code(grid)
        split = None if self.base.recipe is None else self.base.recipe.split
        return Compressed(network.architecture, tensors, split=split)

    def _grid(self) -> Grid:
        return make_grid(self.grid, bits=self.bits, density=self.density, per_channel=self.per_channel, rate=self.rate)
