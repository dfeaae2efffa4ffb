"""What was measured: one record for each weight layer, and one for the network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from netpact.core.display import Displayed
from netpact.core.errors import one_of
from netpact.measurements.quantity import Quantity


@dataclass(frozen=True, eq=False)
class LayerMeasures:
    """Weight layer i of the theory. Symbols as in Arora et al. 2018; None where a quantity was not asked for.

    index                 of the layer in the network it was measured on, the same number as Network.layers gives it
    units, places         h_i: outputs or channels; n1 * n2: pixels of its output, 1 for a linear layer
    follows               the weight layer whose output its input is made of; None for the first layer
    alone                 its input is made of that one layer's output and nothing else: no skip ends here
    cover                 ceil(kappa/s)^2: how many windows see one pixel at most; 1 for a linear layer
    frobenius             |A|_F of the weight as it is stored
    spectral_lower/upper  proven bounds on the operator norm
    stable_rank           |A|_F^2 / spectral_upper^2
    arora_layer_cushion   mu_i = min |A h| / (|A|_F |h|), without the bias
    interlayer_cushions   mu_ij = min sqrt(n1 n2) |J x^i| / (|J|_F |x^i|) by j, as index; see `Measures.logits`
    min_interlayer_cushion             min(1/sqrt(h_i), min_j mu_ij); _unclipped: without the first
    activation_contraction             c_i = max |x^(i-1)| / |h^(i-1)|, 1 where the network's input comes in
    well_distributed      beta_i = max sqrt(n1 n2) |J at one pixel|_F / |J|_F over pixels and j; 1 for a linear layer
    interlayer_smoothness rho of the maps from layer i, for the noise of a projection of the weights before it
    noise_sensitivity     max |M|_F^2 |h|^2 / |M h|^2 (Prop. 3.1) of the layer as a matrix M
    effective_parameters  c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2)
    distance_from_initial |A - A_0|_F, and cushion_from_initial with it in the place of |A|_F
    *_with_bias           mu_i = min |x^i| / (|A|_F |h|), mu_ij = min sqrt(n1 n2) |x^j| / (|J|_F |x^i|)
    """

    index: int
    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int
    units: int
    places: int
    follows: str | None
    alone: bool
    cover: int = 1
    frobenius: Quantity | None = None
    spectral_lower: Quantity | None = None
    spectral_upper: Quantity | None = None
    stable_rank: Quantity | None = None
    arora_layer_cushion: Quantity | None = None
    layer_cushion_with_bias: Quantity | None = None
    min_interlayer_cushion: Quantity | None = None
    min_interlayer_cushion_unclipped: Quantity | None = None
    min_interlayer_cushion_with_bias: Quantity | None = None
    activation_contraction: Quantity | None = None
    well_distributed: Quantity | None = None
    interlayer_smoothness: Quantity | None = None
    noise_sensitivity: Quantity | None = None
    effective_parameters: Quantity | None = None
    distance_from_initial: Quantity | None = None
    cushion_from_initial: Quantity | None = None
    interlayer_cushions: Mapping[int, Quantity] = field(default_factory=dict)
    interlayer_cushions_with_bias: Mapping[int, Quantity] = field(default_factory=dict)

    def quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Those that were measured, by name."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Quantity):
                yield entry.name, value

    def to_json(self, *, with_samples: bool = False) -> dict[str, object]:
        record: dict[str, object] = {
            "index": self.index,
            "name": self.name,
            "kind": self.kind,
            "shape": list(self.shape),
            "parameters": self.parameters,
            "units": self.units,
            "places": self.places,
            "follows": self.follows,
            "alone": self.alone,
        }
        record |= {name: quantity.to_json(with_samples=with_samples) for name, quantity in self.quantities()}
        for name in ("interlayer_cushions", "interlayer_cushions_with_bias"):
            pairs: Mapping[int, Quantity] = getattr(self, name)
            if pairs:
                record[name] = {str(end): pairs[end].to_json(with_samples=with_samples) for end in pairs}
        return record


@dataclass(frozen=True)
class MeasureProvenance:
    """What the numbers were measured on and by what."""

    version: str
    model: str
    data_name: str
    data_fingerprint: str
    samples: int
    jacobian_samples: int
    seed: int
    folded: bool

    def to_json(self) -> dict[str, object]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True, eq=False, repr=False)
class Measures(Displayed):
    """The measurements of Arora et al. 2018 for one network on one set of samples.

    layers                  the weight layers of the theory: linear and convolution layers, in the order they run
    logits                  the j of the logits: the last layer's index, or one more if something follows it
    margins                 f(x)[y] - max of the others; its value is the least
    max_output_norm         max |f(x)|_2
    activation_contraction  c: the most over all layers
    interlayer_smoothness   rho: the least over all layers
    is_chain                every layer's input is made of the layer's before it alone, so the paper's induction applies
    has_biases              then the promises of the paper hold for the *_with_bias cushions only
    """

    layers: tuple[LayerMeasures, ...]
    logits: int
    provenance: MeasureProvenance
    has_biases: bool
    margins: Quantity | None = None
    max_output_norm: Quantity | None = None
    activation_contraction: Quantity | None = None
    interlayer_smoothness: Quantity | None = None

    @property
    def depth(self) -> int:
        return len(self.layers)

    @property
    def is_chain(self) -> bool:
        return all(layer.alone for layer in self.layers)

    @property
    def network_quantities(self) -> dict[str, Quantity]:
        """Those that were measured on the network as a whole, by name."""
        names = ("margins", "max_output_norm", "activation_contraction", "interlayer_smoothness")
        return {name: found for name in names if (found := getattr(self, name)) is not None}

    def layer(self, name: str) -> LayerMeasures:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise one_of(name, [layer.name for layer in self.layers], option="layer")

    def to_json(self, *, with_samples: bool = False) -> dict[str, object]:
        """{"layers": [...], "network": {...}, "provenance": {...}}; with_samples: every sample's number as well."""
        network: dict[str, object] = {
            "depth": self.depth,
            "logits": self.logits,
            "is_chain": self.is_chain,
            "has_biases": self.has_biases,
        }
        network |= {name: found.to_json(with_samples=with_samples) for name, found in self.network_quantities.items()}
        return {
            "layers": [layer.to_json(with_samples=with_samples) for layer in self.layers],
            "network": network,
            "provenance": self.provenance.to_json(),
        }

    def display_facts(self) -> dict[str, object]:
        told = self.provenance
        about: dict[str, object] = {"model": told.model, "data_name": told.data_name, "samples": told.samples}
        return about | {"layers": self.depth} | {name: q.value for name, q in self.network_quantities.items()}

    def display_rows(self) -> list[dict[str, object]]:
        """One row a layer: the worst over the samples of each quantity that was measured."""
        return [
            {"layer": layer.name, "kind": layer.kind, "parameters": layer.parameters}
            | {name: quantity.value for name, quantity in layer.quantities()}
            for layer in self.layers
        ]

    def __str__(self) -> str:
        from netpact.measurements.wording import describe

        return describe(self)


def relative_error(quantity: Quantity) -> float:
    """What probes leave in a value, as a share of it; 0 where there are none."""
    if quantity.stderr is None or not math.isfinite(quantity.value) or quantity.value == 0:
        return 0.0
    return quantity.stderr / abs(quantity.value)
