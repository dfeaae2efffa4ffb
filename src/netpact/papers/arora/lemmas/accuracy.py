"""How accurate a layer must be for its network's output, and how accurate so many numbers make it: by each lemma."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from netpact.algebra.projection import check_accuracy
from netpact.bounds.logs import log
from netpact.certificates.bisection import safe_end
from netpact.core.checks import check_integer
from netpact.papers.arora.lemma_3 import failure_shares, log_accuracies, log_count
from netpact.papers.arora.stability import LayerStability, Stability


def log_amplifications(stability: Stability) -> list[float]:
    """ln of eps / eps_i, layer by layer: what an error of layer i comes to at the output.

        linear layer   6 c d / (mu_i mu_i->)              (Lemma 3)
        convolution    6 c d beta_i / (mu_i mu_i->)       (Lemma 14, an estimate: Lemma 12 does not hold)

    Infinite where a cushion is 0. The window's ceil(kappa/s) is in the count of Algorithm 4, not here.
    """
    accuracies = log_accuracies(stability, eps=1.0)
    return [log(layer.well_distributed) - one for layer, one in zip(stability.layers, accuracies, strict=True)]


def log_layer_counts(stability: Stability, *, samples: int, eps: float, delta: float) -> list[float]:
    """ln of how many sign matrices each layer needs, so that the outputs are right within eps |f|:

        k_i the least with 4 exp(-k_i (eps_i^2/4 - eps_i^3/6)) <= eta_i,   eps_i = eps mu_i mu_i-> / (6 c d)

    With probability 1 - delta/2 over the signs, under the premises of Lemma 3; eta_i as in `failure_shares`. For a
    convolution eps_i is divided by beta_i and by ceil(kappa/s), as Lemma 14 and Algorithm 4 say: an estimate.
    """
    check_accuracy(eps=eps, eta=delta)
    shares = failure_shares(stability, samples=samples, delta=delta)
    amplified = log_amplifications(stability)
    return [
        log_count(log(eps) - ahead - 0.5 * log(layer.overlap), eta=eta)
        for layer, ahead, eta in zip(stability.layers, amplified, shares, strict=True)
    ]


def valid_accuracy(*, count: int, eta: float) -> float:
    """The least eps for which `count` sign matrices keep a fixed product but for a probability eta (Lemma 2):

        4 exp(-k (eps^2/4 - eps^3/6)) <= eta

    From above; infinite where no eps up to 1 will do, because the tail is proven for those only.
    """
    check_integer(count, where="count", least=1)
    check_accuracy(eps=1.0, eta=eta)
    needed = math.log(4.0 / eta) / count

    def is_safe(eps: float) -> bool:
        return eps**2 / 4 - eps**3 / 6 >= needed

    return safe_end(is_safe, low=0.0, high=1.0) if is_safe(1.0) else math.inf


def printed_accuracy(stability: Stability, *, count: int, samples: int, delta: float) -> float:
    """What the 72 of Lemma 3 grants a layer with `count` numbers, h the most units of a layer:

        eps_i^2 = 2 log(m d h / delta) / k_i,   so that  sum k_i = 72 c^2 d^2 log(m d h / delta) / eps^2 sum ...

    The k behind it is too small: see `valid_accuracy`.
    """
    check_integer(count, where="count", least=1)
    depth, widest = len(stability.layers), max(layer.units for layer in stability.layers)
    return math.sqrt(2.0 * math.log(samples * depth * widest / delta) / count)


def filter_accuracy(layer: LayerStability, *, count: int, eta: float) -> float:
    """What Algorithm 4 claims for a convolution with `count` matrices (Lemma 13), its unknown constant Q taken as 1:

        eps = ceil(kappa/s) log(1/eta) / sqrt(k)

    An estimate: it rests on Lemma 12, which does not hold.
    """
    check_integer(count, where="count", least=1)
    return math.sqrt(layer.overlap) * math.log(1.0 / eta) / math.sqrt(count)


@dataclass(frozen=True)
class ProjectedLayer:
    """What is measured of a layer and of its network, k, and how often the lemmas may fail: eta at it, delta in all."""

    known: LayerStability
    stability: Stability
    count: int
    eta: float
    samples: int
    delta: float


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """What a lemma says about the outputs. bound: the row of the table of bounds with the same premises."""

    name: str
    theorem: str
    accuracy: Callable[[ProjectedLayer], float]
    bound: str
    left_out: str = ""
    cushions: str = "with-bias"
    convolutions: bool = False

    @property
    def ignored(self) -> tuple[str, ...]:
        return ("the rounding of the k numbers", *([self.left_out] if self.left_out else []))


def _valid(layer: ProjectedLayer) -> float:
    return valid_accuracy(count=layer.count, eta=layer.eta)


def _printed(layer: ProjectedLayer) -> float:
    return printed_accuracy(layer.stability, count=layer.count, samples=layer.samples, delta=layer.delta)


def _filters(layer: ProjectedLayer) -> float:
    """Lemma 13 for a convolution, Lemma 2 for the linear layers behind."""
    is_filter = layer.known.kind == "conv2d"
    return filter_accuracy(layer.known, count=layer.count, eta=layer.eta) if is_filter else _valid(layer)


LEMMAS = (
    Lemma(
        name="lemma-3",
        theorem="Arora et al. 2018, Lemma 3 with the tail that its proof bears",
        accuracy=_valid,
        bound="arora-lemma-3",
    ),
    Lemma(
        name="lemma-3-printed",
        theorem="Arora et al. 2018, Lemma 3 as printed",
        accuracy=_printed,
        bound="arora-lemma-3-printed",
        left_out="that its k is too small (docs/papers/arora.md)",
        cushions="plain",
    ),
    Lemma(
        name="lemma-14",
        theorem="Arora et al. 2018, Lemma 14, the constant of Algorithm 4 taken as 1",
        accuracy=_filters,
        bound="arora-5.1",
        left_out="the constant of Algorithm 4",
        convolutions=True,
    ),
)
