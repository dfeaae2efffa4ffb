"""The statement about the network before compression: the compressed one's bound, and how often the two disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import ClassVar

from netpact.certificates import original_wording as wording
from netpact.certificates.certificate import ARITHMETICS, Certificate
from netpact.certificates.fresh import Fresh
from netpact.certificates.helper import price_itself
from netpact.certificates.inputs import (
    MAX_SAMPLES,
    check_share,
    failure_probability,
    hex_digest,
    make_plain,
)
from netpact.certificates.json_form import Layout
from netpact.certificates.names import check_fingerprint, check_name
from netpact.certificates.program import Program, check_program
from netpact.certificates.statement import Statement
from netpact.core.checks import check_choice, check_instance, check_integer, check_number
from netpact.core.errors import PactError


def add_bounds(*, compressed_bound: float, disagreement_bound: float) -> float:
    """A bound on the original network's risk from one on the compressed network's and one on their disagreement.

        risk(f) <= risk(g) + P[f and g disagree]

    Where both networks surely predict one class, f errs only if g does. The sum is capped at 1 and rounded outward.
    """
    total = compressed_bound + disagreement_bound
    return min(1.0, math.nextafter(total, math.inf))


@dataclass(frozen=True, kw_only=True, repr=False)
class OriginalCertificate(Statement):
    """A proven bound on the risk of the network that was compressed. delta is spent in two halves, one on each part.

    compressed       the certificate of the network in the file, exact form, with delta / 2
    disagreements    the unlabelled samples on which the two networks are not proven to predict the same class
    original_sha256  over the original network's parameters and buffers: the network that the statement is about
    program          that ran the original network, where its arithmetic is as run
    hold_out_bits, hold_out_bound
                     where the file holds the helper network of a data-dependent prior, unchanged: the hold-out bound
                     that takes the place of the certificate's in the sum, from the same errors and samples, and the
                     bits of helper.price_itself. None where the certificate's bound is added
    """

    layout: ClassVar[Layout] = Layout(
        groups={"by_hold_out": {"code_bits": "hold_out_bits", "bound": "hold_out_bound"}},
        records={"compressed": Certificate, "program": Program},
        optional=("by_hold_out", "program"),
    )
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "disagreements"

    bound: float
    delta: float
    compressed: Certificate
    disagreements: int
    disagreement_bound: float
    unlabelled_samples: int
    unlabelled_duplicates: int
    unlabelled_name: str
    unlabelled_fingerprint: str
    original_name: str
    original_sha256: str
    original_arithmetic: str
    program: Program | None = None
    hold_out_bits: int | None = None
    hold_out_bound: float | None = None

    def __post_init__(self) -> None:
        make_plain(self)
        self._check_numbers()
        for name in ("unlabelled_name", "original_name"):
            check_name(getattr(self, name), name=name)
        check_fingerprint(self.unlabelled_fingerprint, name="unlabelled_fingerprint")
        hex_digest(self.original_sha256, name="original_sha256")
        check_choice(self.original_arithmetic, ARITHMETICS, where="original_arithmetic")
        check_program(self.program, self.original_arithmetic)
        self._check_hold_out()
        self._check_agreement()

    @property
    def as_run(self) -> bool:
        return self.compressed.as_run or self.program is not None

    @property
    def by_hold_out(self) -> bool:
        """Whether the network in the file is a helper itself, and its part of the sum the helper's hold-out bound."""
        return self.hold_out_bound is not None

    @property
    def compressed_bound(self) -> float:
        """The part of the sum that is about the network in the file."""
        return self.compressed.bound if self.hold_out_bound is None else self.hold_out_bound

    @property
    def fresh(self) -> Fresh:
        """The unlabelled samples, as all statements on fresh samples describe theirs."""
        return Fresh(
            name=self.unlabelled_name,
            fingerprint=self.unlabelled_fingerprint,
            samples=self.unlabelled_samples,
            copies=self.unlabelled_duplicates,
            repeats=self.compressed.repeats,
            data_name=self.compressed.data_name,
            data_fingerprint=self.compressed.data_fingerprint,
            test_fingerprint=self.compressed.test_fingerprint or "",
        )

    def _check_numbers(self) -> None:
        check_instance(self.compressed, Certificate, where="compressed")
        failure_probability(self.delta)
        check_number(self.bound, where="bound")
        samples = check_integer(self.unlabelled_samples, where="unlabelled_samples", least=1, most=MAX_SAMPLES)
        counted = check_integer(self.disagreements, where="disagreements", least=0, most=samples)
        check_share(self.disagreement_bound, where="disagreement_bound", counted=counted, samples=samples)
        most = samples - 1 if self.compressed.repeats else MAX_SAMPLES
        check_integer(self.unlabelled_duplicates, where="unlabelled_duplicates", least=0, most=most)

    def _check_hold_out(self) -> None:
        bits, bound, helper = self.hold_out_bits, self.hold_out_bound, self.compressed.helper
        if bits is None and bound is None:
            return
        if bits is None or bound is None:
            raise PactError("bits and bound are given together or not at all", where="by_hold_out")
        if helper is None:
            raise PactError("only a helper network has a hold-out bound here", where="by_hold_out")
        check_integer(bits, where="by_hold_out, code_bits", least=0)
        price = price_itself(percent=helper.percent, counter=helper.counter)
        if bits != price:
            raise PactError(
                f"the helper itself, split {helper.percent} % by counter {helper.counter}, costs {price} "
                f"bits, got {bits}",
                where="by_hold_out",
            )
        counted, samples = self.compressed.errors, self.compressed.samples
        check_share(bound, where="by_hold_out, bound", counted=counted, samples=samples)

    @property
    def is_vacuous(self) -> bool:
        return self.bound >= 1 - 1 / self.compressed.classes

    def _check_agreement(self) -> None:
        if self.compressed.form != "exact" or self.compressed.delta != self.delta / 2:
            raise PactError(
                f"the compressed network's part must be exact with delta = {self.delta / 2!r}, "
                f"got {self.compressed.form} with {self.compressed.delta!r}",
                where="compressed",
            )
        # In rational numbers: the float sum of the two may round down.
        least = min(Fraction(1), Fraction(self.compressed_bound) + Fraction(self.disagreement_bound))
        if not least <= Fraction(self.bound) <= 1:
            raise PactError(
                f"must be from the sum of its two parts {float(least)!r} to 1, got {self.bound!r}", where="bound"
            )
