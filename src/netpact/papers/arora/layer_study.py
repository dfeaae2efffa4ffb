"""What was measured on one trained network, layer by layer, as plain numbers that survive in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from netpact.core.json import finite
from netpact.experiments import Study
from netpact.measurements import LayerMeasures, Quantity
from netpact.monitoring.observation import Observation, read_observation
from netpact.runs import JsonValue

CUSHION = "arora_layer_cushion"
INTERLAYER = "min_interlayer_cushion_unclipped"
CONTRACTION = "activation_contraction"
SMOOTHNESS = "interlayer_smoothness"
DRAWN = (CUSHION, INTERLAYER, CONTRACTION, SMOOTHNESS)
_KEPT = 400  # numbers of a distribution: enough for a figure


@dataclass(frozen=True)
class Sampled:
    """A quantity over the samples: the worst, the median, and evenly spaced quantiles; None where infinite."""

    worst: float | None
    median: float | None
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class StudyLayer:
    """units: h_i; log10_effective: of the effective parameters of Table 1, None where infinite."""

    name: str
    parameters: int
    units: int
    log10_effective: float | None
    sampled: Mapping[str, Sampled]

    @property
    def percent(self) -> float:
        """Effective parameters as a percentage of the actual ones."""
        return math.inf if self.log10_effective is None else 100 * 10**self.log10_effective / self.parameters


@dataclass(frozen=True, kw_only=True)
class LayerStudy(Study):
    """One network, trained and measured.

    random    the layers of a network of Gaussian weights with the same structure; empty where none was measured
    bounds    log10 of each capacity, norms of convolutions as the linear maps that they are; reshaped: filters as one
              matrix, norm-based bounds only
    epochs    what the Monitor saw
    """

    gamma: float
    layers: tuple[StudyLayer, ...]
    random: tuple[StudyLayer, ...]
    bounds: Mapping[str, float | None]
    reshaped: Mapping[str, float | None]
    epochs: tuple[Observation, ...]

    def to_json(self) -> dict[str, JsonValue]:
        return {**asdict(self), "epochs": [one.to_json() for one in self.epochs]}

    def summary(self) -> dict[str, JsonValue]:
        """Without the distributions and the lines of the Monitor."""
        record = {name: value for name, value in self.to_json().items() if name not in ("layers", "random", "epochs")}
        return record | {"layers": [_brief(layer) for layer in self.layers]}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> LayerStudy:
        layers = {name: tuple(_read_layer(layer) for layer in record[name]) for name in ("layers", "random")}
        epochs = tuple(read_observation(one, where="study") for one in record["epochs"])
        return cls(**{**record, **layers, "epochs": epochs})


def describe_layer(layer: LayerMeasures, *, log10_effective: float | None) -> StudyLayer:
    found = dict(layer.quantities())
    sampled = {name: _sample(found[name]) for name in DRAWN if name in found}
    return StudyLayer(layer.name, layer.parameters, layer.units, log10_effective, sampled)


def _sample(quantity: Quantity) -> Sampled:
    numbers = np.array([quantity.value]) if quantity.samples is None else np.sort(quantity.samples)
    places = np.unique(np.linspace(0, len(numbers) - 1, min(_KEPT, len(numbers))).round().astype(int))
    kept = numbers[places]
    median = float(numbers[len(numbers) // 2])
    return Sampled(finite(quantity.value), finite(median), tuple(kept[np.isfinite(kept)].tolist()))


def _read_layer(record: Mapping[str, Any]) -> StudyLayer:
    sampled = {
        name: Sampled(one["worst"], one["median"], tuple(one["numbers"])) for name, one in record["sampled"].items()
    }
    return StudyLayer(**{**record, "sampled": sampled})


def _brief(layer: StudyLayer) -> dict[str, JsonValue]:
    return {
        "name": layer.name,
        "parameters": layer.parameters,
        "log10_effective": layer.log10_effective,
        "medians": {name: one.median for name, one in layer.sampled.items()},
        "worst": {name: one.worst for name, one in layer.sampled.items()},
    }
