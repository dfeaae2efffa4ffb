"""What came of checking a statement."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.certificates import Certificate, SelectionCertificate, Statement
from netpact.certificates.wording import contradiction
from netpact.core.display import Displayed
from netpact.core.errors import printable
from netpact.core.percent import percent_up


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """Agreed, refused or undecided, and why. The counts are the verifier's own; the bound is the one that was stated.

    counted     errors, or disagreements where the statement is about the original network; None if nothing was counted
    own_bound   the bound by the second implementation
    test_error  found here; None without test data, or where a refusal came before
    given       what an agreement rests on beside file and data: the helper network of a data-dependent prior
    notes       what differs from the file without making it false: names, and what could not be compared
    undecided   of arithmetic as run: why the statement is neither agreed to nor refused. Near ties alone stand between
                the count here and the stated one, and another program may decide them otherwise

    The certificate of an agreement is in the verifier's own words: it bears the names of what the verifier was given.
    """

    reasons: tuple[str, ...]
    certificate: Statement | None
    counted: int | None = None
    own_bound: float | None = None
    test_error: float | None = None
    given: str = ""
    notes: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def agreed(self) -> bool:
        return not self.reasons and not self.undecided and self.certificate is not None

    def __bool__(self) -> bool:
        """`if verify(...)` must not let a refused file pass."""
        return self.agreed

    def display_facts(self) -> dict[str, object]:
        row = self.display_rows()[0]
        bounds = {name: row.get(name) for name in ("bound", "own_bound")}
        return row | {name: percent_up(value) for name, value in bounds.items() if isinstance(value, float)}

    def display_rows(self) -> list[dict[str, object]]:
        """Agreed or not, then why not; a bound is shown only where it is agreed."""
        stated = {"bound": self.certificate.bound} if self.agreed and self.certificate is not None else {}
        own = {"counted": self.counted, "own_bound": self.own_bound, "test_error": self.test_error, "given": self.given}
        against = {"contradicted": True} if self.contradicted else {}
        why = {"reasons": "; ".join(self.reasons)} | (
            {"undecided": "; ".join(self.undecided)} if self.undecided else {}
        )
        return [{"agreed": self.agreed, **against, **why, **stated, **own}]

    @property
    def contradicted(self) -> bool:
        """Whether the test error found here is above the stated bound; the statement may agree all the same."""
        return (
            self.test_error is not None
            and isinstance(self.certificate, (Certificate, SelectionCertificate))
            and self.test_error > self.certificate.bound
        )

    def display_text(self) -> str:
        if self.agreed and self.certificate is not None:
            said = f"agreed{self.given and ', '}{self.given}: {self.certificate.sentence()}"
            if self.contradicted and self.test_error is not None:
                said += f" {contradiction(self.test_error)}"
            return printable(" ".join([said, *(f"Note: {note}." for note in self.notes)]))
        if self.undecided and not self.reasons:
            return printable("undecided: " + "; ".join(self.undecided))
        return printable("refused: " + "; ".join(self.reasons))

    def to_json(self) -> dict[str, object]:
        stated = {} if self.certificate is None else self.certificate.to_json()
        what = Certificate.counted if self.certificate is None else self.certificate.counted
        return {
            **stated,
            "agreed": self.agreed,
            "contradicted": self.contradicted,
            "given": self.given,
            "notes": list(self.notes),
            "reasons": list(self.reasons),
            "undecided": list(self.undecided),
            "test_error": self.test_error,
            f"verified_{what}": self.counted,
            "verified_bound": self.own_bound,
        }
