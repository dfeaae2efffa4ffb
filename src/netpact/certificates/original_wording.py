"""What a certificate about the original network says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates.as_run_wording import CAUTION, as_run_by, program_declaration
from netpact.certificates.names import quote
from netpact.certificates.wording import DIGITS_SHOWN, arithmetic, condition, drawn
from netpact.core.percent import confidence, percent_up

if TYPE_CHECKING:
    from netpact.certificates.original import OriginalCertificate


def theorem(certificate: OriginalCertificate) -> str:
    if certificate.by_hold_out:
        return (
            "risk(original) <= risk(helper) + P[the two disagree]: the first by the hold-out bound of the helper, "
            "which the file holds unchanged, with a prefix code for the choices that were left; the second on fresh "
            "unlabelled samples. Both by binomial tail inversion (Langford 2005), each with delta / 2."
        )
    return (
        "risk(original) <= risk(compressed) + P[the two disagree]: the first by the compressed network's certificate, "
        "the second by binomial tail inversion on fresh unlabelled samples (Langford 2005), each with delta / 2."
    )


def assumptions(certificate: OriginalCertificate) -> tuple[str, ...]:
    """The premises of both parts, one sentence each."""
    return (
        *certificate.compressed.assumptions,
        *_itself_premise(certificate),
        f"The {certificate.unlabelled_samples:,} unlabelled samples were drawn independently from the distribution of "
        "the training inputs, and independently of the training samples and of both networks.",
        arithmetic("the original network", certificate.original_arithmetic, certificate.program),
    )


def declarations(certificate: OriginalCertificate) -> tuple[str, ...]:
    """What whoever made the certificate declares, and the program cannot check."""
    return (
        *certificate.compressed.declarations,
        f"The samples of {quote(certificate.unlabelled_name)} were used neither in training nor in any choice about "
        "either network. (Checked: none is an exact copy of a training sample, or of a test sample where the data have "
        "any. Not checked: near copies, and other data that training may have used.)",
        f"The original network {quote(certificate.original_name)} holds nothing but its parameters and buffers.",
        *(() if certificate.program is None else (program_declaration(certificate.program),)),
    )


def sentence(certificate: OriginalCertificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    return (
        f"{condition(certificate.compressed)} probability at least {confidence(certificate.delta)} over the "
        f"draw of the {certificate.compressed.samples:,} {drawn(certificate.compressed)} and the "
        f"{certificate.unlabelled_samples:,} unlabelled ones{_left_out(certificate)}, the original network "
        f"{quote(certificate.original_name)} (sha256 {certificate.original_sha256[:DIGITS_SHOWN]}...)"
        f"{as_run_by(certificate.program)} errs on at most {percent_up(certificate.bound)} of new samples from the "
        f"same distribution.{_itself(certificate)}{CAUTION if certificate.as_run else ''}"
    )


def _itself(certificate: OriginalCertificate) -> str:
    """Which bound was added for the network in the file, where it is not the certificate's."""
    if certificate.hold_out_bound is None:
        return ""
    return (
        f" This file holds the helper network itself: its part is a hold-out bound, "
        f"{percent_up(certificate.hold_out_bound)} with {certificate.hold_out_bits} bits."
    )


def _itself_premise(certificate: OriginalCertificate) -> tuple[str, ...]:
    """The hold-out bound without bits, which the certificate prints, is another one and needs more."""
    if not certificate.by_hold_out:
        return ()
    return (
        f"The hold-out bound in this sum counts {certificate.hold_out_bits} bits, by a rule that was fixed before the "
        "sample was drawn. They pay for percent, counter and arithmetic, and for taking the helper itself rather than "
        "a network encoded against it: none of these need be fixed before the data were looked at.",
    )


def _left_out(certificate: OriginalCertificate) -> str:
    copies = 0 if certificate.compressed.repeats else certificate.unlabelled_duplicates
    return f" ({copies:,} exact copies were left out)" if copies else ""
