"""The statement about a classifier that a recipe makes from its samples: sample compression."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from netpact.certificates import selection_wording as wording
from netpact.certificates.base import BASE_FIELDS, check_base
from netpact.certificates.inputs import MAX_SAMPLES, check_share, failure_probability, hex_digest, make_plain
from netpact.certificates.json_form import Layout
from netpact.certificates.length import code_bits as count_code_bits
from netpact.certificates.names import check_fingerprint, check_name, check_version
from netpact.certificates.selections import selection_bound
from netpact.certificates.statement import Statement
from netpact.core.checks import check_flag, check_instance, check_integer, check_number
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True, repr=False)
class SelectionCertificate(Statement):
    """A proven bound on the risk of the classifier that a recipe makes from the training samples.

        risk <= selection_bound(picked + errors, samples, code_bits, delta)

    picked   samples that the recipe trains on
    errors   of the classifier on all others; they count like picked ones
    subset_bound    what the picked samples prove as a message, without the recipe's preference property
    hold_out_bound  from the test samples, with 0 bits; holds if they were used in no choice. None without test samples
    message_bytes, message_sha256, code_bits  of the recipe
    base_name, base_sha256, base_data_fingerprint  of the integer network whose activations are the features: the hash
             of its message, and of what it was trained on as far as that is known; all "" without a base
    """

    layout: ClassVar[Layout] = Layout(
        groups={"base": BASE_FIELDS}, optional=("base",), numbers=("selected", "train_error")
    )
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "errors"

    bound: float
    delta: float
    picked: int
    errors: int
    samples: int
    code_bits: int
    message_bytes: int
    message_sha256: str
    subset_bound: float
    data_name: str
    data_fingerprint: str
    classes: int
    copies: int
    repeats: bool
    test_errors: int | None
    test_samples: int | None
    test_fingerprint: str | None
    hold_out_bound: float | None
    netpact_version: str
    base_name: str = ""
    base_sha256: str = ""
    base_data_fingerprint: str = ""

    def __post_init__(self) -> None:
        make_plain(self)
        failure_probability(self.delta)
        samples = check_integer(self.samples, where="samples", least=1, most=MAX_SAMPLES)
        picked = check_integer(self.picked, where="picked", least=0, most=samples)
        errors = check_integer(self.errors, where="errors", least=0, most=samples - picked)
        check_share(self.bound, where="bound", counted=picked + errors, samples=samples)
        check_number(self.subset_bound, where="subset_bound", least=0, most=1)
        check_integer(self.message_bytes, where="message_bytes", least=1, most=1 << 20)
        if self.code_bits != count_code_bits(self.message_bytes):
            raise PactError(f"{self.code_bits!r} bits do not follow from {self.message_bytes} bytes", where="code_bits")
        needed = selection_bound(selected=picked + errors, samples=samples, code_bits=self.code_bits, delta=self.delta)
        if self.bound < needed - 1e-12:
            raise PactError(f"{self.bound!r} is smaller than the formula gives, {needed!r}", where="bound")
        check_name(self.data_name, name="data_name")
        check_fingerprint(self.data_fingerprint, name="data_fingerprint")
        check_version(self.netpact_version, name="netpact_version")
        hex_digest(self.message_sha256, name="message_sha256")
        check_integer(self.classes, where="classes", least=2)
        check_integer(self.copies, where="copies", least=0, most=MAX_SAMPLES)
        check_flag(self.repeats, where="repeats")
        for name in BASE_FIELDS.values():
            check_instance(getattr(self, name), str, where=name)
        if any(getattr(self, name) for name in BASE_FIELDS.values()):
            check_base(self)
        self._check_test()

    def _check_test(self) -> None:
        given = (self.test_errors, self.test_samples, self.test_fingerprint, self.hold_out_bound)
        if all(one is None for one in given):
            return
        if any(one is None for one in given):
            raise PactError("test_errors, _samples, _fingerprint and hold_out_bound: all of them or none", where="test")
        samples = check_integer(self.test_samples, where="test_samples", least=1, most=MAX_SAMPLES)
        errors = check_integer(self.test_errors, where="test_errors", least=0, most=samples)
        check_fingerprint(self.test_fingerprint, name="test_fingerprint")
        check_share(self.hold_out_bound, where="hold_out_bound", counted=errors, samples=samples)

    @property
    def prior(self) -> str:
        """What was fixed before the data: a key of PRIORS."""
        return "transfer" if self.base_sha256 else "data-free"

    @property
    def selected(self) -> int:
        return self.picked + self.errors

    @property
    def train_error(self) -> float:
        """Among the samples that were not picked."""
        left = self.samples - self.picked
        return self.errors / left if left else 0.0

    @property
    def test_error(self) -> float | None:
        if self.test_errors is None or self.test_samples is None:
            return None
        return self.test_errors / self.test_samples

    @property
    def is_vacuous(self) -> bool:
        """Whether guessing a class, each alike, does as well as what is proven."""
        return self.bound >= 1 - 1 / self.classes
