"""What a hold-out statement says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates import fresh_wording as shared
from netpact.certificates.names import quote
from netpact.core.percent import percent_up

if TYPE_CHECKING:
    from netpact.certificates.hold_out import HoldOutCertificate


def theorem(certificate: HoldOutCertificate) -> str:
    return f"{shared.THEOREM}: the network was fixed before the samples were drawn."


def assumptions(certificate: HoldOutCertificate) -> tuple[str, ...]:
    called = _called(certificate)
    return (
        *shared.premises(certificate, labels="labelled samples", networks=called),
        shared.arithmetic(certificate.network, called, certificate),
    )


def declarations(certificate: HoldOutCertificate) -> tuple[str, ...]:
    declared = shared.declarations(certificate, networks=_called(certificate))
    if certificate.about == "file":
        return declared
    return (*declared, f"The network {quote(certificate.network.name)} holds nothing but its parameters and buffers.")


def sentence(certificate: HoldOutCertificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    return (
        f"{shared.opening(certificate, 'fresh labelled samples')} "
        f"{shared.named(certificate.network, _called(certificate), certificate)} errs on at most "
        f"{percent_up(certificate.bound)} of new samples from the same distribution (hold-out, 0 bits)."
        f"{shared.ending(certificate)}"
    )


def _called(certificate: HoldOutCertificate) -> str:
    from netpact.certificates.hold_out import SUBJECTS

    return SUBJECTS[certificate.about]
