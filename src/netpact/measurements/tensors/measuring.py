"""tensor_properties: every weight layer of a network as a tensor, measured on samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Data, Samples, as_data, draw_samples
from netpact.layers import Chain
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.tensors.between import gains_between
from netpact.measurements.tensors.decomposing import LayerForm, TensorOptions, decompose_layer
from netpact.measurements.tensors.layer_tensor import LayerTensor
from netpact.measurements.tensors.properties import TensorProperties, TensorProvenance
from netpact.measurements.tensors.samples import find_shapes, measure_sizes
from netpact.network import Network
from netpact.network.kinds import KINDS


@dataclass(frozen=True)
class TensorLayer:
    """A linear layer or convolution, or a chain of layers in the place of one. skip: something goes around it."""

    name: str
    part: nn.Module
    skip: bool


def tensor_properties(
    model: nn.Module | Network,
    data: Data | Samples | object,
    options: TensorOptions | None = None,
    *,
    progress: Progress | None = None,
) -> TensorProperties:
    """The weight layers of a classifier as sums of rank-one tensors, with what Li et al. 2020 measure of them.

    Batch norm is folded into the layers first; where it cannot be, it is part of what stands between layers. A layer in
    CP form has its own components, any other one is decomposed as the options say. Cushions, reshaping factors and the
    size of the output are taken over all samples, by a run in the network's own precision.

    data  the training part of a data set, or samples: data.test, or a pair of arrays
    """
    chosen = TensorOptions() if options is None else check_instance(options, TensorOptions, where="options")
    source = as_data(data)
    network, folded = fold_for_measuring(model, source)
    samples = source.train
    if chosen.samples is not None:
        samples = draw_samples(samples, chosen.samples, chosen.seed.child("samples"))
    layers = find_layers(network)
    done = _Done(progress, len(layers) + samples.count)
    forms: dict[str, LayerForm] = {}
    for layer in layers:
        forms[layer.name] = decompose_layer(layer.name, layer.part, chosen)
        done.add(1)
    shapes = find_shapes(network.module, list(forms), samples)
    between = gains_between(network, {name: made for name, (_, made) in shapes.items()})
    reshaped = {name: form.in_shape for name, form in forms.items()}
    entries = sum(math.prod(made) for _, made in shapes.values())
    sizes = measure_sizes(network.module, reshaped, samples, entries=entries, progress=done.add)
    told = TensorProvenance(
        __version__, network.name, samples.name, samples.fingerprint(), chosen.seed.number, folded, str(chosen)
    )
    found = []
    for place, layer in enumerate(layers):
        form = forms[layer.name]
        cushion = _cushion(sizes.norms[place], sizes.norms[place + 1], form.frobenius)
        sides = shapes[layer.name][0][1:] if form.kind == "conv2d" else ()
        found.append(
            LayerTensor(
                layer.name,
                form.kind,
                form.components,
                form.gains,
                form.residual,
                form.frobenius,
                cushion,
                sizes.reshaping[layer.name],
                math.prod(sides),
                layer.skip,
                between[layer.name],
                form.adding,
                sides,
            )
        )
    return TensorProperties(tuple(found), sizes.output_norm, samples.count, told)


def find_layers(network: Network) -> tuple[TensorLayer, ...]:
    """In the order they run; layers within a chain are one."""
    chains = {name: part for name, part in network.module.named_modules() if isinstance(part, Chain)}
    parts, found = dict(network.module.named_modules()), dict[str, TensorLayer]()
    for layer in network.layers:
        chain = next((name for name in chains if layer.name.startswith(f"{name}.") or not name), None)
        if chain is None and KINDS[layer.kind].measured is None:
            continue
        if network.is_shared(layer.index):
            raise PactError(
                "its weights are used more than once: the layers of Li et al. 2020 have weights of their own",
                where=f"layer {layer.name}",
            )
        name = layer.name if chain is None else chain
        if name not in found:
            found[name] = TensorLayer(name, parts[name], not network.is_cut_point(layer.index))
    if not found:
        raise PactError("no linear layers or convolutions to measure", where=network.name)
    return tuple(found.values())


def _cushion(before: Tensor, after: Tensor, frobenius: float) -> float:
    """min |X'| / (|M|_F |X|); a sample with X = 0 asks for nothing, and 0 is left where all do."""
    asking = before > 0
    if not frobenius or not bool(asking.any()):
        return 0.0
    return float((after[asking] / before[asking]).min()) / frobenius


class _Done:
    """Counts layers and samples together."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)
