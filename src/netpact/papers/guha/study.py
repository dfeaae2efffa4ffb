"""What was found in one network, as plain numbers that survive in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netpact.experiments import Study

PRINTED, MEASURED = "guha-5.2", "guha-5.2 measured"
LISTED, LISTED_MEASURED = "guha-d.1", "guha-d.1 measured"
DENSE = "dense count"
COUNTING = "parameters"


@dataclass(frozen=True)
class BoundPoint:
    """After one epoch. bounds: natural logarithms, by name."""

    epoch: int
    train_error: float
    test_error: float
    gamma: float
    bounds: Mapping[str, float]

    @staticmethod
    def read(record: Mapping[str, Any]) -> BoundPoint:
        return BoundPoint(**record)


@dataclass(frozen=True, kw_only=True)
class BoundStudy(Study):
    """One network with its bounds.

    gamma         the margin of a tenth of the samples that are right
    bounds        natural logarithms of the bounds on the error, by name
    pruned_error  of the network that is pruned and rounded as far as gamma allows, on the test samples
    kept          the share of its weights that are not 0
    scale         the d of it; None where nothing could be pruned
    bits          for each of its numbers
    printed_scale the d that Lemma 4.4 as printed allows
    history       over training; empty where it was not asked for
    """

    gamma: float
    bounds: Mapping[str, float]
    pruned_error: float
    kept: float
    scale: float | None
    bits: int
    printed_scale: float
    history: tuple[BoundPoint, ...] = ()

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> BoundStudy:
        return cls(**{**record, "history": tuple(map(BoundPoint.read, record["history"]))})
