"""What a statement about the disagreement of two networks says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates import fresh_wording as shared
from netpact.certificates.names import quote
from netpact.core.percent import percent_up

if TYPE_CHECKING:
    from netpact.certificates.fidelity import FidelityCertificate

_FILE, _ORIGINAL = "the network in this file", "the original network"


def theorem(certificate: FidelityCertificate) -> str:
    return f"{shared.THEOREM}: both networks were fixed before the inputs were drawn, and no label is needed."


def assumptions(certificate: FidelityCertificate) -> tuple[str, ...]:
    return (
        *shared.premises(certificate, labels="unlabelled inputs", networks="either network"),
        shared.arithmetic(certificate.compressed, _FILE, certificate),
        shared.arithmetic(certificate.original, _ORIGINAL, certificate),
    )


def declarations(certificate: FidelityCertificate) -> tuple[str, ...]:
    return (
        *shared.declarations(certificate, networks="either network"),
        f"The original network {quote(certificate.original.name)} holds nothing but its parameters and buffers.",
    )


def sentence(certificate: FidelityCertificate) -> str:
    """The statement in one sentence: the confidence rounded down, the rate rounded up."""
    return (
        f"{shared.opening(certificate, 'fresh unlabelled inputs')} "
        f"{shared.named(certificate.compressed, _FILE, certificate)} and "
        f"{shared.named(certificate.original, _ORIGINAL, certificate)} disagree on at most "
        f"{percent_up(certificate.bound)} of new inputs from the same distribution.{shared.ending(certificate)}"
    )
