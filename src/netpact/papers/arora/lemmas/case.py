"""One compressed network on one set of samples: its layers measured, and what the lemmas come to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from netpact.bounds.bound import BOUNDS
from netpact.bounds.estimate import Premise
from netpact.bounds.facts import Facts
from netpact.bounds.logs import log
from netpact.bounds.options import EstimateOptions
from netpact.datasets import Data
from netpact.deviations import DeviationBound
from netpact.measurements import Measures, Structure, WeightLayer
from netpact.measurements.weights import frobenius
from netpact.network import Network
from netpact.papers.arora.lemma_3 import failure_shares
from netpact.papers.arora.lemmas.accuracy import (
    Lemma,
    ProjectedLayer,
    filter_accuracy,
    log_amplifications,
    valid_accuracy,
)
from netpact.papers.arora.lemmas.report import LayerComparison, LemmaEstimate
from netpact.papers.arora.stability import CushionOptions, LayerStability, Stability

_EXPONENT = 700.0  # exp of more than 709 overflows a float


@dataclass(frozen=True)
class Projected:
    """By layer: how many sign matrices, and which layers have others than independent signs."""

    counts: Mapping[str, int]
    dependent: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Case:
    """One network, what is known of it, and how its layers were projected."""

    network: Network
    data: Data
    measures: Measures
    structure: Structure
    deviation: DeviationBound
    projected: Projected
    delta: float
    output_norm: float

    def facts(self, cushions: str) -> Facts:
        known = {name: getattr(self, name) for name in ("network", "data", "measures", "structure")}
        return Facts(EstimateOptions(delta=self.delta, own=[CushionOptions(cushions=cushions)]), known=known)

    def compare_layers(self, other: nn.Module, changes: Mapping[int, float]) -> tuple[LayerComparison, ...]:
        parts, found = dict(other.named_modules()), []
        for layer, known, eta in self._layers(self.facts("with-bias").stability):
            count = self.projected.counts.get(layer.name)
            moved = parts[layer.name].weight
            assert isinstance(moved, torch.Tensor)
            change = torch.linalg.vector_norm(layer.weight.double() - moved.detach().double())
            is_filter = layer.kind == "conv2d" and count is not None
            found.append(
                LayerComparison(
                    name=layer.name,
                    kind=layer.kind,
                    weights=layer.weight.numel(),
                    count=count,
                    change=_share(float(change), frobenius(layer)),
                    output_change=changes[layer.index],
                    product_error=None if count is None else valid_accuracy(count=count, eta=eta),
                    filter_error=filter_accuracy(known, count=count or 1, eta=eta) if is_filter else None,
                )
            )
        return tuple(found)

    def estimate(self, lemma: Lemma) -> LemmaEstimate:
        facts = self.facts(lemma.cushions)
        accuracies = self._accuracies(lemma, facts.stability)
        logs = [
            ahead + log(one)
            for ahead, one in zip(log_amplifications(facts.stability), accuracies, strict=True)
            if one > 0  # a layer encoded exactly adds nothing, whatever its cushions
        ]
        highest = max(logs, default=-math.inf)
        eps = math.exp(highest) if highest < _EXPONENT else math.inf
        premises = (*self._own_premises(), *BOUNDS[lemma.bound].premises(facts))
        return LemmaEstimate(
            name=lemma.name,
            theorem=lemma.theorem,
            eps=eps,
            output_norm=self.output_norm,
            premises=(Premise("eps <= 1", eps <= 1), *premises),
            ignored=lemma.ignored,
        )

    def _layers(self, stability: Stability) -> list[tuple[WeightLayer, LayerStability, float]]:
        """Each layer, what is measured of it, and how often the lemma may fail there."""
        shares = failure_shares(stability, samples=self.data.train.count, delta=self.delta)
        return list(zip(self.structure.layers, stability.layers, shares, strict=True))

    def _accuracies(self, lemma: Lemma, stability: Stability) -> list[float]:
        """eps_i of every layer: by the lemma where it was projected, without probability where it was not."""
        distances = {part.name: part.change for part in self.deviation.layers}
        samples, found = self.data.train.count, []
        for layer, known, eta in self._layers(stability):
            count = self.projected.counts.get(layer.name)
            if count is not None:
                found.append(lemma.accuracy(ProjectedLayer(known, stability, count, eta, samples, self.delta)))
                continue
            # |J (D * v)| <= |J|_F |D|_op |v|, where Lemma 13 has |J|_F eps_i beta |A|_F |v| / sqrt(n1 n2).
            scale = math.sqrt(layer.places) / known.well_distributed
            found.append(scale * _share(distances[layer.name], frobenius(layer)))
        return found

    def _own_premises(self) -> tuple[Premise, ...]:
        lists = {
            "independent signs in every projected layer": self.projected.dependent,
            "the biases are encoded exactly": [part.name for part in self.deviation.layers if part.shift > 0],
            "every layer has weights of its own": [
                layer.name for layer in self.structure.layers if self.network.is_shared(layer.index)
            ],
        }
        return tuple(Premise(text, not names, ", ".join(names[:3])) for text, names in lists.items())


def _share(change: float, size: float) -> float:
    if size > 0:
        return change / size
    return math.inf if change > 0 else 0.0
