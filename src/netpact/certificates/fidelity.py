"""The statement about two networks: how often the one in the file and its original predict different classes."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from netpact.certificates import fidelity_wording as wording
from netpact.certificates.fresh import Fresh, FreshStatement, Identified
from netpact.certificates.json_form import Layout
from netpact.certificates.program import Program


@dataclass(frozen=True, kw_only=True, repr=False)
class FidelityCertificate(FreshStatement):
    """A proven bound on the share of inputs on which two networks disagree, from fresh inputs without labels: 0 bits.

        P[f and g disagree] <= max{p : P[Bin(n, p) <= disagreements] >= delta}

    disagreements  the inputs on which the two are not proven to predict the same class
    """

    layout: ClassVar[Layout] = Layout(
        records={"compressed": Identified, "original": Identified, "fresh": Fresh, "program": Program},
        optional=("program",),
    )
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "disagreements"

    compressed: Identified
    original: Identified
    disagreements: int

    def __post_init__(self) -> None:
        self._check(self.disagreements)

    @property
    def networks(self) -> tuple[Identified, ...]:
        return self.compressed, self.original
