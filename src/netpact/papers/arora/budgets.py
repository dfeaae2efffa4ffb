"""A number of parameters shared out among layers by what the paper measures on the network."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples, as_data
from netpact.measurements import MeasureOptions, find_structure, measure
from netpact.measurements.folded import fold_for_measuring
from netpact.methods.layer_budgets import MEASURED_BUDGETS, LayerAccuracy, MeasuredBudget, split_budget
from netpact.network import Network
from netpact.network.naming import weight_name
from netpact.papers.arora.facts import read_stability
from netpact.papers.arora.lemma_3 import accuracy_for_gamma, failure_shares, log_accuracies
from netpact.papers.arora.lemmas.accuracy import log_layer_counts
from netpact.papers.arora.stability import CushionOptions, Stability

_JACOBIANS = 32  # samples at which cushions between layers are measured
# What the shares are made of, and nothing that takes longer.
_READ = (
    *("frobenius", "activation_contraction", "well_distributed", "max_output_norm"),
    *("arora_layer_cushion", "layer_cushion_with_bias"),
    *("min_interlayer_cushion", "min_interlayer_cushion_with_bias"),
)


@dataclass(frozen=True)
class LayerCushions:
    """What was measured of a network's weight tensors, in the order of `names`, and max |f(x)| over the samples.

    plain      with the cushions as printed, which Table 1 is made of
    with_bias  with those of outputs with their biases, which Lemma 3 needs
    """

    names: tuple[str, ...]
    plain: Stability
    with_bias: Stability
    output_norm: float
    samples: int

    def split(self, total: int, *, caps: Sequence[int]) -> tuple[int, ...]:
        """The total in proportion to the effective parameters (Table 1), none above its cap:

        c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2)
        """
        logs = self._in_order(self.plain, [layer.log_effective for layer in self.plain.layers])
        for name, found in zip(self.names, logs, strict=True):
            if not math.isfinite(found):
                raise PactError(
                    "a cushion is 0 or a contraction infinite on some sample: no share follows from it",
                    where=name,
                    hint='take budget="size", or leave out the samples on which the layer is dead',
                )
        highest = max(logs)
        return split_budget(
            total, weights=[max(math.exp(one - highest), sys.float_info.min) for one in logs], caps=caps
        )

    def count_for_output(self, eps: float, *, delta: float, caps: Sequence[int]) -> tuple[int, ...]:
        """As many as Lemma 3 needs for |f - f^| <= eps |f| with probability 1 - delta/2; the cap where it is less."""
        found = log_layer_counts(self.with_bias, samples=self.samples, eps=eps, delta=delta)
        logs = self._in_order(self.with_bias, found)
        return tuple(cap if one >= math.log(cap) else round(math.exp(one)) for one, cap in zip(logs, caps, strict=True))

    def count_for_gamma(self, gamma: float, *, delta: float, caps: Sequence[int]) -> tuple[int, ...]:
        """The same with the eps of Lemma 10: no margin above gamma is lost."""
        eps = accuracy_for_gamma(gamma, output_norm=self.output_norm)
        return self.count_for_output(eps, delta=delta, caps=caps)

    def accuracies_for_output(self, eps: float, *, delta: float) -> tuple[LayerAccuracy, ...]:
        """eps_i and eta_i of Lemma 3, one for each tensor."""
        logs = self._in_order(self.with_bias, log_accuracies(self.with_bias, eps=eps))
        shares = failure_shares(self.with_bias, samples=self.samples, delta=delta)
        return tuple(map(LayerAccuracy, logs, self._in_order(self.with_bias, shares)))

    def accuracies_for_gamma(self, gamma: float, *, delta: float) -> tuple[LayerAccuracy, ...]:
        return self.accuracies_for_output(accuracy_for_gamma(gamma, output_norm=self.output_norm), delta=delta)

    def _in_order(self, stability: Stability, numbers: Sequence[float]) -> list[float]:
        """From the order in which layers run to that of the tensors."""
        found = {weight_name(layer.name): one for layer, one in zip(stability.layers, numbers, strict=True)}
        return [found[name] for name in self.names]


def measure_cushions(
    network: Network, samples: Samples, names: Sequence[str], progress: Progress | None = None
) -> LayerCushions:
    """Measure the layers that have these weight tensors. Batch norm is folded for it; the seed is always the same."""
    folded, _ = fold_for_measuring(network, as_data(samples))
    measures = measure(folded, samples, MeasureOptions(samples=_JACOBIANS, only=_READ), progress=progress)
    inputs, _ = next(iter(samples.batches(2)))
    structure = find_structure(folded, torch.from_numpy(inputs))
    known = [weight_name(layer.name) for layer in structure.layers if not folded.is_shared(layer.index)]
    for name in names:
        if name not in known:
            raise PactError(
                "cushions are those of linear and convolution layers that run once, with weights of their own",
                where=name,
                hint='take budget="size"',
            )
    return LayerCushions(
        tuple(names),
        read_stability(measures, structure, CushionOptions(cushions="plain")),
        read_stability(measures, structure, CushionOptions(cushions="with-bias")),
        measures["max_output_norm"].value,
        samples.count,
    )


MEASURED_BUDGETS.add(MeasuredBudget("cushions", measure_cushions))
