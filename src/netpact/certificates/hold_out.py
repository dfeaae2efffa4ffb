"""The statement about one network on labelled samples that it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import ClassVar

from netpact.certificates import hold_out_wording as wording
from netpact.certificates.fresh import Fresh, FreshStatement, Identified
from netpact.certificates.json_form import Layout
from netpact.certificates.program import Program
from netpact.core.checks import check_choice, check_integer

# Which network a hold-out statement is about, and how its sentence calls it.
SUBJECTS: Mapping[str, str] = MappingProxyType({"file": "the network in this file", "original": "the original network"})


@dataclass(frozen=True, kw_only=True, repr=False)
class HoldOutCertificate(FreshStatement):
    """A proven bound on the risk of a network that was fixed before the samples were drawn: 0 bits.

        risk <= max{p : P[Bin(n, p) <= errors] >= delta}

    about   a key of SUBJECTS
    errors  all samples that the network is not proven to get right; as run: that it gets wrong
    """

    layout: ClassVar[Layout] = Layout(
        records={"network": Identified, "fresh": Fresh, "program": Program}, optional=("program",)
    )
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "errors"

    about: str
    network: Identified
    errors: int
    classes: int

    def __post_init__(self) -> None:
        self._check(self.errors)
        check_choice(self.about, SUBJECTS, where="about")
        check_integer(self.classes, where="classes", least=2)

    @property
    def networks(self) -> tuple[Identified, ...]:
        return (self.network,)

    @property
    def is_vacuous(self) -> bool:
        """Whether guessing a class, each alike, does as well as what is proven."""
        return self.bound >= 1 - 1 / self.classes
