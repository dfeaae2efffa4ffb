"""What a statement by sample compression says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates.base import base_condition, base_declaration, base_premise
from netpact.certificates.names import quote
from netpact.certificates.wording import DIGITS_SHOWN
from netpact.core.percent import confidence, percent_up

if TYPE_CHECKING:
    from netpact.certificates.selection import SelectionCertificate


def theorem(certificate: SelectionCertificate) -> str:
    return (
        "Campi and Garatti 2023, bound for compression with the preference property, as in Pick-to-Learn (Paccagnan, "
        "Campi and Garatti 2023): picked samples and wrong ones count alike; delta is divided by 2 to the bits of the "
        "recipe."
    )


def assumptions(certificate: SelectionCertificate) -> tuple[str, ...]:
    premises: tuple[str, ...] = (
        f"The {certificate.samples:,} training samples are independent draws from one distribution.",
        "The learner (features, kernel, training and picking) and the code of recipes were fixed before the sample was "
        "drawn.",
        f"delta = {certificate.delta!r} was chosen before training.",
        "Arithmetic: the learner computes with integers, so every machine picks the same samples.",
    )
    if certificate.base_sha256:
        premises += (base_premise(certificate),)
    if certificate.repeats:
        premises += ("The distribution itself repeats values: a sample equal to another one was drawn all the same.",)
    elif certificate.copies:
        premises += (f"The {certificate.copies:,} exact copies that were left out are copies, not draws of their own.",)
    return premises


def declarations(certificate: SelectionCertificate) -> tuple[str, ...]:
    declared: tuple[str, ...] = (
        f"The samples of {quote(certificate.data_name)} are independent draws from the distribution of interest.",
        f"delta = {certificate.delta!r} was chosen before looking at the data.",
        "Nothing outside the recipe was chosen by looking at the training data: no input scaling, no features, no "
        "removal of samples.",
    )
    if certificate.base_sha256:
        declared += (base_declaration(certificate),)
    if certificate.test_errors is not None:
        declared += (
            "The test samples were used neither in training nor in any choice; if they were, the test error and the "
            "hold-out bound are biased, the bound is not.",
        )
    return declared


def sentence(certificate: SelectionCertificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    premises = [base_condition(certificate)] if certificate.base_sha256 else []
    premises += ["the distribution itself repeats values"] if certificate.repeats else []
    start = f"If {', and '.join(premises)}, with" if premises else "With"
    left_out = 0 if certificate.repeats else certificate.copies
    base = certificate.base_sha256
    ground = f" and from the base (sha256 {base[:DIGITS_SHOWN]}...)" if base else ""
    copies = f" ({left_out:,} exact copies were left out)" if left_out else ""
    held_out = (
        ""
        if certificate.hold_out_bound is None
        else f" From {certificate.test_samples:,} test samples, if they were used in no choice: "
        f"{percent_up(certificate.hold_out_bound)} (hold-out, 0 bits)."
    )
    return (
        f"{start} probability at least {confidence(certificate.delta)} over the draw of the {certificate.samples:,} "
        f"training samples of {quote(certificate.data_name)}{copies}, the classifier that the recipe (sha256 "
        f"{certificate.message_sha256[:DIGITS_SHOWN]}..., {certificate.message_bytes} bytes) makes from them{ground} "
        f"errs on at most {percent_up(certificate.bound)} of new samples from the same distribution (sample "
        f"compression: {certificate.picked:,} samples picked, {certificate.errors:,} of the others wrong). "
        f"The picked samples as a message, on the same samples: {percent_up(certificate.subset_bound)}.{held_out} Each "
        "holds separately with that probability."
    )
