"""What a verifier can say about a statement as run: the program here need not be the stated one.

count here <= stated           agreed: the statement holds for the program here, whose name the verdict bears
more, but for near ties        undecided: another machine or version of torch may decide those otherwise
more, whatever near ties do    refused
"""

from __future__ import annotations

from netpact.certificates import Program, Statement
from netpact.network import this_program
from netpact.pacts.verification.recount import Recount


def compare_errors(what: str, found: Recount, stated: int, reasons: list[str], undecided: list[str]) -> None:
    """Fewer than stated are fine: a looser statement is true as well."""
    if found.errors <= stated:
        return
    told = f"{found.errors:,} {what} counted, the certificate says {stated:,}"
    if found.open_errors and found.explains(stated):
        undecided.append(f"{told}, but {found.open_errors:,} of those counted are near ties")
    else:
        reasons.append(told)


def explained(certificate: Statement, undecided: list[str]) -> tuple[str, ...]:
    """The same, with what would settle it."""
    stated: Program | None = getattr(certificate, "program", None)
    if not undecided or stated is None:
        return tuple(undecided)
    here = this_program()
    ran = "the same versions ran here" if here == stated else f"{here} ran here"
    return (*undecided, f"the certificate is about {stated}, {ran}: only the stated machine can settle it")


def other_program(stated: Program | None) -> str:
    """A note where the program here is not the stated one; "" where it is, or where none is stated."""
    here = None if stated is None else this_program()
    if here == stated:
        return ""
    return f"the certificate is about {stated}, which was not run here: {here} was, and agrees for itself"
