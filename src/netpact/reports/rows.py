"""What a report is made of: one Row a network, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class Row:
    """One network of a comparison.

    message_bytes  size of the coded network; for the original network its float32 size
    bound          certified bound on the error; None if there is no certificate
    code_bits      what the certificate counts; None for the original network
    file           the .pact file the network is in
    agreed         whether verification agreed with the certificate; None if it has not been tried
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

    def __post_init__(self) -> None:
        where = f"report row {self.name!r}"
        _check_whole(self.classes, least=2, field="classes", where=where)
        _check_whole(self.parameters, least=0, field="parameters", where=where)
        _check_whole(self.message_bytes, least=1, field="message_bytes", where=where)
        _check_share(self.train_error, field="train_error", where=where)
        if self.test_error is not None:
            _check_share(self.test_error, field="test_error", where=where)
        if self.bound is not None:
            _check_share(self.bound, field="bound", where=where)
        if self.code_bits is not None:
            _check_whole(self.code_bits, least=0, field="code_bits", where=where)
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
        """The bound, unless verification refused it: a refused certificate proves nothing."""
        return None if self.agreed is False else self.bound

    @property
    def guessing(self) -> float:
        """The error of guessing a class at random, 1 - 1/classes."""
        return 1 - 1 / self.classes

    @property
    def vacuous(self) -> bool:
        """Whether the bound promises no more than guessing does."""
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
        _check_whole(self.seed, least=0, field="seed", where="provenance")
        _check_whole(self.samples, least=1, field="samples", where="provenance")
        _check_share(self.delta, field="delta", where="provenance")
        if self.delta in (0, 1):
            raise PactError(f"delta lies strictly between 0 and 1, got {self.delta!r}", where="provenance")

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


def _check_whole(value: object, *, least: int, field: str, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PactError(f"{field} is a whole number from {least} up, got {value!r}", where=where)


def _check_share(value: object, *, field: str, where: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # NaN compares false with everything, so it is refused here too.
    if not number or not 0 <= value <= 1:  # type: ignore[operator]
        raise PactError(f"{field} is a share from 0 to 1, got {value!r}", where=where)
