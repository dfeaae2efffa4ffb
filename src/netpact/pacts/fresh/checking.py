"""What all statements on fresh samples are checked by: one way, with the second implementation of the bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netpact.certificates import FreshStatement, Identified, check_bound
from netpact.certificates.names import quote
from netpact.coding.format import Pact
from netpact.datasets import Data
from netpact.pacts.fresh.drawing import Drawn, compare_fresh
from netpact.pacts.fresh.networks import program_of
from netpact.pacts.priors import Opening, Subject, open_subject
from netpact.pacts.verification import Verdict
from netpact.pacts.verification.as_run import compare_errors, explained, other_program
from netpact.pacts.verification.recount import Recount

if TYPE_CHECKING:
    from typing_extensions import Unpack


def open_as_stated(pact: Pact, data: Data | object, repeats: bool, **opening: Unpack[Opening]) -> Subject:
    """The file for a verifier: its certificate names a helper, the statement says whether values repeat."""
    subject = open_subject(pact, data, **opening)
    stated = subject if pact.certificate is None else subject.as_stated(pact.certificate)
    return replace(stated, repeats=repeats)


def check_fresh(
    certificate: FreshStatement,
    drawn: Drawn,
    reasons: list[str],
    *,
    called: str,
    count: Callable[[], Recount],
    own: Mapping[str, Identified],
) -> Verdict:
    """Compare what can be compared without running a network; then count, and recompute the bound.

    reasons  to refuse that were found before
    own      the statement's fields with its networks, as they are found here
    """
    false, notes = compare_fresh(drawn, certificate.fresh, called)
    reasons = [*reasons, *false]
    if reasons:
        return Verdict(tuple(reasons), certificate)
    found = count()
    undecided: list[str] = []
    stated: int = getattr(certificate, certificate.counted)
    compare_errors(certificate.counted, found, stated, reasons, undecided)
    opinion = check_bound(
        errors=stated,
        samples=found.samples,
        code_bits=0,
        delta=certificate.delta,
        form="exact",
        bound=certificate.bound,
    )
    if not opinion.holds:
        reasons.append(f"the bound is {opinion.own_bound:.6f}, the certificate says {certificate.bound:.6f}")
    if reasons or undecided:
        return Verdict(
            tuple(reasons),
            certificate,
            found.errors,
            opinion.own_bound,
            undecided=explained(certificate, undecided),
        )
    said, further = _in_own_words(certificate, drawn, found, own)
    return Verdict((), said, found.errors, opinion.own_bound, notes=(*notes, *further))


def _in_own_words(
    certificate: FreshStatement, drawn: Drawn, found: Recount, own: Mapping[str, Identified]
) -> tuple[FreshStatement, list[str]]:
    """The statement with the verifier's names, and a note for each that differs from the file's."""
    changes: dict[str, Any] = {**own, "fresh": drawn.fresh, "program": program_of(*own.values())}
    notes = []
    for key, network in own.items():
        stated: Identified = getattr(certificate, key)
        if network.name != stated.name:
            notes.append(f"the network {quote(network.name)} is called {quote(stated.name)} in the file")
    if (note := other_program(certificate.program)) != "":
        notes.append(note)
    if found.near_ties != certificate.near_ties and (
        certificate.as_run or found.errors == getattr(certificate, certificate.counted)
    ):
        changes["near_ties"] = found.near_ties
        notes.append(f"{found.near_ties:,} near ties counted, the certificate says {certificate.near_ties:,}")
    return replace(certificate, **changes), notes
