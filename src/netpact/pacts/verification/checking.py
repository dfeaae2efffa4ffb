"""verify: check a pact from file and data alone, with a second implementation of the bound and its own counting."""

from __future__ import annotations

import hashlib
from pathlib import Path

from netpact.certificates import Certificate, check_bound
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Compressed, Pact, as_pact
from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples
from netpact.datasets.standardising import COMPUTED, looks_computed
from netpact.models import OwnModel
from netpact.pacts.priors import Base, Ground, Subject, open_subject
from netpact.pacts.verification.as_run import compare_errors, explained
from netpact.pacts.verification.own_words import compare_module, in_own_words
from netpact.pacts.verification.prior_checks import SAME_HELPER, check_hold_out, compare_order, compare_prior
from netpact.pacts.verification.recount import Recount, count_anew
from netpact.pacts.verification.verdict import Verdict
from netpact.runs import Engine, kept_workers


@kept_workers()
def verify(
    pact: Pact | Compressed | str | Path,
    data: Data | object,
    *,
    model: OwnModel | str | None = None,
    base: Base | str | Path | None = None,
    base_data: object = None,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    engine: Engine | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Decode, recount, recompute, compare. A file that does not decode raises PactError; a false statement is refused.

    pact  a Pact, or the path of a .pact file
    base  the base network that the certificate names, as open_base gives it, or its file; or a helper as retrain_helper
          gives it, which need not be the stated one bit for bit: errors are counted with this one
    engine, resume  as for certify: whose workers count, and a folder for what has been counted so far
    """
    pact = as_pact(pact)
    certificate = pact.certificate
    subject = open_subject(
        pact,
        data,
        model=model,
        base=base,
        base_data=base_data,
        max_parameters=max_parameters,
        engine=engine,
        resume=resume,
    )
    if certificate is None:
        return Verdict(("the file has no certificate",), None)
    return check_risk(subject.as_stated(certificate), certificate, progress)


def check_risk(subject: Subject, certificate: Certificate, progress: Progress | None = None) -> Verdict:
    """What verify checks, on what was opened already."""
    source, base = subject.data, subject.base
    # The cheap comparisons come first: a refusal need not wait for the data to be run through the network.
    reasons = _compare_statement(subject, certificate)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    if source.standardised is not None and looks_computed(source.train):
        return Verdict((f"{source.standardised}: {COMPUTED}",), certificate)
    subject.module  # noqa: B018 - an error in it comes before those of the base
    # Decoding has settled whether the message needs a base: one that does cannot do without, and the other way round.
    try:
        ground = subject.ground
        reasons, given = compare_prior(certificate, base, ground)
    except PactError as error:
        if error.where == "base_data":
            raise  # a slip of whoever verifies, not a false statement
        return Verdict((f"{error.where}: {error.what}",), certificate)
    other, notes = compare_module(certificate, subject)
    reasons += other + _compare_copies(certificate, ground) + compare_order(certificate, ground, source.train)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    found = _recount(subject, ground.samples, certificate, progress)
    errors, samples = found.errors, found.samples
    if samples != certificate.samples:
        which = "training samples" + (" without copies" if ground.copies and not certificate.repeats else "")
        reasons.append(f"the data have {samples:,} {which}, the certificate says {certificate.samples:,}")
        # No bound is computed from counts that are false: a billion samples would take the verifier long.
        return Verdict(tuple(reasons), certificate, errors)
    undecided: list[str] = []
    compare_errors("errors", found, certificate.errors, reasons, undecided)
    own_bound = _recompute(certificate, reasons)
    hold_out = check_hold_out(certificate, subject, reasons, undecided)
    # Of a helper that came out otherwise the test errors were never stated.
    same = base is None or not base.retrained or given == SAME_HELPER
    tested = _check_test(subject, certificate, reasons if same else [])
    test_error = None if tested is None else tested.errors / tested.samples
    if reasons or undecided:
        return Verdict(
            tuple(reasons),
            certificate,
            errors,
            own_bound,
            test_error,
            given,
            undecided=explained(certificate, undecided),
        )
    said, further = in_own_words(
        certificate,
        subject,
        near_ties=found.near_ties if same and (errors == certificate.errors or certificate.as_run) else None,
        hold_out=hold_out if same else None,
        tested=tested,
    )
    return Verdict((), said, errors, own_bound, test_error, given, (*notes, *further))


def _compare_statement(subject: Subject, certificate: Certificate) -> list[str]:
    """What can be compared without running the network. Bits are recounted from the message itself."""
    message, data = subject.pact.message, subject.data
    version, arithmetic = subject.header.version, subject.header.arithmetic
    length = len(message)
    # Elias delta of length + 1, written out a second time.
    digits = (length + 1).bit_length()
    code_bits = 8 * length + (digits - 1) + 2 * (digits.bit_length() - 1) + 1
    found: list[tuple[str, object, object]] = [
        ("the message's sha256", hashlib.sha256(message).hexdigest(), certificate.message_sha256),
        ("the number of bytes", length, certificate.message_bytes),
        ("the number of bits", code_bits, certificate.code_bits),
        ("the arithmetic", arithmetic, certificate.arithmetic),
        ("the decoder version", version, certificate.decoder_version),
        ("the number of classes", data.classes, certificate.classes),
        ("the standardisation", "" if data.standardised is None else str(data.standardised), certificate.standardised),
        ("the training data's fingerprint", data.train.fingerprint(), certificate.data_fingerprint),
    ]
    reasons = [f"{what} is {own}, the certificate says {stated}" for what, own, stated in found if own != stated]
    if certificate.order == "public-seed" and data.train.fingerprint() != certificate.data_fingerprint:
        reasons.append("the certificate's samples are sorted: give FILE.npz:sorted, or sort_samples(data)")
    return reasons


def _compare_copies(certificate: Certificate, ground: Ground) -> list[str]:
    """Copies are found here; nobody's word is taken for their number."""
    if ground.copies == certificate.copies:
        return []
    return [
        f"{ground.copies:,} of the samples are exact copies of others, the certificate says {certificate.copies:,}: "
        "copies are not counted unless the distribution is declared to repeat values"
    ]


def _recompute(certificate: Certificate, reasons: list[str]) -> float:
    """The stated form by the second implementation; the other two forms are checked as well."""
    own_bound = None
    for form, stated in (
        (certificate.form, certificate.bound),
        ("kl", certificate.kl_bound),
        ("hoeffding", certificate.hoeffding_bound),
    ):
        opinion = check_bound(
            errors=certificate.errors,
            samples=certificate.samples,
            code_bits=certificate.code_bits,
            delta=certificate.delta,
            form=form,
            bound=stated,
        )
        own_bound = opinion.own_bound if own_bound is None else own_bound
        if not opinion.holds:
            reasons.append(f"the {form} bound is {opinion.own_bound:.6f}, the certificate says {stated:.6f}")
    assert own_bound is not None
    return own_bound


def _recount(subject: Subject, samples: Samples, certificate: Certificate, progress: Progress | None = None) -> Recount:
    return count_anew(
        subject.module,
        samples,
        certificate.arithmetic,
        progress,
        network=subject.parcel,
        execution=subject.execution,
    )


def _check_test(subject: Subject, certificate: Certificate, reasons: list[str]) -> Recount | None:
    """The test errors found here. They are no part of the bound, but a stated number must be true as well."""
    data = subject.data
    if data.test is None:
        return None
    found = _recount(subject, data.test, certificate)
    if certificate.test_errors is not None:
        for what, own, stated in (
            ("the test data's fingerprint", data.test.fingerprint(), certificate.test_fingerprint),
            ("the number of test samples", found.samples, certificate.test_samples),
        ):
            if own != stated:
                reasons.append(f"{what} is {own}, the certificate says {stated}")
        # Near ties are no reason to refuse here: the verdict states what was counted, and a note says so.
        if found.errors > certificate.test_errors and not (
            certificate.as_run and found.explains(certificate.test_errors)
        ):
            reasons.append(f"{found.errors:,} test errors counted, the certificate says {certificate.test_errors:,}")
    return found
