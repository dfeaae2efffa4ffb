"""verify_original: check the statement about the original network from file, data, original and unlabelled samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from netpact.certificates import Certificate, OriginalCertificate, check_bound
from netpact.certificates.names import make_name, quote
from netpact.coding.format import Pact, as_pact
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples
from netpact.datasets.overlap import Inputs, summarise_inputs
from netpact.network import ToleranceRun, open_run
from netpact.pacts.originals.disagreement import (
    ORIGINAL_ARITHMETIC,
    Bounds,
    check_inputs_fit,
    check_original,
    hash_network,
    logit_bounds,
    name_network,
)
from netpact.pacts.originals.unlabelled import drawn_inputs, open_unlabelled, refuse_overlap
from netpact.pacts.priors import Opening, open_subject
from netpact.pacts.verification import Verdict, check_risk

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BATCH = 256
# The sum of two bounds that may each be smaller than the second opinion by 1e-12, as check_bound allows.
_TOLERANCE = 2e-12


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

    opening  model, base, base_data, max_parameters: as for verify
    """
    pact = as_pact(pact)
    certificate = pact.original
    if not isinstance(certificate, OriginalCertificate):
        reason = "the file has no statement about the original network"
        if certificate is not None:
            reason = "the statement about the original network rests on a box, not on unlabelled samples"
        return Verdict((reason,), certificate)
    check_original(original)
    subject = open_subject(pact, data, **opening).as_stated(certificate.compressed)
    fresh = open_unlabelled(unlabelled)
    check_inputs_fit(fresh, subject.data)
    inputs = summarise_inputs(fresh)
    reasons = _compare_statement(certificate, original, inputs, fresh, subject.data)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    # The compressed network's part is a certificate like any other, and is checked as one.
    part = check_risk(subject, certificate.compressed)
    reasons += [f"compressed network: {reason}" for reason in part.reasons]
    if part.own_bound is None:
        return Verdict(tuple(reasons), certificate)
    drawn = drawn_inputs(fresh, repeats=certificate.compressed.repeats)
    disagreements = _recount(subject.module, subject.header.arithmetic, original, drawn, progress)
    if disagreements > certificate.disagreements:
        reasons.append(f"{disagreements:,} disagreements counted, the certificate says {certificate.disagreements:,}")
    own_bound = _recompute(certificate, part.own_bound, reasons)
    if reasons:
        return Verdict(tuple(reasons), certificate, disagreements, own_bound, given=part.given)
    assert isinstance(part.certificate, Certificate)
    name = make_name(fresh.name)
    notes = list(part.notes)
    if name != certificate.unlabelled_name:
        notes.append(f"the unlabelled data {quote(name)} are called {quote(certificate.unlabelled_name)} in the file")
    said = replace(certificate, compressed=part.certificate, unlabelled_name=name)
    return Verdict((), said, disagreements, own_bound, given=part.given, notes=tuple(notes))


def _compare_statement(
    certificate: OriginalCertificate, original: nn.Module, inputs: Inputs, fresh: Samples, data: Data
) -> list[str]:
    """What can be compared without running a network."""
    counted = inputs.count - (0 if certificate.compressed.repeats else inputs.duplicates)
    found: list[tuple[str, object, object]] = [
        ("the original network's sha256", hash_network(original), certificate.original_sha256),
        ("the original network's name", make_name(name_network(original)), certificate.original_name),
        ("the original network's arithmetic", ORIGINAL_ARITHMETIC, certificate.original_arithmetic),
        ("the unlabelled data's fingerprint", inputs.fingerprint, certificate.unlabelled_fingerprint),
        ("the number of unlabelled samples", counted, certificate.unlabelled_samples),
        ("the number of unlabelled duplicates", inputs.duplicates, certificate.unlabelled_duplicates),
    ]
    reasons = [f"{what} is {own}, the certificate says {stated}" for what, own, stated in found if own != stated]
    try:
        refuse_overlap(inputs, data, name=fresh.name)
    except PactError as error:
        # Here the data are those that the statement names: a false statement, not a slip of the verifier.
        reasons.append(f"{error.where}: {error.what}")
    return reasons


def _recount(module: nn.Module, arithmetic: str, original: nn.Module, fresh: Samples, progress: Progress | None) -> int:
    """Count again, the other way round: a sample is agreed on if one class beats all others in both networks."""
    first, second = open_run(module, arithmetic), ToleranceRun(original, ORIGINAL_ARITHMETIC)
    agreed = 0
    for one, other in logit_bounds(first, second, fresh, batch=_BATCH, progress=progress):
        agreed += int((_wins(one) & _wins(other)).any(dim=1).sum())
    return fresh.count - agreed


def _wins(bounds: Bounds) -> torch.Tensor:
    """For every sample and class: does this class beat each other one?"""
    beaten = bounds.lower[:, :, None] > bounds.upper[:, None, :]
    beaten.diagonal(dim1=1, dim2=2).fill_(True)
    return beaten.all(dim=2)


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
