"""One compressed network on one set of samples: its layers measured, and what the lemmas come to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from netpact.bounds.estimate import Premise
from netpact.bounds.estimating import estimate_bounds
from netpact.bounds.facts import Stability
from netpact.bounds.lemma_accuracy import filter_accuracy, log_amplifications, valid_accuracy
from netpact.bounds.lemma_report import LayerComparison, LemmaEstimate
from netpact.bounds.lemma_table import Lemma, ProjectedLayer
from netpact.bounds.logs import log
from netpact.bounds.margin import Gamma
from netpact.bounds.options import EstimateOptions
from netpact.bounds.projecting import failure_shares
from netpact.bounds.stability import read_stability
from netpact.datasets import Data
from netpact.deviations import Promise
from netpact.measurements import Measures, Structure
from netpact.measurements.weights import frobenius
from netpact.network import Network

_EXPONENT = 700.0  # exp of more than 709 overflows a float


@dataclass(frozen=True)
class Told:
    """By layer: how many sign matrices, and which layers have others than independent signs."""

    counts: Mapping[str, int]
    dependent: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Case:
    """One network, what is known of it, and what its layers are told by."""

    network: Network
    data: Data
    measures: Measures
    structure: Structure
    promise: Promise
    told: Told
    delta: float
    output_norm: float

    @property
    def samples(self) -> int:
        return self.data.train.count

    def stability(self, cushions: str) -> Stability:
        return read_stability(self.measures, self.structure, EstimateOptions(cushions=cushions, delta=self.delta))

    def compare_layers(self, other: nn.Module, changes: Mapping[int, float]) -> tuple[LayerComparison, ...]:
        stability = self.stability("with-bias")
        shares = failure_shares(stability, samples=self.samples, delta=self.delta)
        parts, found = dict(other.named_modules()), []
        for layer, known, eta in zip(self.structure.layers, stability.layers, shares, strict=True):
            count = self.told.counts.get(layer.name)
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
        stability = self.stability(lemma.cushions)
        logs = [
            ahead + log(one)
            for ahead, one in zip(log_amplifications(stability), self._accuracies(lemma, stability), strict=True)
            if one > 0  # a layer told exactly adds nothing, whatever its cushions
        ]
        highest = max(logs, default=-math.inf)
        eps = math.exp(highest) if highest < _EXPONENT else math.inf
        return LemmaEstimate(
            name=lemma.name,
            theorem=lemma.theorem,
            eps=eps,
            output_norm=self.output_norm,
            premises=(Premise("eps <= 1", eps <= 1), *self._own_premises(), *self._premises(lemma)),
            ignored=lemma.ignored,
        )

    def _accuracies(self, lemma: Lemma, stability: Stability) -> Sequence[float]:
        """eps_i of every layer: by the lemma where it was projected, without probability where it was not."""
        shares = failure_shares(stability, samples=self.samples, delta=self.delta)
        distances = {part.name: part.change for part in self.promise.layers}
        found = []
        for layer, known, eta in zip(self.structure.layers, stability.layers, shares, strict=True):
            count = self.told.counts.get(layer.name)
            if count is not None:
                told = ProjectedLayer(known, stability, count=count, eta=eta, samples=self.samples, delta=self.delta)
                found.append(lemma.accuracy(told))
                continue
            # |J (D * v)| <= |J|_F |D|_op |v|, where Lemma 13 has |J|_F eps_i beta |A|_F |v| / sqrt(n1 n2).
            scale = math.sqrt(layer.places) / known.well_distributed
            found.append(scale * _share(distances[layer.name], frobenius(layer)))
        return found

    def _own_premises(self) -> tuple[Premise, ...]:
        moved = [part.name for part in self.promise.layers if part.shift > 0]
        shared = [layer.name for layer in self.structure.layers if self.network.is_shared(layer.index)]
        dependent = ", ".join(self.told.dependent[:3])
        return (
            Premise("independent signs in every projected layer", not self.told.dependent, dependent),
            Premise("the biases are told exactly", not moved, ", ".join(moved[:3])),
            Premise("every layer has weights of its own", not shared, ", ".join(shared[:3])),
        )

    def _premises(self, lemma: Lemma) -> tuple[Premise, ...]:
        """As the table of bounds checks them; the margin does not enter."""
        options = EstimateOptions(
            gamma=Gamma(value=1.0), convolutions="reshaped", cushions=lemma.cushions, delta=self.delta
        )
        rows = estimate_bounds(self.network, self.data, options, only=(lemma.rule,), measures=self.measures)
        return rows[lemma.rule].premises


def _share(change: float, size: float) -> float:
    if size > 0:
        return change / size
    return math.inf if change > 0 else 0.0
