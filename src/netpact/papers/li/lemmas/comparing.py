"""compare_with_tensor_lemmas: what dropping components did to a network, beside what the lemmas say."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

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
from netpact.measurements.quantity import MOST, divide
from netpact.measurements.tensors import TensorProperties, tensor_properties
from netpact.models import OwnModule
from netpact.network import Network, trace
from netpact.papers.li.lemmas.activations import Activations, compare_activations
from netpact.papers.li.lemmas.projecting import compose, drop_identities, project, read_ranks
from netpact.papers.li.lemmas.report import TensorLemmaReport
from netpact.papers.li.lemmas.stating import state_lemma
from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound

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
                was done to the factors is in them, and the change of the biases is added
    properties  what netpact.measurements.tensors.tensor_properties found for this network on these data. Default:
                measured here, with all samples and exact decompositions
    """
    source = as_data(data)
    network, _ = fold_for_measuring(model if isinstance(model, Network) else trace(model, source), source)
    found = tensor_properties(network, source, progress=progress) if properties is None else properties
    check_instance(found, TensorProperties, where="properties")
    _check_same(found, network, source.train)
    composed = drop_identities(compose(network.module))
    original = trace(composed, source)
    ranks = None if isinstance(compressed, (Pact, Compressed, str, Path)) else read_ranks(compressed, found)
    other = project(composed, found, ranks) if ranks is not None else _open(compressed, network, source)
    deviation = deviation_bound(original, other, source, progress=progress)
    seen = compare_activations(network.module, other, [layer.name for layer in found.layers], source.train)
    if ranks is None:
        lemma, printed = _from_distances(found, deviation, seen), None
    else:
        lemma, printed = (state_lemma(found, ranks, as_printed=flag) for flag in (False, True))
    return TensorLemmaReport(
        network=network.name,
        measured=seen.errors,
        lemma=lemma,
        printed=printed,
        deviation=deviation,
        relative_deviation=float(divide(deviation.bounds, seen.norms, side=MOST).max()),
        premises=_premises(found, source.train),
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


def _open(compressed: Ranks | Pact | Compressed | str | Path, network: Network, data: Data) -> nn.Module:
    """Decoded, batch norm folded as it is in the network, and every chain composed."""
    opened = Pact.read(compressed) if isinstance(compressed, (str, Path)) else compressed
    assert isinstance(opened, (Pact, Compressed))
    shell = copy.deepcopy(network.module) if isinstance(opened.architecture, OwnModule) else None
    module = opened.to_module(shell) if isinstance(opened, Pact) else load_module(opened, shell)
    return drop_identities(compose(fold_for_measuring(module, data)[0].module))


def _from_distances(properties: TensorProperties, deviation: DeviationBound, seen: Activations) -> LemmaBound:
    """The induction of the lemmas with the proven |W - W^|_op and |W^|_op of two layers, and a change of the bias:

    e_(k+1) = L (|W^|_op e_k + |W - W^|_op) / signal + L |b - b^| sqrt(places) / min |X'|
    """
    parts = {part.name: part for part in deviation.layers}
    whole = state_lemma(properties, [layer.rank for layer in properties.layers])
    terms = []
    for layer, least, places in zip(properties.layers, seen.least, seen.places, strict=True):
        part, signal = parts[layer.name], layer.cushion * layer.frobenius
        moved = part.shift * math.sqrt(places) * (signal / least if least else math.inf) if part.shift else 0.0
        terms.append(
            LayerTerm(
                name=layer.name,
                rank=layer.rank,
                components=layer.rank,
                noise=layer.lipschitz * (part.change + moved),
                gain=layer.lipschitz * part.norm + layer.skip,
                signal=signal,
            )
        )
    return LemmaBound(name=whole.name, printed=False, layers=tuple(terms))


def _premises(properties: TensorProperties, samples: Samples) -> tuple[Premise, ...]:
    dead = [layer.name for layer in properties.layers if not layer.cushion > 0]
    count = f"{properties.samples:,} of {samples.count:,}"
    return (
        Premise("all layer cushions are above 0", not dead, ", ".join(dead[:3])),
        Premise("measured on every sample", properties.samples == samples.count, count),
    )
