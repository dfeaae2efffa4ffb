"""The task behind Table 4: one CP network, and how many parameters each of its layers needs by three accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netpact.bounds import EstimateOptions
from netpact.experiments import Setting, Study, train_network
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.tensors import tensor_properties
from netpact.methods.ranks_from_margin import find_ranks
from netpact.network import measure_margins
from netpact.papers.li.by_arora import count_arora
from netpact.papers.li.effective import count_effective
from netpact.papers.li.studying import start_by_default
from netpact.runs import JsonValue


@dataclass(frozen=True)
class LayerNumbers:
    """weights: of the dense layer; components: in the CP layer; valid, printed: numbers in those that are kept.

    arora  log10 of the effective parameters of Arora et al. 2018, of the composed layer; None where infinite
    """

    name: str
    kind: str
    weights: int
    components: int
    valid: int
    printed: int
    arora: float | None


@dataclass(frozen=True, kw_only=True)
class EffectiveStudy(Study):
    """gamma: the margin that ranks were chosen for; eps = gamma / (2 max |f|)."""

    gamma: float
    eps: float
    layers: tuple[LayerNumbers, ...]

    @property
    def convolutions(self) -> tuple[LayerNumbers, ...]:
        return tuple(layer for layer in self.layers if layer.kind == "conv2d")

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> EffectiveStudy:
        return cls(**{**record, "layers": tuple(LayerNumbers(**layer) for layer in record["layers"])})


def study_effective(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train one network, measure its tensors, and choose ranks for the margin of a tenth of the right samples."""
    asked = Setting.read(setting)
    trained = train_network(asked, start=start_by_default)
    network, _ = fold_for_measuring(trained.module, trained.data)
    properties = tensor_properties(network, trained.data)
    gamma = EstimateOptions().gamma.candidates(measure_margins(network, trained.data.train))[0]
    valid, printed = (
        count_effective(properties, find_ranks(properties, margin=gamma, as_printed=flag)) for flag in (False, True)
    )
    arora = count_arora(network, trained.data, asked.case.jacobians, trained.seed)
    return EffectiveStudy(
        **trained.study.facts(),
        gamma=gamma,
        eps=gamma / (2 * properties.output_norm),
        layers=tuple(
            LayerNumbers(
                layer.name, layer.kind, one.weights, one.components, one.parameters, two.parameters, arora[layer.name]
            )
            for layer, one, two in zip(properties.layers, valid, printed, strict=True)
        ),
    ).to_json()
