"""compare_with_lemmas: what compression did to a network, beside its deviation bound and what the lemmas say."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from netpact.bounds.estimating import check_same_data
from netpact.certificates.inputs import failure_probability
from netpact.coding.format import Compressed, Pact
from netpact.coding.format.loading import load_module
from netpact.coding.forms import AnyProjection
from netpact.core.errors import PactError, one_of, wrong_kind
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.deviations import deviation_bound
from netpact.measurements import MeasureOptions, Measures, Structure, find_structure, measure
from netpact.measurements.quantity import MOST, Numbers, divide
from netpact.measurements.streaming import norms_of
from netpact.models import OwnModule
from netpact.network import Network, stream_activations, trace
from netpact.papers.arora.lemmas.accuracy import LEMMAS
from netpact.papers.arora.lemmas.case import Case, Projected
from netpact.papers.arora.lemmas.report import LemmaReport

_JACOBIANS = 32  # samples at which cushions are measured where nobody gave measurements


def compare_with_lemmas(
    model: nn.Module | Network,
    compressed: Pact | Compressed | nn.Module,
    data: Data | object,
    measures: Measures | None = None,
    *,
    counts: Mapping[str, int] | None = None,
    delta: float = 0.05,
    progress: Progress | None = None,
) -> LemmaReport:
    """Measured errors of a compressed network, its deviation bound, and the lemmas of Arora et al. 2018.

    Made for RandomProjection. A layer that was not projected enters the lemmas with |A^ - A|_op / |A|_F as its eps_i,
    without probability, so that any compressed network can be compared.

    measures  what netpact.measure found for this network on these data. Default: measured here at a few samples
    counts    for a module, which does not have them: k of each layer that was projected onto sign matrices, by name
    delta     the failure probability in the lemmas; Lemma 3 holds with probability 1 - delta/2
    """
    failure_probability(delta)
    source = as_data(data)
    network = model if isinstance(model, Network) else trace(model, source)
    _refuse_batch_norm(network)
    other, projected = _open(compressed, network, counts)
    deviation = deviation_bound(network, other, source, progress=progress)
    known = measures or measure(network, source, MeasureOptions(samples=_JACOBIANS), progress=progress)
    check_same_data(known, source.train)
    inputs, _ = next(iter(source.train.batches(2)))
    structure = find_structure(network, torch.from_numpy(inputs))
    changes, norms = _measure_changes(network, other, structure, source.train)
    case = Case(network, source, known, structure, deviation, projected, delta, output_norm=float(norms.max()))
    convolutions = any(layer.kind == "conv2d" for layer in structure.layers)
    chosen = [lemma for lemma in LEMMAS if lemma.convolutions == convolutions]
    return LemmaReport(
        layers=case.compare_layers(other, changes),
        promise=deviation,
        relative_error=float(divide(deviation.measured, norms, side=MOST).max()),
        lemmas=tuple(case.estimate(lemma) for lemma in chosen),
        network=network.name,
        delta=delta,
    )


def _open(
    compressed: Pact | Compressed | nn.Module, network: Network, counts: Mapping[str, int] | None
) -> tuple[nn.Module, Projected]:
    if isinstance(compressed, nn.Module):
        names = [layer.name for layer in network.layers]
        for name in counts or {}:
            if name not in names:
                raise one_of(name, names, option="counts")
        return compressed, Projected(dict(counts or {}))
    if counts is not None:
        raise PactError("a compressed network has its own counts", where="counts", hint="leave them out")
    if isinstance(compressed, Pact):
        compressed = compressed.decode(network.module if network.is_own_module else None)
    if not isinstance(compressed, Compressed):
        raise wrong_kind(compressed, needed="a Pact, a Compressed or a torch.nn.Module", where="compressed")
    own = isinstance(compressed.architecture, OwnModule)
    forms = {name.rpartition(".")[0]: tensor.form for name, tensor in compressed.tensors.items() if _is_weight(name)}
    projected = {name: form for name, form in forms.items() if isinstance(form, AnyProjection) and not form.by_rows}
    dependent = tuple(name for name, form in projected.items() if form.variant != "signs")
    module = load_module(compressed, copy.deepcopy(network.module) if own else None)
    return module, Projected({name: form.count for name, form in projected.items()}, dependent)


def _is_weight(tensor: str) -> bool:
    return tensor.rpartition(".")[2] == "weight"


def _refuse_batch_norm(network: Network) -> None:
    found = [layer.name for layer in network.layers if layer.kind == "batch_norm"]
    if found:
        raise PactError(
            f"batch norm in {', '.join(found[:3])}: the lemmas are about weights and activations only",
            where=network.name,
            hint="compress and compare netpact.fold_batch_norm(module, data)",
        )


def _measure_changes(
    network: Network, other: nn.Module, structure: Structure, samples: Samples
) -> tuple[dict[int, float], Numbers]:
    """For each weight layer the worst |x^i - x^^i| / |x^i|, and |f(x)| of every sample."""
    second = replace(network, module=copy.deepcopy(other).float().eval())
    worst = dict.fromkeys(structure.indices, 0.0)
    norms = []
    pairs = zip(stream_activations(network, samples), stream_activations(second, samples), strict=True)
    for one, two in pairs:
        for index in structure.indices:
            change = norms_of(one.outputs[index].double() - two.outputs[index].double()).numpy()
            shares = divide(change, norms_of(one.outputs[index]).numpy(), side=MOST)
            worst[index] = max(worst[index], float(shares.max()))
        norms.append(norms_of(one.logits).numpy())
    return worst, np.concatenate(norms)
