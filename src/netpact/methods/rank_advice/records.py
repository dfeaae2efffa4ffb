"""What rank advice says: a curve for each layer, a rank or none, and what all ranks together do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

from netpact.core.display import Displayed
from netpact.core.json import finite
from netpact.core.percent import percent
from netpact.methods.rank_advice.listing import list_advice
from netpact.methods.rank_advice.options import RankOptions


@dataclass(frozen=True, kw_only=True)
class Change:
    """How a network with other layers differs from the original on the samples.

    logits     sqrt(sum |f - f^|^2 / sum |f|^2), f the logits
    largest    the largest |f - f^|_2 of a sample
    decisions  share of the samples whose largest logit is another one
    accuracy   of the changed network, on the labels given
    """

    logits: float
    largest: float
    decisions: float
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class RankPoint:
    """One layer at one rank, as it would be encoded; all others as they are.

    rank             None for the layer as it is, its weights rounded
    bytes            of its weights in a message, the change of structure included; without the bias
    fit_error        |W - W_R|_F / |W|_F of the decomposition
    error            the same after rounding the factors
    weight_change    an upper bound on |W - W^|_op, W^ the composed rounded layer
    deviation_bound  on |f - f^|_2, the largest over some of the samples; None where it was not asked for or is unknown
    """

    rank: int | None
    parameters: int
    flops: int
    bytes: float
    fit_error: float
    error: float
    weight_change: float
    deviation_bound: float | None
    change: Change

    def to_json(self) -> dict[str, object]:
        bound = None if self.deviation_bound is None else finite(self.deviation_bound)
        return {**asdict(self), "deviation_bound": bound}


@dataclass(frozen=True, kw_only=True)
class LayerAdvice:
    """points by rising rank; the layer as it is, is apart.

    rank  the recommended one; None: leave the layer as it is
    why   one sentence
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    as_it_is: RankPoint
    points: tuple[RankPoint, ...]
    rank: int | None
    why: str

    @property
    def chosen(self) -> RankPoint:
        return next((point for point in self.points if point.rank == self.rank), self.as_it_is)

    def to_json(self) -> dict[str, object]:
        points = [point.to_json() for point in self.points]
        return {
            "name": self.name,
            "kind": self.kind,
            "shape": list(self.shape),
            "rank": self.rank,
            "why": self.why,
            "as_it_is": self.as_it_is.to_json(),
            "points": points,
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RankAdvice(Displayed):
    """Measured on samples, so an estimate for any others; deviation bounds are proven for the samples they name.

    layers      those that have a CP form
    left_out    the others with a matrix of weights, each with the reason
    accuracy    of the network as it is
    rounded     how it differs once all its layers are rounded, none of them decomposed
    together    how it differs with all recommended ranks, and the other layers rounded
    runs        of the whole network with a joint choice, until one was found that keeps the tolerance
    note        why there are no deviation bounds; "" where there are
    """

    layers: tuple[LayerAdvice, ...]
    left_out: tuple[tuple[str, str], ...]
    accuracy: float
    rounded: Change
    together: Change
    runs: int
    samples: int
    data_name: str
    options: RankOptions
    note: str = ""

    @cached_property
    def ranks(self) -> dict[str, int]:
        """What CP(ranks=...) takes: layers that stay as they are have none."""
        return {layer.name: layer.rank for layer in self.layers if layer.rank is not None}

    @property
    def bytes_before(self) -> float:
        return sum(layer.as_it_is.bytes for layer in self.layers)

    @property
    def bytes(self) -> float:
        return sum(layer.chosen.bytes for layer in self.layers)

    def display_text(self) -> str:
        return list_advice(self)

    def display_facts(self) -> dict[str, object]:
        return {
            "ranks": len(self.ranks),
            "layers": len(self.layers),
            "bytes": round(self.bytes),
            "bytes_before": round(self.bytes_before),
            "decisions_changed": percent(self.together.decisions, places=2),
            "samples": self.samples,
            "data": self.data_name,
        }

    def display_rows(self) -> list[dict[str, object]]:
        """One row for each layer and rank."""
        return [
            {
                "layer": layer.name,
                "rank": point.rank,
                "chosen": point is layer.chosen,
                **{name: value for name, value in asdict(point).items() if name not in ("rank", "change")},
                **asdict(point.change),
            }
            for layer in self.layers
            for point in (*layer.points, layer.as_it_is)
        ]

    def to_json(self) -> dict[str, object]:
        asked = self.options
        return {
            "kind": "rank advice",
            "data": self.data_name,
            "samples": self.samples,
            "tolerance": asked.tolerance,
            "bits": asked.bits,
            "grid": asked.grid,
            "seed": asked.seed.number,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "bytes_before": self.bytes_before,
            "accuracy": self.accuracy,
            "rounded": asdict(self.rounded),
            "together": asdict(self.together),
            "runs": self.runs,
            "note": self.note,
            "left_out": [{"name": name, "why": why} for name, why in self.left_out],
            "layers": [layer.to_json() for layer in self.layers],
        }
