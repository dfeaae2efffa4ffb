"""What was found in one network, as plain numbers that survive in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netpact.experiments import Study
from netpact.papers.li.bound_history import BoundPoint
from netpact.papers.li.layer_properties import LayerProperties
from netpact.papers.li.pruning import Pruned
from netpact.papers.li.spectrum import LayerSpectrum
from netpact.runs import JsonValue


@dataclass(frozen=True, kw_only=True)
class TensorStudy(Study):
    """One network, trained and measured.

    layers  the CP spectrum of each convolution
    pruned  for each threshold; empty where it was not asked for
    properties  of the convolutions; empty where they were not asked for
    history  the bound over training; empty where it was not asked for
    arora   log10 of the effective parameters by Arora et al. 2018, of all convolutions; None where infinite or not
            asked for
    """

    layers: tuple[LayerSpectrum, ...]
    pruned: tuple[Pruned, ...] = ()
    properties: tuple[LayerProperties, ...] = ()
    history: tuple[BoundPoint, ...] = ()
    arora: float | None = None

    def summary(self) -> dict[str, JsonValue]:
        """Without the amplitudes."""
        brief: list[JsonValue] = [
            {"name": one.name, "rank": len(one.amplitudes), "largest": one.amplitudes[0]} for one in self.layers
        ]
        return {**self.to_json(), "layers": brief}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> TensorStudy:
        layers = tuple(map(LayerSpectrum.read, record["layers"]))
        pruned = tuple(map(Pruned.read, record["pruned"]))
        properties = tuple(map(LayerProperties.read, record["properties"]))
        history = tuple(map(BoundPoint.read, record["history"]))
        return cls(**{**record, "layers": layers, "pruned": pruned, "properties": properties, "history": history})
