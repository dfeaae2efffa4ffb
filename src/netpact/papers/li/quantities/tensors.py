"""Layers as sums of rank-one tensors (Li et al. 2020): cushion, reshaping factor, spectrum, factors and noise bounds.

Of a layer in CP form, which is several weight layers, the numbers stand at the first of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from netpact.algebra.outward import length_up
from netpact.core.progress import Progress
from netpact.layers import Chain, CPLinear
from netpact.layers.ranks import largest_rank, square_sides
from netpact.measurements import LayerTensor, TensorOptions, tensor_properties
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.definition import QUANTITIES, OfLayer, OfPairs
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import LEAST, MOST, Numbers, Quantity, divide, of_weights, over_samples
from netpact.measurements.structure import WeightLayer
from netpact.measurements.tensors.measuring import TensorLayer, find_layers
from netpact.measurements.tensors.samples import find_shapes, measure_sizes

_DECOMPOSING = 2e-10  # seconds for a weight and a channel: singular values of the slices of a kernel
_THRESHOLD = 0.2  # of the largest lambda (Figure 4)


class _AtLayer(NamedTuple):
    cushion: Numbers
    reshaping: float | None


def _first_parts(context: Context) -> dict[str, TensorLayer]:
    """The layers of the paper by the name of the weight layer that their numbers stand at."""
    found: dict[str, TensorLayer] = {}
    for layer in find_layers(context.network):
        names = [part.name for part in context.structure.layers]
        prefix = f"{layer.name}." if layer.name else ""
        found[next(name for name in names if name == layer.name or name.startswith(prefix))] = layer
    return found


def _sides(layer: TensorLayer) -> tuple[int, int] | None:
    """Of a linear layer's inputs as matrices."""
    if isinstance(layer.part, CPLinear):
        rows, columns = layer.part.in_shape
        return rows, columns
    features = getattr(layer.part, "in_features", None)
    return square_sides(features) if isinstance(features, int) else None


def _look(context: Context) -> dict[str, _AtLayer]:
    at, module = _first_parts(context), context.network.module
    layers = {layer.name: layer for layer in at.values()}
    shapes = find_shapes(module, list(layers), context.samples)
    entries = sum(math.prod(made) for _, made in shapes.values())
    sides, report = {name: _sides(layer) for name, layer in layers.items()}, _Report(context)
    sizes = measure_sizes(module, sides, context.samples, entries=entries, progress=report)
    found: dict[str, _AtLayer] = {}
    for place, (name, layer) in enumerate(at.items()):
        dense = layer.part.dense() if isinstance(layer.part, Chain) else layer.part
        size = length_up(dense.weight.detach().double())  # type: ignore[operator]
        before, after = (sizes.norms[index].numpy() for index in (place, place + 1))
        reshaping = sizes.reshaping[layer.name] if sides[layer.name] else None
        found[name] = _AtLayer(divide(after, size * before, side=LEAST), reshaping)
    return found


class _Report:
    """Counts the samples of one pass."""

    def __init__(self, context: Context) -> None:
        self._context, self._seen = context, 0

    def __call__(self, count: int) -> None:
        self._seen += count
        self._context.report(self._seen)


def _decompose(context: Context) -> dict[str, LayerTensor]:
    """The exact forms (Proposition 4.1), and of layers in CP form their own components."""
    at = _first_parts(context)
    progress: Progress | None = None if context.progress is None else lambda done, _: context.report(done)
    options = TensorOptions(seed=context.options.seed)
    found = tensor_properties(context.network, context.samples, options, progress=progress)
    return {name: found.layer(layer.name) for name, layer in at.items()}


def _forecast_samples(timing: Timing) -> Cost:
    count = timing.context.samples.count
    return Cost(count * timing.plain, f"{count:,} samples in one pass")


def _forecast_tensors(timing: Timing) -> Cost:
    layers, count = timing.context.structure.layers, timing.context.samples.count
    work = sum(layer.weight.numel() * min(layer.weight.shape[:2]) for layer in layers)
    return Cost(_DECOMPOSING * work + count * timing.plain, f"{len(layers)} layers decomposed")


