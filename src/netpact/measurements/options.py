"""What to measure, on how many samples, and how exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from netpact.core.errors import PactError, one_of
from netpact.core.seed import Seed
from netpact.measurements.noise import GaussianProjection, NoiseMaker

# What each quantity needs: the weights, their operator norms, one pass over all samples, the Jacobians at some of them,
# noise at some of them.
WEIGHTS, SPECTRA, SAMPLES, JACOBIANS, NOISE = "weights", "spectra", "samples", "jacobians", "noise"
QUANTITIES: dict[str, tuple[str, ...]] = {
    "frobenius": (WEIGHTS,),
    "spectral_lower": (SPECTRA,),
    "spectral_upper": (SPECTRA,),
    "stable_rank": (SPECTRA,),
    "distance_from_initial": (WEIGHTS,),
    "arora_layer_cushion": (SAMPLES,),
    "layer_cushion_with_bias": (SAMPLES,),
    "cushion_from_initial": (SAMPLES,),
    "activation_contraction": (SAMPLES,),
    "noise_sensitivity": (SAMPLES,),
    "margins": (SAMPLES,),
    "max_output_norm": (SAMPLES,),
    "interlayer_cushions": (JACOBIANS,),
    "interlayer_cushions_with_bias": (JACOBIANS,),
    "min_interlayer_cushion": (JACOBIANS,),
    "min_interlayer_cushion_unclipped": (JACOBIANS,),
    "min_interlayer_cushion_with_bias": (JACOBIANS,),
    "well_distributed": (JACOBIANS,),
    "effective_parameters": (SAMPLES, JACOBIANS),
    "interlayer_smoothness": (NOISE,),
}
FROM_INITIAL = ("distance_from_initial", "cushion_from_initial")


@dataclass(frozen=True)
class MeasureOptions:
    """samples   how many of the samples the Jacobians and the noise are looked at; all others use every sample
    only      names of the quantities that are wanted; none for all of them
    accuracy  the relative standard error of |J|_F that random probes may leave
    draws     how often the noise of interlayer smoothness is drawn; the worst counts
    noise     how the weights are compressed for it
    """

    samples: int = 200
    only: tuple[str, ...] = ()
    accuracy: float = 0.03
    draws: int = 2
    noise: NoiseMaker = field(default_factory=GaussianProjection)
    seed: Seed = field(default_factory=lambda: Seed(0))

    def __post_init__(self) -> None:
        for option, value in (("samples", self.samples), ("draws", self.draws)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise PactError(f"a whole number from 1 up is needed, got {value!r}", where=option)
        if not (isinstance(self.accuracy, (int, float)) and math.isfinite(self.accuracy) and 0 < self.accuracy <= 1):
            raise PactError(f"a share above 0 and at most 1 is needed, got {self.accuracy!r}", where="accuracy")
        for name in self.only:
            if name not in QUANTITIES:
                raise one_of(name, QUANTITIES, option="only")

    def wants(self, name: str) -> bool:
        return not self.only or name in self.only

    def needs(self, stage: str) -> bool:
        return any(stage in stages for name, stages in QUANTITIES.items() if self.wants(name))
