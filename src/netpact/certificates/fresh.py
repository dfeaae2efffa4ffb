"""What statements on fresh samples have in common: the samples, the networks, and that no bits are paid for.

A network that was fixed before the samples were drawn is one function, not one among many: the bound costs 0 bits
(Langford 2005, the test set bound).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netpact.certificates.certificate import ARITHMETICS
from netpact.certificates.inputs import MAX_SAMPLES, check_share, failure_probability, hex_digest, make_plain
from netpact.certificates.names import check_fingerprint, check_name
from netpact.certificates.part import Part
from netpact.certificates.program import AS_RUN, Program, check_program
from netpact.certificates.statement import Statement
from netpact.core.checks import check_choice, check_flag, check_instance, check_integer


@dataclass(frozen=True, kw_only=True)
class Identified(Part):
    """Which network, and how it is run.

    sha256  over its parameters and buffers; for the network in a file, over those that were decoded
    """

    where: ClassVar[str] = "network"

    name: str
    sha256: str
    arithmetic: str

    def __post_init__(self) -> None:
        make_plain(self)
        check_name(self.name, name="network, name")
        hex_digest(self.sha256, name="network, sha256")
        check_choice(self.arithmetic, ARITHMETICS, where="network, arithmetic")


@dataclass(frozen=True, kw_only=True)
class Fresh(Part):
    """Samples that nothing depends on.

    samples  how many are counted
    copies   exact copies of each other among them; left out, and not counted, unless the distribution `repeats` values
    data_fingerprint, test_fingerprint, base_data_fingerprint  of the data that have no input in common with them:
             training, test and the base network's; "" where there are none, or none were given
    """

    where: ClassVar[str] = "fresh"

    name: str
    fingerprint: str
    samples: int
    copies: int
    repeats: bool
    data_name: str
    data_fingerprint: str
    test_fingerprint: str = ""
    base_data_fingerprint: str = ""

    def __post_init__(self) -> None:
        make_plain(self)
        for name in ("name", "data_name"):
            check_name(getattr(self, name), name=f"fresh, {name}")
        for name in ("fingerprint", "data_fingerprint", "test_fingerprint", "base_data_fingerprint"):
            if getattr(self, name) != "" or name in ("fingerprint", "data_fingerprint"):
                check_fingerprint(getattr(self, name), name=f"fresh, {name}")
        check_flag(self.repeats, where="fresh, repeats")
        samples = check_integer(self.samples, where="fresh, samples", least=1, most=MAX_SAMPLES)
        most = samples - 1 if self.repeats else MAX_SAMPLES
        check_integer(self.copies, where="fresh, copies", least=0, most=most)


@dataclass(frozen=True, kw_only=True, repr=False)
class FreshStatement(Statement):
    """A proven bound on a rate, by binomial tail inversion of what was counted on fresh samples, with 0 bits.

    near_ties  of what was counted, within rounding of being otherwise. As run: all samples that are near ties
    """

    bound: float
    delta: float
    near_ties: int
    fresh: Fresh
    program: Program | None = None

    @property
    def networks(self) -> tuple[Identified, ...]:
        raise NotImplementedError

    @property
    def as_run(self) -> bool:
        return any(network.arithmetic == AS_RUN for network in self.networks)

    def _check(self, counted: object) -> None:
        """What a subclass checks when it is made. The formula is the verifier's part, and its second opinion's."""
        make_plain(self)
        check_instance(self.fresh, Fresh, where="fresh")
        for network in self.networks:
            check_instance(network, Identified, where="network")
        failure_probability(self.delta)
        number = check_integer(counted, where=self.counted, least=0, most=self.fresh.samples)
        check_share(self.bound, where="bound", counted=number, samples=self.fresh.samples)
        most = self.fresh.samples if self.as_run else number
        check_integer(self.near_ties, where="near_ties", least=0, most=most)
        check_program(self.program, *(network.arithmetic for network in self.networks))
