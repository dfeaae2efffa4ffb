"""The lemmas about a network's output: which accuracy each grants a projected layer, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netpact.papers.arora.lemmas.accuracy import filter_accuracy, printed_accuracy, valid_accuracy
from netpact.papers.arora.stability import LayerStability, Stability


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
    """One lemma about the outputs. bound: the row of the table of bounds with the same premises."""

    name: str
    theorem: str
    accuracy: Callable[[ProjectedLayer], float]
    bound: str
    ignored: tuple[str, ...] = ("the rounding of the k numbers",)
    cushions: str = "with-bias"
    convolutions: bool = False


def _valid(layer: ProjectedLayer) -> float:
    return valid_accuracy(count=layer.count, eta=layer.eta)


def _printed(layer: ProjectedLayer) -> float:
    return printed_accuracy(layer.stability, count=layer.count, samples=layer.samples, delta=layer.delta)


def _filters(layer: ProjectedLayer) -> float:
    """Lemma 13 for a convolution, Lemma 2 for the linear layers behind."""
    if layer.known.kind != "conv2d":
        return _valid(layer)
    return filter_accuracy(layer.known, count=layer.count, eta=layer.eta)


_LEMMA_3 = Lemma(
    name="lemma-3",
    theorem="Arora et al. 2018, Lemma 3 with the tail that its proof bears",
    accuracy=_valid,
    bound="arora-lemma-3",
)
LEMMAS = (
    _LEMMA_3,
    Lemma(
        name="lemma-3-printed",
        theorem="Arora et al. 2018, Lemma 3 as printed",
        accuracy=_printed,
        bound="arora-lemma-3-printed",
        ignored=(*_LEMMA_3.ignored, "that its k is too small (docs/papers/arora.md)"),
        cushions="plain",
    ),
    Lemma(
        name="lemma-14",
        theorem="Arora et al. 2018, Lemma 14, the constant of Algorithm 4 taken as 1",
        accuracy=_filters,
        bound="arora-5.1",
        ignored=(*_LEMMA_3.ignored, "the constant of Algorithm 4"),
        convolutions=True,
    ),
)
