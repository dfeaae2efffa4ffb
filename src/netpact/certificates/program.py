"""What ran a network, where a certificate is about one program and not about every run in a precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netpact.certificates.inputs import make_plain
from netpact.certificates.names import check_name, check_version
from netpact.certificates.part import Part
from netpact.core.checks import check_flag, check_integer, check_number
from netpact.core.errors import PactError

AS_RUN = "as-run"
WHOLE = "whole"  # integers: every program computes the same, and none is stated
_MOST_ROWS = 1024
_MOST_TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class Program(Part):
    """netpact's evaluation: float32, one thread, deterministic algorithms; no NNPACK, TF32, bf16 or autocast.

    torch         its version
    machine       the kind of processor, and the vector instructions that torch uses there
    onednn        whether oneDNN computes
    rows          of a batch; the row of a sample is a function of the sample
    tolerance     a near tie: the two highest logits differ by at most this share of the largest logit's magnitude
    """

    where: ClassVar[str] = "program"

    torch: str
    machine: str
    onednn: bool
    rows: int
    tolerance: float

    def __post_init__(self) -> None:
        make_plain(self)
        check_version(self.torch, name="program, torch")
        check_name(self.machine, name="program, machine")
        check_flag(self.onednn, where="program, onednn")
        check_integer(self.rows, where="program, rows", least=1, most=_MOST_ROWS)
        check_number(self.tolerance, where="program, tolerance", least=0, most=_MOST_TOLERANCE)

    def __str__(self) -> str:
        return f"torch {self.torch} on {self.machine} with{'' if self.onednn else 'out'} oneDNN"


def check_program(program: object, *arithmetics: str) -> None:
    """A program is stated if a network is certified as run, and only then."""
    if isinstance(program, Program) != (AS_RUN in arithmetics) or not isinstance(program, (Program, type(None))):
        raise PactError(
            f"the program that ran a network is stated with arithmetic {AS_RUN!r}, and with no other",
            where="program",
        )
