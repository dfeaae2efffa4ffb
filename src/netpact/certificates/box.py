"""The statement about the network before compression that needs no further samples: it is near the file's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from netpact.certificates import box_wording as wording
from netpact.certificates.certificate import PROVEN_ARITHMETICS, Certificate
from netpact.certificates.inputs import check_share, failure_probability, hex_digest, make_plain
from netpact.certificates.json_form import Layout
from netpact.certificates.length import code_bits as count_code_bits
from netpact.certificates.names import check_name
from netpact.certificates.program import AS_RUN, WHOLE
from netpact.certificates.statement import Statement
from netpact.core.checks import check_choice, check_instance, check_integer
from netpact.core.errors import PactError

MAX_BOX_BYTES = 1 << 16


def refuse_as_run(arithmetic: str) -> None:
    if arithmetic in (AS_RUN, WHOLE):
        raise PactError(
            "a box bounds every network near the one in the file: nothing is known of how one program runs those, and "
            "an integer network has none near it",
            where="arithmetic",
            hint="use a proven arithmetic, or fresh unlabelled samples",
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxCertificate(Statement):
    """A proven bound on the risk of every network in a box around the one in the file, the original among them.

    compressed       the certificate of the network in the file, with the same delta: another statement, which gives
                     message, data and prior
    box              a second message, in hexadecimal digits: how far each layer may be from the file's
    code_bits        of the message and of the box together, each with its length announced
    errors           the training samples whose margin is not larger than what the box can take away
    original_sha256  over the original network's parameters and buffers; it lies in the box
    """

    layout: ClassVar[Layout] = Layout(records={"compressed": Certificate})
    words: ClassVar[ModuleType] = wording
    counted: ClassVar[str] = "errors"

    bound: float
    delta: float
    compressed: Certificate
    box: str
    code_bits: int
    errors: int
    original_name: str
    original_sha256: str
    original_arithmetic: str

    def __post_init__(self) -> None:
        make_plain(self)
        check_instance(self.compressed, Certificate, where="compressed")
        if not isinstance(self.box, str) or not re.fullmatch(f"([0-9a-f]{{2}}){{0,{MAX_BOX_BYTES}}}", self.box):
            raise PactError(f"must be at most {MAX_BOX_BYTES:,} bytes in hexadecimal digits", where="box")
        failure_probability(self.delta)
        check_integer(self.errors, where="errors", least=0, most=self.compressed.samples)
        check_integer(self.code_bits, where="code_bits", least=0)
        check_share(self.bound, where="bound", counted=self.errors, samples=self.compressed.samples)
        check_name(self.original_name, name="original_name")
        hex_digest(self.original_sha256, name="original_sha256")
        check_choice(self.original_arithmetic, PROVEN_ARITHMETICS, where="original_arithmetic")
        self._check_agreement()

    @property
    def is_vacuous(self) -> bool:
        return self.bound >= 1 - 1 / self.compressed.classes

    def _check_agreement(self) -> None:
        refuse_as_run(self.compressed.arithmetic)
        if self.compressed.delta != self.delta:
            raise PactError(
                f"the compressed network's part must have delta = {self.delta!r}, got {self.compressed.delta!r}",
                where="compressed",
            )
        counted = self.compressed.code_bits + count_code_bits(len(self.box_message))
        if self.code_bits != counted:
            raise PactError(
                f"the message and {len(self.box_message)} bytes of the box count for {counted} bits, "
                f"got {self.code_bits}",
                where="code_bits",
            )

    @property
    def box_message(self) -> bytes:
        return bytes.fromhex(self.box)
