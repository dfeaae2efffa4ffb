"""From measurements to the few numbers per layer that the bounds read."""

from __future__ import annotations

import math
from itertools import zip_longest

from netpact.bounds.facts import FACTS, Fact, Facts
from netpact.core.errors import PactError
from netpact.measurements import LayerMeasures, Measures, Quantity
from netpact.measurements.structure import Structure
from netpact.measurements.weights import frobenius
from netpact.papers.arora.stability import CushionOptions, LayerStability, Stability

# The quantities that each choice of cushions reads: of the layer, and between layers.
_READ = {
    "with-bias": ("layer_cushion_with_bias", "min_interlayer_cushion_with_bias"),
    "plain": ("arora_layer_cushion", "min_interlayer_cushion"),
    "from-initial": ("cushion_from_initial", "min_interlayer_cushion"),
}
_SAME = 1e-9  # two sums of the same squares differ by far less


def read_stability(measures: Measures, structure: Structure, options: CushionOptions | None = None) -> Stability:
    """The worst values over the samples, or over all but a share zeta of them.

    Each quantity leaves out samples of its own, so that each may leave out zeta divided by the number of quantities:
    together they leave out at most zeta (Corollaries A.1 and C.1).
    """
    _check_same_network(measures, structure)
    chosen = CushionOptions() if options is None else options
    share = chosen.zeta / (4 * len(measures.layers))  # cushion, interlayer cushion, contraction, spread of the Jacobian
    layers = tuple(_read_layer(layer, _READ[chosen.cushions], share=share) for layer in measures.layers)
    smoothness = measures.interlayer_smoothness
    return Stability(
        layers=layers,
        contraction=max(layer.contraction for layer in layers),
        smoothness=None if smoothness is None else smoothness.value,
        biased=measures.has_biases and chosen.cushions != "with-bias",
        jacobian_samples=measures.provenance.jacobian_samples,
    )


def _check_same_network(measures: Measures, structure: Structure) -> None:
    """The same layers, and weights of the same size: measurements of other weights would say nothing here."""
    for found, layer in zip_longest(measures.layers, structure.layers):
        fits = found is not None and layer is not None and (found.index, found.name) == (layer.index, layer.name)
        if fits and found.frobenius is not None:
            fits = math.isclose(found.frobenius.value, frobenius(layer), rel_tol=_SAME)
        if not fits:
            raise PactError(
                "the measurements are of another network",
                where=f"measures, {layer.name if layer is not None else found.name}",
                hint="measure this network, with these weights",
            )


def _read_layer(layer: LayerMeasures, cushions: tuple[str, str], *, share: float) -> LayerStability:
    named = {
        "layer cushion": cushions[0],
        "interlayer cushion": cushions[1],
        "activation contraction": "activation_contraction",
        "well-distributed Jacobian": "well_distributed",
    }
    mu, ahead, contraction, spread = (_worst(text, layer.name, layer.get(name), share) for text, name in named.items())
    return LayerStability(
        name=layer.name,
        kind=layer.kind,
        weights=math.prod(layer.shape),
        units=layer.units,
        cushion=mu,
        interlayer=ahead,
        contraction=contraction,
        well_distributed=spread,
        overlap=layer.cover,
    )


def _worst(name: str, layer: str, found: Quantity | None, share: float) -> float:
    if found is None:
        raise PactError(
            f"the {name} was not measured",
            where=layer,
            hint="measure it too: without `only`, netpact.measure leaves nothing out",
        )
    return found.zeta_value(share)


def _stability(facts: Facts) -> Stability:
    assert facts.measures is not None, "a bound that needs measurements is only evaluated with them"
    return read_stability(facts.measures, facts.structure, facts.options.of(CushionOptions))


FACTS.add(
    Fact(
        "stability",
        _stability,
        quantities=(
            *("frobenius", "activation_contraction", "well_distributed", "interlayer_smoothness"),
            *("arora_layer_cushion", "min_interlayer_cushion"),
            *("layer_cushion_with_bias", "min_interlayer_cushion_with_bias"),
        ),
    )
)
