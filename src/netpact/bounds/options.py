"""How the bounds are evaluated: the margin, the failure probability, and the options that bounds have of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from netpact.bounds.bound import option_records
from netpact.bounds.margin import Gamma
from netpact.certificates.inputs import failure_probability
from netpact.core.checks import check_choice
from netpact.core.errors import one_of

READING_NAMES = ("unrolled", "reshaped")
_USUAL_QUANTILE = 0.1  # a tenth of the samples that are right is below the margin
RecordT = TypeVar("RecordT")


@dataclass(frozen=True, kw_only=True)
class NormOptions:
    """convolutions  how a convolution becomes a matrix: the linear map that it is, or its filters as rows."""

    convolutions: str = field(
        default="unrolled",
        metadata={
            "metavar": "NAME",
            "help": "unrolled: their true matrices and operator norms; reshaped: filters as one matrix.",
        },
    )

    def __post_init__(self) -> None:
        check_choice(self.convolutions, READING_NAMES, where="convolutions")


@dataclass(frozen=True, init=False)
class EstimateOptions:
    """gamma  the margin: a number, a quantile of the training margins, or a grid declared beforehand
    delta  the failure probability, where a bound states one
    own    records of options that bounds have of their own; their fields can be given by name:
           EstimateOptions(convolutions="reshaped", zeta=0.01)
    """

    gamma: Gamma
    delta: float
    own: tuple[object, ...]

    def __init__(
        self, *, gamma: Gamma | None = None, delta: float = 0.05, own: Iterable[object] = (), **named: object
    ) -> None:
        records: dict[type, Any] = {type(record): record for record in own}
        for name, value in named.items():
            kinds = option_records()
            if name not in kinds:
                raise one_of(name, ("gamma", "delta", *kinds), option="options")
            records[kinds[name]] = replace(records.get(kinds[name], kinds[name]()), **{name: value})
        object.__setattr__(self, "gamma", Gamma(right_quantile=_USUAL_QUANTILE) if gamma is None else gamma)
        object.__setattr__(self, "delta", failure_probability(delta))
        object.__setattr__(self, "own", tuple(records.values()))

    def of(self, kind: type[RecordT]) -> RecordT:
        """The record of this kind: the one that was given, or its defaults."""
        return next((record for record in self.own if isinstance(record, kind)), None) or kind()
