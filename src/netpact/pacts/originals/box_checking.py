"""verify_box: check the statement about the original network from file, data and original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from netpact.certificates import BoxCertificate, Certificate, check_bound
from netpact.certificates.names import make_name
from netpact.coding.format import Pact, as_pact
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples
from netpact.deviations import check_same_structure, compose_exactly
from netpact.pacts.fresh.networks import ORIGINAL_ARITHMETIC, check_original, hash_network, name_network
from netpact.pacts.originals.box import Box, decode_box, escapes
from netpact.pacts.originals.box_counting import refuse_other_code, walk_box
from netpact.pacts.priors import Opening, open_subject
from netpact.pacts.verification import Verdict, check_risk

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BATCH = 256


def verify_box(
    pact: Pact | str | Path,
    original: nn.Module,
    data: Data | object,
    *,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> Verdict:
    """Is the original in the box, is the count true, does the bound follow from it with the bits of both messages?

    opening  model, base, base_data, max_parameters: as for verify
    """
    pact = as_pact(pact)
    certificate = pact.original
    if not isinstance(certificate, BoxCertificate):
        found = "the file has no statement about the original network"
        if certificate is not None:
            found = "the statement about the original network rests on unlabelled samples"
        return Verdict((found,), certificate)
    check_original(original)
    stated = certificate.compressed
    subject = open_subject(pact, data, **opening).as_stated(stated)
    reasons = _compare_statement(certificate, pact, original)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    # The compressed network's part is a certificate like any other, and is checked as one.
    part = check_risk(subject, stated)
    reasons += [f"compressed network: {reason}" for reason in part.reasons]
    if part.own_bound is None:
        return Verdict(tuple(reasons), certificate)
    module, samples = compose_exactly(subject.module, original), subject.ground.samples
    box = decode_box(certificate.box_message, module)
    if strange := _compare_original(module, original, box, samples):
        return Verdict((*reasons, *strange), certificate)
    errors = _recount(module, box, samples, subject.header.arithmetic, progress)
    if errors > certificate.errors:
        reasons.append(f"{errors:,} errors within the box counted, the certificate says {certificate.errors:,}")
    own_bound = _recompute(certificate, samples.count, reasons)
    if reasons:
        return Verdict(tuple(reasons), certificate, errors, own_bound, given=part.given)
    assert isinstance(part.certificate, Certificate)
    said = replace(certificate, compressed=part.certificate)
    return Verdict((), said, errors, own_bound, given=part.given, notes=part.notes)


def _compare_statement(certificate: BoxCertificate, pact: Pact, original: nn.Module) -> list[str]:
    """What can be compared without running a network. Bits are recounted from both messages themselves."""
    code_bits = sum(_announced_bits(len(part)) for part in (pact.message, certificate.box_message))
    found: list[tuple[str, object, object]] = [
        ("the original network's sha256", hash_network(original), certificate.original_sha256),
        ("the original network's name", make_name(name_network(original)), certificate.original_name),
        ("the original network's arithmetic", ORIGINAL_ARITHMETIC, certificate.original_arithmetic),
        ("the number of bits of message and box", code_bits, certificate.code_bits),
    ]
    return [f"{what} is {own}, the certificate says {stated}" for what, own, stated in found if own != stated]


def _announced_bits(length: int) -> int:
    """Eight bits for each byte and Elias delta of length + 1, written out a second time."""
    digits = (length + 1).bit_length()
    return 8 * length + (digits - 1) + 2 * (digits.bit_length() - 1) + 1


def _compare_original(module: nn.Module, original: nn.Module, box: Box, samples: Samples) -> list[str]:
    try:
        check_same_structure(module, original)
        refuse_other_code(module, original, samples)
    except PactError as error:
        return [f"{error.where}: {error.what}"]
    return [f"the original network is not in the box: {where}" for where in escapes(box, module, original)]


def _recount(module: nn.Module, box: Box, samples: Samples, arithmetic: str, progress: Progress | None) -> int:
    """Count again, the other way round: the pairs of classes that no network in the box can tell otherwise.

    g_a - g_b > sqrt(2) E   if and only if   (g_a - g_b)^2 > 2 E^2 and g_a > g_b
    """
    sure = 0
    for walked, labels in walk_box(module, box, samples, arithmetic=arithmetic, batch=_BATCH, progress=progress):
        lowest, highest = (walked.values - walked.spread).numpy(), (walked.values + walked.spread).numpy()
        gaps = lowest[:, :, None] - highest[:, None, :]  # gaps[n, a, b]: by how much class a surely beats class b
        classes = np.arange(gaps.shape[1])
        gaps[:, classes, classes] = np.inf
        reach = 2 * walked.bound.numpy()[:, None, None] ** 2
        wins = ((gaps > 0) & (gaps**2 * (1 - 1e-12) > reach)).all(axis=2)
        sure += int(np.count_nonzero(wins[np.arange(len(labels)), labels]))
    return samples.count - sure


def _recompute(certificate: BoxCertificate, samples: int, reasons: list[str]) -> float:
    opinion = check_bound(
        errors=certificate.errors,
        samples=samples,
        code_bits=certificate.code_bits,
        delta=certificate.delta,
        form="exact",
        bound=certificate.bound,
    )
    if not opinion.holds:
        reasons.append(f"the bound is {opinion.own_bound:.6f}, the certificate says {certificate.bound:.6f}")
    return opinion.own_bound
