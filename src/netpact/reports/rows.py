"""What a report is made of: one Row a network, and where the numbers come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError

_COUNTS = {
    "classes": 2,
    "parameters": 0,
    "message_bytes": 1,
    "code_bits": 0,
    "samples": 1,
    "flops": 0,
    "deviation_samples": 1,
    "counted": 1,
}
_NEEDED = ("classes", "message_bytes")
_SHARES = ("train_error", "test_error", "bound", "expected_bound", "fidelity")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One network of a comparison. A list of rows is all that a page needs; None: not known.

    setting             options of the method, in words
    message_bytes       size of the coded network; for the original network its float32 size
    bound               certified bound on the error; None if there is no certificate
    expected_bound      what a certificate would come to if all samples were as those that were counted: no bound
    counted             samples of each set that errors and fidelity were measured on; None: all of them
    code_bits           what the certificate counts; None for the original network
    samples, delta      that the certificate was computed from
    file                the .pact file the network is in
    message_sha256      of its message
    agreed              whether verification agreed with the certificate; None if it has not been tried
    as_run              the bound is about one program: it is shown as such, and proves nothing for other machines
    sentence            what the certificate states, in its own words
    flops               of one sample
    samples_per_second  measured
    fidelity            share of the training samples on which it decides as the original network does
    deviation           proven: on `deviation_samples` samples its logits are no further than this from the original's
    deviation_note      why there is no such bound, where it was looked for
    estimates           log10 of the error that published bounds come to, by their names in netpact.bounds.BOUNDS
    data_name, data_fingerprint  of the training samples: rows with the same ones are compared with each other
    """

    name: str
    method: str
    setting: str = ""
    classes: int
    parameters: int | None
    message_bytes: int
    train_error: float | None = None
    test_error: float | None = None
    bound: float | None = None
    expected_bound: float | None = None
    counted: int | None = None
    code_bits: int | None = None
    samples: int | None = None
    delta: float | None = None
    file: str | None = None
    message_sha256: str = ""
    agreed: bool | None = None
    as_run: bool = False
    sentence: str = ""
    flops: int | None = None
    samples_per_second: float | None = None
    fidelity: float | None = None
    deviation: float | None = None
    deviation_samples: int | None = None
    deviation_note: str = ""
    estimates: Mapping[str, float] = field(default_factory=dict)
    data_name: str = ""
    data_fingerprint: str = ""

    def __post_init__(self) -> None:
        where = f"report row {self.name!r}"
        for name, least in _COUNTS.items():
            if name in _NEEDED or getattr(self, name) is not None:
                check_integer(getattr(self, name), where=f"{where}, {name}", least=least)
        for name in _SHARES:
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=f"{where}, {name}", least=0, most=1)
        if self.delta is not None:
            check_number(self.delta, where=f"{where}, delta", above=0, below=1)
        for name in ("samples_per_second", "deviation"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=f"{where}, {name}", least=0)
        for name, power in self.estimates.items():
            check_number(power, where=f"{where}, estimate {name}")
        if (self.deviation is None) != (self.deviation_samples is None):
            raise PactError("a deviation bound holds for a number of samples: give both or none", where=where)
        if self.deviation is not None and self.deviation_note:
            raise PactError("a deviation bound, and a reason why there is none: give one of them", where=where)
        if self.bound is None and self.agreed is not None:
            raise PactError(
                "agreed is set but there is no bound to agree with", where=where, hint="leave agreed at None"
            )
        if self.bound is not None and self.expected_bound is not None:
            raise PactError("a bound that is stated needs no expectation", where=where, hint="give one of the two")
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

    @property
    def errors(self) -> int | None:
        """On the samples of the certificate."""
        known = self.train_error is not None and self.samples is not None
        return round(self.train_error * self.samples) if known else None  # type: ignore[operator]

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "estimates": dict(self.estimates)}


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


def pareto_front(rows: Sequence[Row]) -> list[Row]:
    """Rows that no other beats in both size and proven bound, the smallest file first."""
    front: list[Row] = []
    least = math.inf
    for row in sorted(rows, key=lambda row: (row.message_bytes, math.inf if row.proven is None else row.proven)):
        if row.proven is not None and row.proven < least:
            front.append(row)
            least = row.proven
    return front


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
