"""The record that states a bound, with everything that is needed to recompute it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import ClassVar

from netpact.certificates import wording
from netpact.certificates.base import BASE_FIELDS, check_base
from netpact.certificates.bound import FORMS, risk_bound
from netpact.certificates.helper import Helper
from netpact.certificates.inputs import (
    MAX_CODE_BITS,
    MAX_SAMPLES,
    check_share,
    error_counts,
    failure_probability,
    hex_digest,
    make_plain,
)
from netpact.certificates.json_form import Layout
from netpact.certificates.length import code_bits as count_code_bits
from netpact.certificates.names import check_constants, check_fingerprint, check_name, check_version
from netpact.certificates.program import AS_RUN, WHOLE, Program, check_program
from netpact.certificates.statement import Statement
from netpact.core.checks import check_choice, check_flag, check_instance, check_integer
from netpact.core.errors import PactError

# What was fixed before the data were drawn, and is therefore free.
PRIORS: Mapping[str, str] = MappingProxyType(
    {
        "data-free": "nothing but netpact's decoder was fixed before the data",
        "conditional": "the decoder and a module of the user were fixed before the data",
        "transfer": "the decoder and a base network, trained on other data, were fixed before the data",
        "data-dependent": "the decoder was fixed before the data, and a helper network was computed from a part of "
        "them that the bound leaves out",
    }
)
# What fixed the order of samples that are split by their places.
ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "published": "the data set, by its published order",
        "public-seed": "the samples are sorted by the SHA-256 of their inputs, and the seed of the split was public "
        "before they were collected",
        "declared": "whoever wrote the data down, who declares not to have looked at the samples for it",
    }
)
# How the network is run: in a precision, whoever runs it; or by one program, which the certificate then states.
PROVEN_ARITHMETICS = ("float32", "float64", WHOLE)
ARITHMETICS = (*PROVEN_ARITHMETICS, AS_RUN)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Statement):
    """A proven bound on the risk of the network in a message: a function of bytes, errors, samples and delta alone.

    errors counts every training sample whose margin is not clearly positive; near_ties of them lie within the rounding
    tolerance. With arithmetic as run the program that ran the network is stated, errors are what it gets wrong, and
    near_ties counts samples, right or wrong, that another program may decide otherwise.

    The test fields are for comparison and are not part of the bound. With a data-dependent prior the samples are those
    that the helper network has not seen; data_fingerprint is that of all training data.
    copies are exact copies of samples: they are left out, and not among `samples`; with `repeats` the distribution is
    declared to repeat values, and they are included. order says what fixed the order of the samples, if it decides
    which of them are certified: a key of ORDERS; order_source says where a public seed comes from.
    standardised has the constants by which the inputs were standardised, MEAN/STD; "" where they were not.
    """

    layout: ClassVar[Layout] = Layout(
        groups={
            "data": {"name": "data_name", "fingerprint": "data_fingerprint"},
            "base": BASE_FIELDS,
            "module_code": {"sha256": "module_sha256"},
            "copies": {"number": "copies", "repeats": "repeats"},
            "order": {"fixed_by": "order", "source": "order_source"},
            "inputs": {"standardised": "standardised"},
        },
        records={"helper": Helper, "program": Program},
        optional=("base", "copies", "helper", "inputs", "module_code", "order", "program"),
        numbers=("train_error", "test_error"),
    )
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "errors"

    bound: float
    form: str
    delta: float
    errors: int
    samples: int
    code_bits: int
    message_bytes: int
    message_sha256: str
    prior: str
    arithmetic: str
    data_name: str
    data_fingerprint: str
    classes: int
    test_errors: int | None = None
    test_samples: int | None = None
    test_fingerprint: str | None = None
    near_ties: int
    kl_bound: float
    hoeffding_bound: float
    decoder_version: int
    netpact_version: str
    module: str = ""
    base_name: str = ""
    base_sha256: str = ""
    base_data_fingerprint: str = ""
    helper: Helper | None = None
    copies: int = 0
    repeats: bool = False
    order: str = ""
    order_source: str = ""
    module_sha256: str = ""
    program: Program | None = None
    standardised: str = ""

    def __post_init__(self) -> None:
        make_plain(self)
        self._check_numbers()
        self._check_test()
        self._check_names()
        self._check_agreement()
        self._check_base()
        self._check_helper()
        self._check_order()

    def _check_numbers(self) -> None:
        k, m = error_counts(errors=self.errors, samples=self.samples)
        failure_probability(self.delta)
        check_flag(self.repeats, where="repeats")
        for name in ("bound", "kl_bound", "hoeffding_bound"):
            check_share(getattr(self, name), where=name, counted=k, samples=m)
        for name, least, most in (
            ("code_bits", 0, MAX_CODE_BITS),
            ("message_bytes", 0, MAX_CODE_BITS),
            ("classes", 2, None),
            ("copies", 0, m if self.repeats else MAX_SAMPLES),
            ("near_ties", 0, m if self.as_run else k),
            ("decoder_version", 0, None),
        ):
            check_integer(getattr(self, name), where=name, least=least, most=most)

    def _check_test(self) -> None:
        given = [value is not None for value in (self.test_errors, self.test_samples, self.test_fingerprint)]
        if not any(given):
            return
        if not all(given):
            raise PactError(
                "test_errors, test_samples and test_fingerprint are given together or not at all", where="test_samples"
            )
        most = check_integer(self.test_samples, where="test_samples", least=1, most=MAX_SAMPLES)
        check_integer(self.test_errors, where="test_errors", least=0, most=most)
        check_fingerprint(self.test_fingerprint, name="test_fingerprint")

    def _check_names(self) -> None:
        for name, value, table in (
            ("form", self.form, FORMS),
            ("prior", self.prior, PRIORS),
            ("arithmetic", self.arithmetic, ARITHMETICS),
        ):
            check_choice(value, table, where=name)
        check_name(self.data_name, name="data_name")
        check_fingerprint(self.data_fingerprint, name="data_fingerprint")
        check_version(self.netpact_version, name="netpact_version")
        if self.module != "":
            check_name(self.module, name="module")
        if self.module_sha256 != "":
            hex_digest(self.module_sha256, name="module_sha256")
        if self.standardised != "":
            check_constants(self.standardised, name="standardised")
        hex_digest(self.message_sha256, name="message_sha256")
        check_program(self.program, self.arithmetic)

    def _check_agreement(self) -> None:
        counted = count_code_bits(self.message_bytes)
        if self.code_bits != counted:
            raise PactError(
                f"{self.message_bytes} bytes count for {counted} bits, got {self.code_bits}",
                where="code_bits",
                hint="every byte of the message and the announcement of its length count",
            )
        if self.bound != {"exact": self.bound, "kl": self.kl_bound, "hoeffding": self.hoeffding_bound}[self.form]:
            raise PactError(
                f"the bound {self.bound!r} differs from the {self.form}_bound given beside it", where="bound"
            )
        # A base and a helper go with either kind of network: the sentence then names both.
        if {"conditional": not self.module, "data-free": bool(self.module)}.get(self.prior, False):
            raise PactError(
                f"prior {self.prior!r} does not go with module {self.module!r}",
                where="prior",
                hint="a module of the user makes a certificate conditional; netpact's own networks have no name here",
            )
        if self.module_sha256 and not self.module:
            raise PactError("a hash of the code of a module, but no module", where="module_sha256")

    def _check_base(self) -> None:
        for name in ("base_name", "base_sha256", "base_data_fingerprint"):
            check_instance(getattr(self, name), str, where=name)
        if self.prior != "transfer":
            if self.base_name or self.base_sha256 or self.base_data_fingerprint:
                raise PactError(f"prior {self.prior!r} does not go with a base network", where="prior")
            return
        check_base(self)

    def _check_helper(self) -> None:
        if (self.prior == "data-dependent") != isinstance(self.helper, Helper):
            raise PactError(
                f"prior {self.prior!r} does not go with helper {self.helper!r}",
                where="prior",
                hint="a data-dependent certificate names its helper network, and no other one has any",
            )
        if self.helper is None:
            return
        check_integer(self.helper.errors, where="helper, errors", most=self.samples)
        check_share(self.helper.bound, where="helper, bound", counted=self.helper.errors, samples=self.samples)

    def _check_order(self) -> None:
        if self.helper is None:
            if self.order or self.order_source:
                raise PactError("no samples are held out by their places here", where="order")
            return
        if not self.order:  # a certificate from before the order was stated: nothing is known of it
            object.__setattr__(self, "order", "declared")
        check_choice(self.order, ORDERS, where="order")
        if self.order == "public-seed":
            check_name(self.order_source, name="order_source")
        elif self.order_source != "":
            raise PactError("only a public seed has a source", where="order_source")

    @property
    def as_run(self) -> bool:
        return self.arithmetic == AS_RUN

    @property
    def train_error(self) -> float:
        return self.errors / self.samples

    @property
    def test_error(self) -> float | None:
        if self.test_errors is None or self.test_samples is None:
            return None
        return self.test_errors / self.test_samples

    @property
    def contradicted(self) -> bool:
        """Whether the test error is above the bound: a premise is false, or the test samples come from elsewhere."""
        return self.test_error is not None and self.test_error > self.bound

    @property
    def is_vacuous(self) -> bool:
        """Whether guessing a class, each alike, does as well as what is proven."""
        return self.bound >= 1 - 1 / self.classes

    @property
    def test_bound(self) -> float | None:
        """The hold-out bound of the test samples: exact, 0 bits, the same delta. No part of what the file states.

        It holds if the test samples were used in no choice at all, which nothing here can check.
        """
        if self.test_errors is None or self.test_samples is None:
            return None
        return risk_bound(errors=self.test_errors, samples=self.test_samples, code_bits=0, delta=self.delta)

    @property
    def beats_hold_out(self) -> bool | None:
        """Whether the bound is below the hold-out bound of the helper network; None where there is no helper."""
        return None if self.helper is None else self.bound < self.helper.bound
