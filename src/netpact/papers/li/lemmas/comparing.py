"""compare_with_tensor_lemmas: what dropping components did to a network, beside what the lemmas say."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from netpact.bounds.estimate import Premise
from netpact.coding.format import Compressed, Pact
from netpact.coding.format.loading import load_module
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.deviations import DeviationBound, deviation_bound
from netpact.layers import Chain
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.quantity import MOST, Numbers, divide
from netpact.measurements.streaming import norms_of
from netpact.measurements.tensors import TensorProperties, tensor_properties
from netpact.models import OwnModule
from netpact.network import Network, trace
from netpact.papers.li.lemmas.projecting import compose, project, read_ranks
from netpact.papers.li.lemmas.report import TensorLemmaReport
from netpact.papers.li.lemmas.stating import state_lemma
from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound

_BATCH = 128
_SAME = 1e-6  # two sums of the same squares differ by far less
Ranks = Mapping[str, int] | Sequence[int]


def compare_with_tensor_lemmas(
    model: nn.Module | Network,
    compressed: Ranks | Pact | Compressed | str | Path,
    data: Data | object,
    properties: TensorProperties | None = None,
    *,
    progress: Progress | None = None,
) -> TensorLemmaReport:
    """Measured errors of a network with few components, its deviation bound, and the lemmas of Li et al. 2020.

    compressed  how many components each layer keeps, in the order of the layers or by name: then they are dropped here.
                Or a file, or a compressed network: there |W - W^|_op and |W^|_op stand for xi and t, so that whatever
                was done to the factors is in them
    properties  what netpact.measurements.tensors.tensor_properties found for this network on these data. Default:
                measured here, with all samples and exact decompositions
    """
    source = as_data(data)
    network, _ = fold_for_measuring(model if isinstance(model, Network) else trace(model, source), source)
    found = tensor_properties(network, source, progress=progress) if properties is None else properties
    check_instance(found, TensorProperties, where="properties")
    _check_same(found, network, source.train)
    composed = compose(network.module)
    original = network if composed is network.module else trace(composed, source)
    if isinstance(compressed, (Pact, Compressed, str, Path)):
        other = _open(compressed, network)
        deviation = deviation_bound(original, other, source, progress=progress)
        lemma, printed = _from_distances(found, deviation), None
    else:
        ranks = read_ranks(compressed, found)
        other = project(composed, found, ranks)
        deviation = deviation_bound(original, other, source, progress=progress)
        lemma, printed = (state_lemma(found, ranks, as_printed=flag) for flag in (False, True))
    measured, norms = _measure(network.module, other, [layer.name for layer in found.layers], source.train)
    return TensorLemmaReport(
        network=network.name,
        measured=measured,
        lemma=lemma,
        printed=printed,
        deviation=deviation,
        relative_deviation=float(divide(deviation.bounds, norms, side=MOST).max()),
        premises=_premises(found, deviation, source.train),
    )


def _check_same(properties: TensorProperties, network: Network, samples: Samples) -> None:
    parts = dict(network.module.named_modules())
    told = ""
    if properties.printed:
        told = "are as printed"
    elif not all(
        math.isclose(layer.frobenius, _size(parts.get(layer.name)), rel_tol=_SAME) for layer in properties.layers
    ):
        told = "are of another network"
    elif properties.samples == samples.count and properties.provenance.data_fingerprint != samples.fingerprint():
        told = "are of other data"
    if told:
        raise PactError(
            f"the properties {told}", where="properties", hint="tensor_properties(model, data) of this network and data"
        )


def _size(part: nn.Module | None) -> float:
    weight = getattr(part.dense() if isinstance(part, Chain) else part, "weight", None)
    return float(weight.detach().double().norm()) if isinstance(weight, Tensor) else math.nan


def _open(compressed: Pact | Compressed | str | Path, network: Network) -> nn.Module:
    opened = Pact.read(compressed) if isinstance(compressed, (str, Path)) else compressed
    shell = copy.deepcopy(network.module) if isinstance(opened.architecture, OwnModule) else None
    return compose(opened.to_module(shell) if isinstance(opened, Pact) else load_module(opened, shell))


def _from_distances(properties: TensorProperties, deviation: DeviationBound) -> LemmaBound:
    """The induction of the lemmas with the proven |W - W^|_op and |W^|_op of two layers."""
    parts = {part.name: part for part in deviation.layers}
    whole = state_lemma(properties, [layer.rank for layer in properties.layers])
    terms = [
        LayerTerm(
            name=layer.name,
            rank=layer.rank,
            components=layer.rank,
            noise=layer.lipschitz * parts[layer.name].change,
            gain=layer.lipschitz * parts[layer.name].norm + layer.skip,
            signal=layer.cushion * layer.frobenius,
        )
        for layer in properties.layers
    ]
    return LemmaBound(name=whole.name, printed=False, layers=tuple(terms))


def _premises(properties: TensorProperties, deviation: DeviationBound, samples: Samples) -> tuple[Premise, ...]:
    moved = [part.name for part in deviation.layers if part.shift > 0]
    dead = [layer.name for layer in properties.layers if not layer.cushion > 0]
    return (
        Premise("both networks have the same biases", not moved, ", ".join(moved[:3])),
        Premise("all layer cushions are above 0", not dead, ", ".join(dead[:3])),
        Premise(
            "measured on every sample",
            properties.samples == samples.count,
            f"{properties.samples:,} of {samples.count:,}",
        ),
    )


@torch.no_grad()
def _measure(
    module: nn.Module, other: nn.Module, names: Sequence[str], samples: Samples
) -> tuple[tuple[float, ...], Numbers]:
    """For each layer the worst |X - X^| / |X| at the input of the next one, or the logits; and |f| of every sample."""
    runs = [_Inputs(copy.deepcopy(one).double().eval(), names) for one in (module, other)]
    worst, norms = [0.0] * len(names), []
    for inputs, _ in samples.batches(_BATCH):
        first, second = (run(torch.from_numpy(inputs).double()) for run in runs)
        for place, (one, two) in enumerate(zip(first[1:], second[1:], strict=True)):
            shares = divide(norms_of(one - two).numpy(), norms_of(one).numpy(), side=MOST)
            worst[place] = max(worst[place], float(shares.max()))
        norms.append(norms_of(first[-1]).numpy())
    return tuple(worst), np.concatenate(norms)


class _Inputs:
    """What the named layers receive in one run, in their order, and the logits."""

    def __init__(self, module: nn.Module, names: Sequence[str]) -> None:
        self._module, self._names, self._seen = module, names, dict[str, Tensor]()
        for name in names:
            module.get_submodule(name).register_forward_pre_hook(
                lambda _, given, name=name: self._seen.__setitem__(name, given[0])
            )

    def __call__(self, inputs: Tensor) -> list[Tensor]:
        logits = self._module(inputs)
        return [*(self._seen[name] for name in self._names), logits]
