"""What all statements on fresh samples say in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates.as_run_wording import as_run_by, near_tie_caution, program_declaration
from netpact.certificates.names import quote
from netpact.certificates.program import AS_RUN
from netpact.certificates.wording import DIGITS_SHOWN
from netpact.certificates.wording import arithmetic as arithmetic_of
from netpact.core.percent import confidence

if TYPE_CHECKING:
    from netpact.certificates.fresh import Fresh, FreshStatement, Identified

THEOREM = "Langford 2005, binomial tail inversion with 0 bits (test set bound)"


def opening(statement: FreshStatement, what: str) -> str:
    """How the sentence begins: the confidence rounded down, the samples, and what it needs."""
    fresh = statement.fresh
    condition = f"If the distribution itself repeats values{_found(fresh)}, with" if fresh.repeats else "With"
    left_out = f" ({fresh.copies:,} exact copies were left out)" if fresh.copies and not fresh.repeats else ""
    return (
        f"{condition} probability at least {confidence(statement.delta)} over the draw of the {fresh.samples:,} {what} "
        f"of {quote(fresh.name)}{left_out},"
    )


def ending(statement: FreshStatement) -> str:
    return near_tie_caution(statement.near_ties, statement.fresh.samples, statement.program)


def named(network: Identified, called: str, statement: FreshStatement) -> str:
    """A network in a sentence: which, and by what it is run if the statement is about one program."""
    name = f" {quote(network.name)}" if called.endswith("original network") else ""
    program = statement.program if network.arithmetic == AS_RUN else None
    return f"{called}{name} (sha256 {network.sha256[:DIGITS_SHOWN]}...){as_run_by(program)}"


def arithmetic(network: Identified, called: str, statement: FreshStatement) -> str:
    return arithmetic_of(called, network.arithmetic, statement.program if network.arithmetic == AS_RUN else None)


def premises(statement: FreshStatement, *, labels: str, networks: str) -> tuple[str, ...]:
    fresh = statement.fresh
    declared = (
        f"The {fresh.samples:,} {labels} of {quote(fresh.name)} were drawn independently from one distribution, and "
        f"independently of {networks} and of everything that it was made from.",
        f"delta = {statement.delta!r} was chosen before they were looked at.",
    )
    if fresh.repeats:
        return (*declared, "The distribution itself repeats values: a sample equal to another one was drawn as well.")
    if fresh.copies:
        return (*declared, f"The {fresh.copies:,} exact copies that were left out are copies, not draws of their own.")
    return declared


def declarations(statement: FreshStatement, *, networks: str) -> tuple[str, ...]:
    fresh = statement.fresh
    parts = [f"a training sample of {quote(fresh.data_name)}"]
    parts += ["a test sample"] if fresh.test_fingerprint else []
    parts += ["a sample that the base network was trained on"] if fresh.base_data_fingerprint else []
    declared: tuple[str, ...] = (
        f"The samples of {quote(fresh.name)} were used neither in training nor in any choice about {networks}. "
        f"(Checked: none has the same input as {' or '.join(parts)}. Not checked: near copies, and other data that "
        "training may have used.)",
        f"The samples of {quote(fresh.name)} are independent draws from the distribution of interest, and none was "
        "left out or added after looking at them.",
    )
    if statement.program is not None:
        declared += (
            program_declaration(statement.program),
            "Arithmetic as run was not chosen by looking at these samples.",
        )
    return declared


def _found(fresh: Fresh) -> str:
    return f" ({fresh.copies:,} of the samples are exact copies of others)" if fresh.copies else ""
