"""What certify tells beside the sentence: all that the bound was made of, and what to hold it against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from netpact.cli.console import people

if TYPE_CHECKING:
    from netpact.certificates import Certificate

_VACUOUS = (
    "vacuous: guessing among {classes} classes does as well. Shorten the message (fewer bits, netpact search), take "
    "more samples, or a base network (docs/priors.md)."
)


def picture_json(certificate: Certificate, *, file_bytes: int) -> dict[str, object]:
    """What is not in the certificate's own JSON."""
    return {
        "file_bytes": file_bytes,
        "vacuous": certificate.is_vacuous,
        "test_bound": certificate.test_bound,
    }


def print_picture(certificate: Certificate, *, file_bytes: int) -> None:
    listing = Table.grid(padding=(0, 2))
    for _ in range(2):
        listing.add_column(no_wrap=True)
    listing.add_column()
    for row in _rows(certificate, file_bytes=file_bytes):
        listing.add_row(*row)
    people.print(listing)
    if certificate.is_vacuous:
        people.print(_VACUOUS.format(classes=certificate.classes), style="yellow")


def _rows(certificate: Certificate, *, file_bytes: int) -> list[tuple[str, str, str]]:
    from netpact.certificates.wording import percent_up

    ties = certificate.near_ties
    rows = [
        (
            "bound",
            f"{percent_up(certificate.bound)} %",
            f"proven; {certificate.form} form, delta = {certificate.delta}",
        ),
        (
            "train error",
            f"{certificate.train_error:.2%}",
            f"{certificate.errors:,} of {certificate.samples:,}, "
            f"{ties:,} of them near ties, which rounding could make right",
        ),
    ]
    if certificate.test_error is None or certificate.test_bound is None:
        rows.append(("test error", "none", "the data have no test part"))
    else:
        rows += [
            (
                "test error",
                f"{certificate.test_error:.2%}",
                f"{certificate.test_errors:,} of {certificate.test_samples:,}",
            ),
            (
                "hold-out bound",
                f"{percent_up(certificate.test_bound)} %",
                "of the test samples: exact, 0 bits, the same delta; holds if they were used in no choice",
            ),
        ]
    size = f"{certificate.message_bytes:,} bytes"
    rows.append(("message", size, f"{certificate.code_bits:,} bits counted; the file has {file_bytes:,} bytes"))
    return rows
