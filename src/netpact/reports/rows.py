"""What a report is made of: one Row a network, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class Row:
    """One network of a comparison.

    message_bytes  size of the coded network; for the original network its float32 size
    bound          certified bound on the error; None if there is no certificate
    code_bits      what the certificate counts; None for the original network
    file           the .pact file the network is in
    agreed         whether verification agreed with the certificate; None if it has not been tried
    as_run         the bound is about one program: it is shown as such, and proves nothing for other machines
    """

    name: str
    method: str
    classes: int
    parameters: int
    message_bytes: int
    train_error: float
    test_error: float | None = None
    bound: float | None = None
    code_bits: int | None = None
    file: str | None = None
    agreed: bool | None = None
    as_run: bool = False

    def __post_init__(self) -> None:
        where = f"report row {self.name!r}"
        check_integer(self.classes, where=f"{where}, classes", least=2)
        check_integer(self.parameters, where=f"{where}, parameters", least=0)
        check_integer(self.message_bytes, where=f"{where}, message_bytes", least=1)
        check_number(self.train_error, where=f"{where}, train_error", least=0, most=1)
        if self.test_error is not None:
            check_number(self.test_error, where=f"{where}, test_error", least=0, most=1)
        if self.bound is not None:
            check_number(self.bound, where=f"{where}, bound", least=0, most=1)
        if self.code_bits is not None:
            check_integer(self.code_bits, where=f"{where}, code_bits", least=0)
        if self.bound is None and self.agreed is not None:
            raise PactError(
                "agreed is set but there is no bound to agree with", where=where, hint="leave agreed at None"
            )
        if self.bound is not None and self.code_bits is None:
            raise PactError("a bound needs the code_bits that it was computed from", where=where)

    @property
    def original(self) -> bool:
        """The uncompressed network: nothing is coded, so nothing is certified."""
        return self.bound is None and self.code_bits is None

    @property
    def proven(self) -> float | None:
        """The bound, unless verification refused it, or it is about one program: those are not proven."""
        return None if self.agreed is False or self.as_run else self.bound

    @property
    def guessing(self) -> float:
        """The error of guessing a class at random, 1 - 1/classes."""
        return 1 - 1 / self.classes

    @property
    def vacuous(self) -> bool:
        """Whether the bound guarantees no more than guessing does."""
        return self.proven is not None and self.proven >= self.guessing

    @property
    def contradicted(self) -> bool:
        """Whether the test error is above the proven bound: a premise of the certificate is false."""
        return self.proven is not None and self.test_error is not None and self.test_error > self.proven

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers of a report come from; enough to make them again."""

    version: str
    seed: int
    data_name: str
    data_fingerprint: str
    samples: int
    delta: float
    command: str
    created: str

    def __post_init__(self) -> None:
        check_integer(self.seed, where="provenance, seed", least=0)
        check_integer(self.samples, where="provenance, samples", least=1)
        check_number(self.delta, where="provenance, delta", above=0, below=1)

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def find_best(rows: Sequence[Row]) -> Row | None:
    """The row with the smallest proven bound, the smaller file where bounds are equal; None if nothing is proven."""
    proven = [(row.proven, row.message_bytes, place) for place, row in enumerate(rows) if row.proven is not None]
    return rows[min(proven)[2]] if proven else None


def check_rows(rows: Sequence[Row]) -> None:
    """A report compares networks for one task: at least one row, one number of classes."""
    if not rows:
        raise PactError("a report needs at least one row", where="report", hint="give it the networks to show")
    classes = sorted({row.classes for row in rows})
    if len(classes) > 1:
        raise PactError(
            f"all rows of a report have the same number of classes, got {', '.join(map(str, classes))}",
            where="report",
            hint="write one report for each data set",
        )
