"""The statement about the network before compression that needs no further samples: it is near the file's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from netpact.certificates import box_wording as wording
from netpact.certificates.certificate import ARITHMETICS, Certificate
from netpact.certificates.inputs import failure_probability, hex_digest, real_number, whole_number
from netpact.certificates.json_form import Layout
from netpact.certificates.length import code_bits as count_code_bits
from netpact.certificates.names import check_name
from netpact.certificates.statement import Statement
from netpact.core.errors import PactError, one_of

MAX_BOX_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxCertificate(Statement):
    """A proven bound on the risk of every network in a box around the one in the file, the original among them.

    compressed       the certificate of the network in the file, with the same delta: another statement, which tells
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
        if not isinstance(self.compressed, Certificate):
            raise PactError(f"a certificate is needed, got {type(self.compressed).__name__}", where="compressed")
        for name, value in self._checked_numbers().items():
            object.__setattr__(self, name, value)
        check_name(self.original_name, name="original_name")
        hex_digest(self.original_sha256, name="original_sha256")
        if not isinstance(self.original_arithmetic, str) or self.original_arithmetic not in ARITHMETICS:
            raise one_of(self.original_arithmetic, ARITHMETICS, option="original_arithmetic")
        self._check_agreement()

    def _checked_numbers(self) -> dict[str, object]:
        if not isinstance(self.box, str) or not re.fullmatch(f"([0-9a-f]{{2}}){{0,{MAX_BOX_BYTES}}}", self.box):
            raise PactError(f"at most {MAX_BOX_BYTES:,} bytes in hexadecimal digits are needed", where="box")
        return {
            "bound": real_number(self.bound, name="bound"),
            "delta": failure_probability(self.delta),
            "errors": whole_number(self.errors, name="errors", lowest=0, highest=self.compressed.samples),
            "code_bits": whole_number(self.code_bits, name="code_bits", lowest=0),
        }

    def _check_agreement(self) -> None:
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
        share = self.errors / self.compressed.samples
        if not share <= self.bound <= 1.0:
            raise PactError(f"from the share of errors {share!r} to 1 is allowed, got {self.bound!r}", where="bound")

    @property
    def box_message(self) -> bytes:
        return bytes.fromhex(self.box)
