"""What was found in one network, as plain numbers that survive in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from netpact.experiments import Study
from netpact.papers.shin.spiked import Spikes
from netpact.papers.shin.table import TableRow
from netpact.runs import JsonValue


@dataclass(frozen=True)
class FirstLayer:
    """A dense first layer as a compression (section 5.1): std / mean of |W d| / |d| over differences d of inputs.

    trained, noisy, gaussian  of W, of sqrt(t) G + B, of sqrt(t) G alone with the size of W
    spikes                    of B on the inputs, its entries those above one std
    """

    trained: float
    noisy: float
    gaussian: float
    spikes: Spikes

    @staticmethod
    def read(record: Mapping[str, Any]) -> FirstLayer:
        return FirstLayer(**{**record, "spikes": Spikes(**record["spikes"])})


@dataclass(frozen=True)
class LastLayer:
    """The final dense layer as section 5.2 sees it: a symmetric stable law is fitted to its entries.

    missed  the share of the entries that no bracket of (13) has
    """

    entries: int
    alpha: float
    scale: float
    missed: float


@dataclass(frozen=True, kw_only=True)
class NoiseStudy(Study):
    """row: of Table 1; first: where the first layer is dense; simulated: power-law matrices of this seed."""

    row: TableRow
    first: FirstLayer | None
    last: LastLayer
    simulated: tuple[Spikes, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        return {**asdict(self), "row": self.row.to_json()}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> NoiseStudy:
        first = record["first"]
        return cls(
            **{
                **record,
                "row": TableRow.read(record["row"]),
                "first": None if first is None else FirstLayer.read(first),
                "last": LastLayer(**record["last"]),
                "simulated": tuple(Spikes(**one) for one in record["simulated"]),
            }
        )
