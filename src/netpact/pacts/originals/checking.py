"""verify_original: check the statement about the original network from file, data, original and unlabelled samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from netpact.certificates import Certificate, Identified, OriginalCertificate, check_bound
from netpact.coding.format import Pact, as_pact
from netpact.core.json import read_object
from netpact.core.progress import Progress
from netpact.datasets import Data
from netpact.pacts.fresh.disagreement import recount_disagreements
from netpact.pacts.fresh.drawing import Drawn, compare_fresh, draw
from netpact.pacts.fresh.networks import (
    compare_networks,
    open_pair,
    pair_parcel,
    program_of,
    stated_arithmetic,
    tested_original,
)
from netpact.pacts.fresh.opening import open_unlabelled
from netpact.pacts.originals.itself import is_helper_itself
from netpact.pacts.priors import Opening, Subject, open_subject
from netpact.pacts.verification import Verdict, check_risk
from netpact.pacts.verification.as_run import compare_errors, explained, other_program
from netpact.runs import kept_workers
from netpact.training import Recipe

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The sum of two bounds that may each be smaller than the second opinion by 1e-12, as check_bound allows.
_TOLERANCE = 2e-12


@kept_workers()
def verify_original(
    pact: Pact | str | Path,
    original: nn.Module,
    data: Data | object,
    unlabelled: object,
    *,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> Verdict:
    """Recount both parts, recompute both bounds with the second implementation, compare their sum.

    opening  model, base, base_data, max_parameters, engine, resume: as for verify
    """
    pact = as_pact(pact)
    certificate = pact.original
    if not isinstance(certificate, OriginalCertificate):
        reason = "the file has no statement about the original network"
        if certificate is not None:
            reason = "the statement about the original network rests on a box, not on unlabelled samples"
        return Verdict((reason,), certificate)
    tested = tested_original(original, stated_arithmetic(certificate.original_arithmetic))
    subject = open_subject(pact, data, **opening).as_stated(certificate.compressed)
    fresh, repeats = open_unlabelled(unlabelled, like=subject.data), certificate.compressed.repeats
    drawn = draw(fresh, subject.data, labels=False, repeats=repeats, base_data=subject.base_data)
    reasons, notes = _compare_statement(certificate, tested, drawn)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    # The compressed network's part is a certificate like any other, and is checked as one.
    part = check_risk(subject, certificate.compressed)
    reasons += [f"compressed network: {reason}" for reason in part.reasons]
    undecided = [f"compressed network: {reason}" for reason in part.undecided]
    if part.own_bound is None:
        return Verdict(tuple(reasons), certificate)
    first_bound = part.own_bound
    if certificate.by_hold_out:
        if reasons:  # the hold-out bound rests on helper, split and errors: none is computed from what is false
            return Verdict(tuple(reasons), certificate)
        first_bound = _check_hold_out(certificate, subject, reasons)
    runs = open_pair(subject, original, tested.arithmetic)
    pair = pair_parcel(subject, original, tested.arithmetic, runs)
    found = recount_disagreements(*runs, drawn.samples, progress, pair=pair, execution=subject.execution)
    compare_errors("disagreements", found, certificate.disagreements, reasons, undecided)
    own_bound = _recompute(certificate, first_bound, reasons)
    if reasons or undecided:
        why = explained(certificate, undecided)
        return Verdict(tuple(reasons), certificate, found.errors, own_bound, given=part.given, undecided=why)
    assert isinstance(part.certificate, Certificate)
    said = replace(
        certificate, compressed=part.certificate, unlabelled_name=drawn.fresh.name, program=program_of(tested)
    )
    notes += [note for note in (*part.notes, other_program(certificate.program)) if note]
    return Verdict((), said, found.errors, own_bound, given=part.given, notes=tuple(dict.fromkeys(notes)))


def _compare_statement(
    certificate: OriginalCertificate, tested: Identified, drawn: Drawn
) -> tuple[list[str], list[str]]:
    """What can be compared without running a network."""
    stated = Identified(
        name=certificate.original_name,
        sha256=certificate.original_sha256,
        arithmetic=certificate.original_arithmetic,
    )
    reasons = compare_networks(tested, stated, "the original network")
    if tested.name != stated.name:
        reasons.append(f"the original network's name is {tested.name}, the certificate says {stated.name}")
    false, notes = compare_fresh(drawn, certificate.fresh, "unlabelled")
    return [*reasons, *false], notes


def _check_hold_out(certificate: OriginalCertificate, subject: Subject, reasons: list[str]) -> float:
    """The hold-out bound by the second implementation, for what is the helper's own network. Adds reasons.

    That the helper is the stated one, that the split is the message's, and that the errors are true has been found.
    """
    part, stated = certificate.compressed, certificate.hold_out_bound
    helper = part.helper
    if helper is None or stated is None:
        reasons.append("the certificate names no helper network, so there is no hold-out bound")
        return 1.0
    recipe = Recipe.from_json(read_object(helper.recipe, where="recipe"))
    if not is_helper_itself(subject, recipe):
        reasons.append("the network in the file is not the helper network itself: its bits have to be paid for")
        return 1.0
    # One for the helper itself, 2 for the arithmetic, 7 for the percentage, Elias gamma of counter + 1.
    bits = 1 + 2 + 7 + 2 * len(f"{helper.counter + 1:b}") - 1
    if certificate.hold_out_bits != bits:
        reasons.append(f"the hold-out bound costs {bits} bits, the certificate says {certificate.hold_out_bits}")
    opinion = check_bound(
        errors=part.errors,
        samples=part.samples,
        code_bits=bits,
        delta=certificate.delta / 2,
        form="exact",
        bound=stated,
    )
    if not opinion.holds:
        reasons.append(f"the hold-out bound is {opinion.own_bound:.6f}, the certificate says {stated:.6f}")
    return opinion.own_bound


def _recompute(certificate: OriginalCertificate, compressed_bound: float, reasons: list[str]) -> float:
    share = check_bound(
        errors=certificate.disagreements,
        samples=certificate.unlabelled_samples,
        code_bits=0,
        delta=certificate.delta / 2,
        form="exact",
        bound=certificate.disagreement_bound,
    )
    if not share.holds:
        stated = certificate.disagreement_bound
        reasons.append(f"the disagreement bound is {share.own_bound:.6f}, the certificate says {stated:.6f}")
    own = min(1.0, compressed_bound + share.own_bound)
    if certificate.bound < own - _TOLERANCE:
        reasons.append(f"the sum of both bounds is {own:.6f}, the certificate says {certificate.bound:.6f}")
    return own
