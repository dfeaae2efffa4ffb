"""What every bound is computed from: plain numbers, taken from the weights, the margins and the measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netpact.bounds.logs import log
from netpact.bounds.norms import LayerNorms


@dataclass(frozen=True, kw_only=True)
class LayerStability:
    """The measured properties of weight layer i (Arora et al. 2018, Section 3).

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


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Numbers of one network on one training set, for one margin gamma.

    input_norm, output_norm  the largest |x|_2 and |f(x)|_2 over the samples
    margin_loss, errors      L_gamma and L_0
    tried                    how many margins were tried: the union over them costs ln(tried)
    foreign                  layers with weights that are neither linear nor convolutions: no theorem here knows them
    is_chain                 each layer's input is made of the layer's before it alone
    """

    norms: tuple[LayerNorms, ...]
    stability: Stability | None
    parameters: int
    classes: int
    samples: int
    input_norm: float
    output_norm: float
    gamma: float
    margin_loss: float
    errors: float
    delta: float
    zeta: float = 0.0
    tried: int = 1
    foreign: tuple[str, ...] = ()
    is_chain: bool = True
    has_biases: bool = False

    @property
    def depth(self) -> int:
        return len(self.norms)

    @property
    def widest(self) -> int:
        return max(layer.outputs for layer in self.norms)

    @property
    def is_fully_connected(self) -> bool:
        return all(layer.kind == "linear" for layer in self.norms)

    @property
    def measured(self) -> Stability:
        assert self.stability is not None, "a bound that needs measurements is only called with them"
        return self.stability

    @property
    def log_signal(self) -> float:
        """ln of max |f(x)|^2 / gamma^2."""
        return 2.0 * (log(self.output_norm) - math.log(self.gamma))
