"""From norms at samples to the records: each definition in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.measurements.effective import EFFECTIVE_PARTS, count_effective
from netpact.measurements.interlayer import Interlayer, PairNumbers, summarise_pairs
from netpact.measurements.jacobians import Pair
from netpact.measurements.options import SPECTRA, MeasureOptions
from netpact.measurements.quantity import LEAST, MOST, Numbers, Quantity, divide, of_weights, over_samples
from netpact.measurements.records import LayerMeasures, MeasureProvenance, Measures, relative_error
from netpact.measurements.streaming import SampleNorms
from netpact.measurements.structure import Structure, WeightLayer
from netpact.measurements.weights import frobenius, matrix_frobenius, measure_weights
from netpact.network import Network


@dataclass(frozen=True, eq=False)
class Findings:
    """What was measured; None for what was not asked for. complete: Jacobians and noise saw every sample."""

    network: Network
    structure: Structure
    initial: Network | None
    norms: SampleNorms | None
    pairs: Mapping[Pair, PairNumbers] | None
    smoothness: Mapping[int, Numbers] | None
    complete: bool


def assemble(findings: Findings, options: MeasureOptions, provenance: MeasureProvenance) -> Measures:
    layers = tuple(_assemble_layer(layer, findings, options) for layer in findings.structure.layers)
    found: dict[str, Quantity | None] = {
        "activation_contraction": _over_layers([layer.activation_contraction for layer in layers], side=MOST),
        "interlayer_smoothness": _over_layers([layer.interlayer_smoothness for layer in layers], side=LEAST),
    }
    if findings.norms is not None:
        found["margins"] = over_samples(findings.norms.margins, side=LEAST, complete=True)
        found["max_output_norm"] = over_samples(findings.norms.logits, side=MOST, complete=True)
    return Measures(
        layers,
        findings.structure.logits,
        provenance,
        has_biases=any(_has_bias(part) for part in findings.network.module.modules()),
        **{name: quantity for name, quantity in found.items() if options.wants(name)},
    )


def _has_bias(part: torch.nn.Module) -> bool:
    bias = getattr(part, "bias", None)
    return isinstance(bias, torch.Tensor) and bool(bias.any())


def _assemble_layer(layer: WeightLayer, findings: Findings, options: MeasureOptions) -> LayerMeasures:
    found: dict[str, Quantity | dict[int, Quantity] | None] = {"frobenius": of_weights(frobenius(layer))}
    if options.needs(SPECTRA):
        found |= measure_weights(layer)
    distance = None if findings.initial is None else _distance(layer, findings.initial)
    if distance is not None:
        found["distance_from_initial"] = of_weights(distance)
    if findings.norms is not None:
        found |= _from_norms(layer, findings.norms, distance=distance, seed=options.seed)
    if findings.pairs is not None:
        own = {end: numbers for (start, end), numbers in findings.pairs.items() if start == layer.index}
        found |= _from_pairs(summarise_pairs(layer, own, complete=findings.complete))
    if findings.norms is not None and findings.pairs is not None:
        parts = [part for name in EFFECTIVE_PARTS if isinstance(part := found[name], Quantity)]
        found["effective_parameters"] = count_effective(*parts, cover=layer.cover)
    if findings.smoothness is not None and layer.index in findings.smoothness:
        # Never exact: it is about the worst of all noises but a few.
        found["interlayer_smoothness"] = over_samples(findings.smoothness[layer.index], side=LEAST, complete=False)
    followed = next((other.name for other in findings.structure.layers if other.index == layer.follows), None)
    wanted = {name: quantity for name, quantity in found.items() if quantity is not None and options.wants(name)}
    return LayerMeasures(
        layer.index,
        layer.name,
        layer.kind,
        tuple(layer.weight.shape),
        layer.layer.parameters,
        layer.units,
        layer.places,
        followed,
        layer.alone,
        layer.cover,
        **wanted,  # type: ignore[arg-type]  # names and kinds are those of the table of quantities
    )


def _distance(layer: WeightLayer, initial: Network) -> float:
    """|A - A_0|_F."""
    parts = dict(initial.module.named_modules())
    weight = getattr(parts.get(layer.name), "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.shape != layer.weight.shape:
        raise PactError(
            f"layer {layer.name} is not there with weights of shape {tuple(layer.weight.shape)}", where="initial"
        )
    return float(torch.linalg.vector_norm(layer.weight.double() - weight.detach().double()))


def _from_norms(
    layer: WeightLayer, norms: SampleNorms, *, distance: float | None, seed: Seed
) -> dict[str, Quantity | dict[int, Quantity] | None]:
    """Everything that needs one pass over the samples.

    mu_i = |A h| / (|A|_F |h|)   c_i = |x^(i-1)| / |h^(i-1)|   psi_i = |M|_F^2 |h|^2 / |M h|^2
    """
    own = norms.layers[layer.index]
    size = frobenius(layer)
    matrix = matrix_frobenius(layer, seed=seed)
    sensitivity = divide((matrix.value * own.received) ** 2, own.linear**2, side=MOST)
    share = 2 * relative_error(matrix)
    contraction = of_weights(1.0)
    if layer.follows is not None:
        before = norms.layers[layer.follows].output
        contraction = over_samples(divide(before, own.received, side=MOST), side=MOST, complete=True)

    def cushion(above: Numbers, weight: float) -> Quantity:
        return over_samples(divide(above, weight * own.received, side=LEAST), side=LEAST, complete=True)

    return {
        "arora_layer_cushion": cushion(own.linear, size),
        "layer_cushion_with_bias": cushion(own.output, size),
        "cushion_from_initial": None if distance is None else cushion(own.linear, distance),
        "activation_contraction": contraction,
        "noise_sensitivity": over_samples(
            sensitivity, side=MOST, complete=True, errors=None if matrix.exact else sensitivity * share
        ),
    }


def _from_pairs(found: Interlayer) -> dict[str, Quantity | dict[int, Quantity] | None]:
    return {
        "interlayer_cushions": found.cushions,
        "interlayer_cushions_with_bias": found.with_bias,
        "min_interlayer_cushion": found.least,
        "min_interlayer_cushion_unclipped": found.unclipped,
        "min_interlayer_cushion_with_bias": found.least_with_bias,
        "well_distributed": found.well_distributed,
    }


def _over_layers(quantities: Sequence[Quantity | None], *, side: str) -> Quantity | None:
    """The worst of the layers for each sample."""
    known = [quantity for quantity in quantities if quantity is not None]
    rows = [quantity.samples for quantity in known if quantity.samples is not None]
    if not known:
        return None
    if not rows:
        values = [quantity.value for quantity in known]
        return of_weights(min(values) if side == LEAST else max(values))
    worst = np.min(rows, axis=0) if side == LEAST else np.max(rows, axis=0)
    return over_samples(worst, side=side, complete=all(quantity.exact for quantity in known))
