"""What certify prints beside the sentence: what the bound is computed from, and what to compare it with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from netpact.cli.console import people
from netpact.core.percent import percent, percent_up

if TYPE_CHECKING:
    from netpact.certificates import Certificate
    from netpact.datasets import Data

_VACUOUS = (
    "vacuous: guessing among {classes} classes is as good. Shorten the message (fewer bits, netpact search), use "
    "more samples, or a base network (docs/priors.md)."
)

_ROUNDING = (
    "most errors are near ties: how float32 rounds could decide them, in deep networks above all. Compress with "
    "--arithmetic float64: it costs no bytes."
)


@dataclass(frozen=True)
class Surroundings:
    """What is not in the certificate itself.

    two_labels   training inputs that occur under more than one label
    test_copies  test samples that are exact copies of training samples or of each other
    """

    file_bytes: int
    two_labels: int
    test_copies: int

    def to_json(self, certificate: Certificate) -> dict[str, object]:
        return {**asdict(self), "vacuous": certificate.is_vacuous, "test_bound": self.test_bound(certificate)}

    def test_bound(self, certificate: Certificate) -> float | None:
        """Copies are no samples of their own: with any of them in the test part there is no hold-out bound."""
        return None if self.test_copies else certificate.test_bound


def look_around(data: Data, *, file_bytes: int) -> Surroundings:
    from netpact.datasets import count_copies, find_copies

    stale = 0 if data.test is None else int(find_copies(data.test, seen=data.train).sum())
    return Surroundings(file_bytes, count_copies(data.train)[1], stale)


def print_picture(certificate: Certificate, around: Surroundings, *, advice: str = "") -> None:
    """advice: what to do about a vacuous bound, if there is more to say than usual."""
    listing = Table.grid(padding=(0, 2))
    for _ in range(2):
        listing.add_column(no_wrap=True)
    listing.add_column()
    for row in _rows(certificate, around):
        listing.add_row(*row)
    people.print(listing)
    if certificate.arithmetic == "float32" and certificate.near_ties > certificate.errors / 2:
        people.print(_ROUNDING, style="yellow")
    if certificate.is_vacuous:
        people.print(advice or _VACUOUS.format(classes=certificate.classes), style="yellow")


def _rows(certificate: Certificate, around: Surroundings) -> list[tuple[str, str, str]]:
    counted = f"{certificate.errors:,} of {certificate.samples:,}"
    bound = percent_up(certificate.bound)
    kind, near, program = "proven", "of these errors: correct, unless values round or overflow", []
    if certificate.program is not None:
        kind = "as run, not proven for other machines"
        near = "samples that another machine or version of torch may decide otherwise"
        program = [("program", "as run", str(certificate.program))]
    bits = f"{certificate.code_bits:,} bits counted; the file has {around.file_bytes:,} bytes"
    return [
        ("bound", bound, f"{kind}; {certificate.form} form, delta = {certificate.delta}"),
        ("train error", percent(certificate.train_error, places=2), counted),
        ("near ties", f"{certificate.near_ties:,}", near),
        *program,
        *_test_rows(certificate, around),
        ("message", f"{certificate.message_bytes:,} bytes", bits),
        *_copy_rows(certificate, around),
    ]


def _test_rows(certificate: Certificate, around: Surroundings) -> list[tuple[str, str, str]]:
    if certificate.test_error is None:
        return [("test error", "none", "the data have no test part")]
    counted = f"{certificate.test_errors:,} of {certificate.test_samples:,}"
    rows = [("test error", percent(certificate.test_error, places=2), counted)]
    if around.test_copies:
        return [*rows, ("hold-out bound", "none", f"{around.test_copies:,} test samples are exact copies of others")]
    bound = around.test_bound(certificate)
    assert bound is not None
    told = "from the test samples: 0 bits, same delta; holds if they were used in no choice"
    return [*rows, ("hold-out bound", percent_up(bound), told)]


def _copy_rows(certificate: Certificate, around: Surroundings) -> list[tuple[str, str, str]]:
    told = "exact copies of training samples, " + ("counted as draws" if certificate.repeats else "left out")
    rows = [("copies", f"{certificate.copies:,}", told)]
    if around.two_labels:
        rows.append(("two labels", f"{around.two_labels:,}", "inputs occur under more than one label"))
    return rows
