"""The measured properties of a network that the bounds read (Section 3), and the options of the measured bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from netpact.bounds.bound import Bound, Sampling
from netpact.bounds.estimate import Premise
from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import log
from netpact.bounds.premises import known_layers
from netpact.core.checks import check_choice, check_number

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts

# With biases Lemma 3 holds for the first only. The second are those of the paper, the third have |A - A_0|_F in the
# place of |A|_F: the initial weights are in the helper string, and their difference is what is projected.
CUSHIONS = ("with-bias", "plain", "from-initial")


@dataclass(frozen=True, kw_only=True)
class CushionOptions:
    """cushions  "with-bias": of outputs with their biases, as Lemma 3 needs; "plain": as printed; "from-initial":
              relative to the initial weights, if the measurements had them
    zeta      the share of the samples that the measurements may leave out; it is added to the bound
    """

    cushions: str = field(
        default="with-bias",
        metadata={
            "metavar": "NAME",
            "help": "with-bias: of outputs with their biases, as the proofs need; plain: as printed.",
        },
    )
    zeta: float = field(
        default=0.0,
        metadata={"metavar": "SHARE", "help": "Share of the samples that the measurements may leave out."},
    )

    def __post_init__(self) -> None:
        check_choice(self.cushions, CUSHIONS, where="cushions")
        check_number(self.zeta, where="zeta", least=0, below=1)


@dataclass(frozen=True, kw_only=True)
class LayerStability:
    """The measured properties of weight layer i.

    weights      how many it has, without biases
    units        h_i: outputs, or channels of a convolution
    cushion      mu_i                       interlayer        mu_i->, clipped at 1/sqrt(h_i)
    contraction  c_i                        well_distributed  beta_i, 1 for a linear layer
    overlap      ceil(kappa/s) along both axes: in how many patches a pixel is, 1 for a linear layer
    """

    name: str
    kind: str
    weights: int
    units: int
    cushion: float
    interlayer: float
    contraction: float
    well_distributed: float
    overlap: int

    @property
    def log_weight(self) -> float:
        """ln of 1 / (mu_i^2 mu_i->^2); infinite where a cushion is 0."""
        return -2.0 * (log(self.cushion) + log(self.interlayer))

    @property
    def log_effective(self) -> float:
        """ln of the effective number of parameters (Table 1):

        c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2)
        """
        return self.log_weight + 2.0 * (log(self.contraction) + log(self.well_distributed)) + log(self.overlap)


@dataclass(frozen=True, kw_only=True)
class Stability:
    """Measured over the samples; contraction is c over all layers, smoothness rho (None where it was not measured).

    biased  the network has biases, but the cushions are those without them: then Lemma 3 fails
    """

    layers: tuple[LayerStability, ...]
    contraction: float
    smoothness: float | None
    biased: bool
    jacobian_samples: int

    @property
    def well_distributed(self) -> float:
        return max(layer.well_distributed for layer in self.layers)


def of_stability(facts: Facts) -> tuple[Premise, ...]:
    """What Lemma 3 assumes, and what is built on it."""
    stability: Stability = facts.stability
    rho, needed = stability.smoothness, 3 * facts.depth
    found = f"rho = {rho:.3g}, 3d = {needed}" if rho is not None else f"rho was not measured, 3d = {needed}"
    dead = [layer.name for layer in stability.layers if not layer.cushion * layer.interlayer > 0]
    return (
        Premise("rho >= 3d", None if rho is None else rho >= needed, found),
        Premise("all cushions are above 0", not dead, ", ".join(dead[:3])),
        Premise("cushions of outputs with bias, where there are biases", not stability.biased),
        *known_layers(facts),
    )


def some_samples(facts: Facts) -> Sampling:
    """Jacobians are measured at some of the samples; Corollary C.1 allows a share zeta to be left out."""
    zeta = facts.options.of(CushionOptions).zeta
    seen = f"interlayer cushions of {facts.stability.jacobian_samples:,} samples stand for those of all"
    return Sampling(zeta, "Corollary C.1", (f"{seen} {facts.samples:,}",))


def effective_parameters(facts: Facts) -> tuple[LayerBudget, ...]:
    """Table 1."""
    layers: tuple[LayerStability, ...] = facts.stability.layers
    return tuple(LayerBudget(layer.name, layer.log_effective / math.log(10.0), layer.weights) for layer in layers)


MEASURED = partial(
    Bound, premises=of_stability, sampling=some_samples, layers=effective_parameters, options=(CushionOptions,)
)
