"""What a certificate about the networks in a box says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates.names import quote
from netpact.certificates.wording import DIGITS_SHOWN, arithmetic, condition, drawn
from netpact.core.percent import confidence, percent_up

if TYPE_CHECKING:
    from netpact.certificates.box import BoxCertificate


def theorem(certificate: BoxCertificate) -> str:
    return (
        "For every network f whose layers are within the box of those in the file: f errs on (x, y) only if the margin "
        "of the network in the file is at most sqrt(2) E(x), with E(x) computed from message and box alone. So risk(f) "
        "is bounded by binomial tail inversion of the number of such samples, with the bits of message and box "
        "(Langford 2005; Arora et al. 2018, Theorem 2.1 made exact)."
    )


def assumptions(certificate: BoxCertificate) -> tuple[str, ...]:
    """The premises, one sentence each."""
    return (
        *certificate.compressed.assumptions,
        arithmetic("the original network", certificate.original_arithmetic),
    )


def declarations(certificate: BoxCertificate) -> tuple[str, ...]:
    """What whoever made the certificate declares, and the program cannot check."""
    return (
        *certificate.compressed.declarations,
        f"The original network {quote(certificate.original_name)} is the network in the file with other weights, and "
        "holds nothing but its parameters and buffers.",
    )


def sentence(certificate: BoxCertificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    return (
        f"{condition(certificate.compressed)} probability at least {confidence(certificate.delta)} over the "
        f"draw of the {certificate.compressed.samples:,} {drawn(certificate.compressed)}, the original network "
        f"{quote(certificate.original_name)} (sha256 {certificate.original_sha256[:DIGITS_SHOWN]}...) and every other "
        f"network as close to the one in this file errs on at most {percent_up(certificate.bound)} of new samples "
        "from the same distribution."
    )
