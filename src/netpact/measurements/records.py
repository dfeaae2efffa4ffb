"""What was measured: one record for each weight layer, and one for the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from netpact.core.display import Displayed
from netpact.core.errors import PactError, did_you_mean, one_of
from netpact.measurements.definition import LAYER, NETWORK, PAIR, QUANTITIES, Definition
from netpact.measurements.quantity import Quantity


class Measured:
    """Quantities by name: record["name"], or record.name, which is None where it was not measured."""

    _scopes: ClassVar[tuple[str, ...]]
    found: Mapping[str, Quantity]

    def __getitem__(self, name: str) -> Quantity:
        if name not in self.found:
            raise PactError(f"{name} was not measured", where="measures", hint=did_you_mean(name, self.found))
        return self.found[name]

    def get(self, name: str) -> Quantity | None:
        return self.found.get(name)

    def __getattr__(self, name: str) -> Any:
        # Names with _ are asked for by copy, pickle and notebooks; none is a quantity.
        row = None if name.startswith("_") else QUANTITIES.get(name)
        if row is None or not set(row.scopes) & set(self._scopes):
            hint = did_you_mean(name, QUANTITIES)
            raise AttributeError(f"{type(self).__name__!r} has no {name!r}" + (f"; {hint}" if hint else ""))
        return self.pairs.get(name, {}) if PAIR in row.scopes else self.found.get(name)


@dataclass(frozen=True, eq=False)
class LayerMeasures(Measured):
    """Weight layer i of the theory, with what was measured of it under the names of netpact.measurements.QUANTITIES.

    index          of the layer in the network it was measured on, the same number as Network.layers gives it
    units, places  h_i: outputs or channels; n1 * n2: pixels of its output, 1 for a linear layer
    follows        the weight layer whose output its input is made of; None for the first layer
    alone          its input is made of that one layer's output and nothing else: no skip ends here
    cover          ceil(kappa/s)^2: how many windows see one pixel at most; 1 for a linear layer
    found          its quantities by name, in the order of the table
    pairs          quantities of the maps that begin here: by name, then by the index where the map ends
    """

    _scopes = (LAYER, PAIR)
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
    found: Mapping[str, Quantity] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[int, Quantity]] = field(default_factory=dict)

    def quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Those that were measured, by name."""
        yield from self.found.items()

    def to_json(self, *, with_samples: bool = False) -> dict[str, object]:
        left_out = ("cover", "found", "pairs")
        record = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in left_out}
        record["shape"] = list(self.shape)
        record |= {name: quantity.to_json(with_samples=with_samples) for name, quantity in self.found.items()}
        for name, ends in self.pairs.items():
            record[name] = {str(end): quantity.to_json(with_samples=with_samples) for end, quantity in ends.items()}
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
class Measures(Measured, Displayed):
    """What was measured on one network and one set of samples, under the names of netpact.measurements.QUANTITIES.

    layers      the weight layers of the theory: linear and convolution layers, in the order they run
    logits      the j of the logits: the last layer's index, or one more if something follows it
    has_biases  then what Arora et al. 2018 prove holds for the *_with_bias cushions only
    found       quantities of the network as a whole by name, in the order of the table
    warnings    what the reader of a number should know: that no power law fits, for example
    is_chain    every layer's input is made of the layer's before it alone, so the paper's induction applies
    """

    _scopes = (NETWORK,)
    layers: tuple[LayerMeasures, ...]
    logits: int
    provenance: MeasureProvenance
    has_biases: bool
    found: Mapping[str, Quantity] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.layers)

    @property
    def is_chain(self) -> bool:
        return all(layer.alone for layer in self.layers)

    @property
    def network_quantities(self) -> dict[str, Quantity]:
        """Those that were measured on the network as a whole, by name."""
        return dict(self.found)

    def layer(self, name: str) -> LayerMeasures:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise one_of(name, [layer.name for layer in self.layers], option="layer")

    def columns(self) -> tuple[Definition, ...]:
        """What tables show of the layers: the main quantities that were measured, or all where none of these was."""
        measured = [row for name, row in QUANTITIES.items() if any(name in layer.found for layer in self.layers)]
        return tuple([row for row in measured if row.symbol] or measured)

    def to_json(self, *, with_samples: bool = False) -> dict[str, object]:
        """{"layers": [...], "network": {...}, "provenance": {...}}; with_samples: every sample's number as well."""
        network: dict[str, object] = {
            "depth": self.depth,
            "logits": self.logits,
            "is_chain": self.is_chain,
            "has_biases": self.has_biases,
        }
        network |= {name: quantity.to_json(with_samples=with_samples) for name, quantity in self.found.items()}
        warnings = {"warnings": list(self.warnings)} if self.warnings else {}
        return {
            "layers": [layer.to_json(with_samples=with_samples) for layer in self.layers],
            "network": network,
            **warnings,
            "provenance": self.provenance.to_json(),
        }

    def display_facts(self) -> dict[str, object]:
        told = self.provenance
        about: dict[str, object] = {"model": told.model, "data_name": told.data_name, "samples": told.samples}
        return about | {"layers": self.depth} | {name: quantity.value for name, quantity in self.found.items()}

    def display_rows(self) -> list[dict[str, object]]:
        """One row a layer: the worst over the samples of each quantity that was measured."""
        return [
            {"layer": layer.name, "kind": layer.kind, "parameters": layer.parameters}
            | {name: quantity.value for name, quantity in layer.found.items()}
            for layer in self.layers
        ]

    def display_text(self) -> str:
        from netpact.measurements.wording import describe

        return describe(self)