SIZES = Pass("tensor sizes", _look, steps=lambda context: context.samples.count, forecast=_forecast_samples)
TENSORS = Pass(
    "tensors",
    _decompose,
    steps=lambda context: context.samples.count + len(context.structure.layers),
    forecast=_forecast_tensors,
)


def _cushion(layer: WeightLayer, context: Context) -> Quantity | None:
    """zeta = min |X'| / (|M|_F |X|), X' the input of the next layer."""
    found = context[SIZES].get(layer.name)
    return None if found is None else over_samples(found.cushion, side=LEAST, complete=True)


def _reshaping(layer: WeightLayer, context: Context) -> Quantity | None:
    """rho = max |X|_2 / |X|_F of the input as a matrix; of linear layers."""
    found = context[SIZES].get(layer.name)
    if found is None or found.reshaping is None:
        return None
    return Quantity(found.reshaping, exact=True, side=MOST)


def _kept(found: LayerTensor, context: Context) -> int:
    """As many components as have the numbers of the layer, unless the options say how many."""
    asked = context.options.rank
    sizes = [len(factor) for factor in found.components.factors]
    return min(found.rank, largest_rank(sizes) if asked is None else asked)


def _factor(layer: WeightLayer, context: Context) -> Quantity | None:
    found = context[TENSORS].get(layer.name)
    return None if found is None else of_weights(float(found.tensorization()[_kept(found, context)]))


def _noise(layer: WeightLayer, context: Context) -> Quantity | None:
    found = context[TENSORS].get(layer.name)
    return None if found is None else of_weights(float(found.noise()[_kept(found, context)]))


def _low_rankness(layer: WeightLayer, context: Context) -> Quantity | None:
    found = context[TENSORS].get(layer.name)
    return None if found is None else of_weights(found.low_rankness(_THRESHOLD))


def _spectrum(layer: WeightLayer, context: Context) -> dict[int, Quantity]:
    """lambda_r by r = 1, 2, ..."""
    found = context[TENSORS].get(layer.name)
    values = [] if found is None else found.spectrum.tolist()
    return {place: of_weights(value) for place, value in enumerate(values, start=1)}


def _normalised(layer: WeightLayer, context: Context) -> dict[int, Quantity]:
    raw = _spectrum(layer, context)
    return {place: of_weights(part.value / raw[1].value) for place, part in raw.items()}


for row in (
    OfLayer(
        "li_layer_cushion",
        _cushion,
        title="layer cushion after the activation",
        symbol="zeta",
        meaning="more of the input is left for the next layer",
        needs=(SIZES,),
        asked=True,
        reference="Li et al. 2020, Definition 4.4 without its factor sqrt(HW)",
    ),
    OfLayer(
        "reshaping_factor",
        _reshaping,
        title="reshaping factor",
        symbol="rho",
        side=MOST,
        needs=(SIZES,),
        asked=True,
        reference="Li et al. 2020, Definition E.2",
    ),
    OfLayer(
        "tensorization_factor",
        _factor,
        title="tensorization factor",
        symbol="t",
        needs=(TENSORS,),
        asked=True,
        reference="Li et al. 2020, Definitions 4.2 and E.3",
    ),
    OfLayer(
        "tensor_noise_bound",
        _noise,
        title="tensor noise bound",
        symbol="xi",
        needs=(TENSORS,),
        asked=True,
        reference="Li et al. 2020, Definitions 4.3 and E.5",
    ),
    OfLayer(
        "low_rankness",
        _low_rankness,
        title="share of components above 0.2 of the largest",
        symbol="above .2",
        needs=(TENSORS,),
        asked=True,
        reference="Li et al. 2020, Figure 4",
    ),
    OfPairs(
        "cp_spectrum",
        _spectrum,
        title="CP spectrum",
        needs=(TENSORS,),
        asked=True,
        reference="Li et al. 2020, Section 4",
    ),
    OfPairs(
        "cp_spectrum_normalised",
        _normalised,
        title="CP spectrum over its largest value",
        needs=(TENSORS,),
        asked=True,
        reference="Li et al. 2020, Figure 1",
    ),
):
    QUANTITIES.add(row)
