"""What to measure, on how many samples, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass, field

from netpact.core.checks import check_choice, check_instance, check_integer, check_number
from netpact.core.seed import Seed
from netpact.measurements.definition import QUANTITIES
from netpact.measurements.noise import GaussianProjection, NoiseMaker
from netpact.measurements.tails.options import TailOptions


@dataclass(frozen=True)
class MeasureOptions:
    """samples   how many samples the Jacobians and the noise are measured at; everything else uses all samples
    only      names of the quantities that are wanted; none for all but tails and those of Li et al. 2020 and Guha et
              al. 2023
    rank      components of each layer that tensorization factors and tensor noise bounds are for; default: as many as
              have the numbers of the layer
    accuracy  the relative standard error of |J|_F that random probes may leave
    draws     how often the noise of interlayer smoothness is drawn; the worst counts
    noise     how the weights are compressed for it
    tails     the matrix of a convolution, and the repeats of a bootstrap, for the tails
    prune_scale  the d of random pruning (Guha et al. 2023, Algorithm 1), for the quantities that are about it
    """

    samples: int = 200
    only: tuple[str, ...] = ()
    accuracy: float = 0.03
    draws: int = 2
    noise: NoiseMaker = field(default_factory=GaussianProjection)
    seed: Seed = field(default_factory=lambda: Seed(0))
    rank: int | None = None
    tails: TailOptions = field(default_factory=TailOptions)
    prune_scale: float = 1.0

    def __post_init__(self) -> None:
        check_integer(self.samples, where="samples", least=1)
        check_integer(self.draws, where="draws", least=1)
        if self.rank is not None:
            check_integer(self.rank, where="rank", least=1)
        check_instance(self.tails, TailOptions, where="tails")
        check_number(self.prune_scale, where="prune_scale", above=0)
        check_number(self.accuracy, where="accuracy", above=0, most=1)
        for name in self.only:
            check_choice(name, QUANTITIES, where="only")
