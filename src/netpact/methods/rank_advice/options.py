"""What rank advice is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.seed import Seed
from netpact.methods.choices import settle_bits
from netpact.methods.grids import Grid, make_grid


@dataclass(frozen=True)
class RankOptions:
    """How ranks are looked for, and how much they may change.

    tolerance      share of the samples whose decision may change, all layers together
    points         ranks tried in each layer, evenly spaced on a logarithmic scale
    samples        that changes are measured on, drawn from those given
    bound_samples  of these, how many get a deviation bound, which takes longer; 0 for none
    bits, grid     how factors and weights are rounded: as for compress
    seed           of the choice of samples
    """

    tolerance: float = 0.01
    points: int = 10
    samples: int = 1000
    bound_samples: int = 50
    bits: int | None = None
    grid: str = "uniform"
    seed: Seed = field(default_factory=lambda: Seed(0))

    def __post_init__(self) -> None:
        check_number(self.tolerance, where="tolerance", least=0, below=1)
        check_integer(self.points, where="points", least=1)
        check_integer(self.samples, where="samples", least=1)
        check_integer(self.bound_samples, where="bound_samples", least=0)
        check_instance(self.seed, Seed, where="seed")
        settle_bits(self, self.grid, self.bits)

    def make_grid(self) -> Grid:
        return make_grid(self.grid, bits=self.bits)
