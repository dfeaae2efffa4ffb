"""What a certificate says in words: its theorem, its premises, and the one plain sentence."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpact.certificates.certificate import Certificate

_FORM_NAMES = {
    "exact": "binomial tail inversion",
    "kl": "the Chernoff (kl) relaxation of binomial tail inversion",
    "hoeffding": "the Hoeffding relaxation of binomial tail inversion",
}


def theorem(certificate: Certificate) -> str:
    return (
        f"Langford 2005, {_FORM_NAMES[certificate.form]} with an Occam prior given by a prefix code: "
        "Arora et al. 2018, Theorem 2.1 made exact."
    )


def assumptions(certificate: Certificate) -> tuple[str, ...]:
    """The premises of the theorem, one sentence each."""
    premises: tuple[str, ...] = (
        f"The {certificate.samples:,} training samples were drawn independently from one distribution, and the "
        "bound is about that distribution.",
        f"Decoder version {certificate.decoder_version} was fixed before the sample was drawn.",
        f"delta = {certificate.delta!r} was chosen before training.",
        f"Arithmetic: the network is evaluated with sums and products in {certificate.arithmetic}, in any order; "
        "no TF32, no bf16, no Winograd convolution.",
    )
    if certificate.prior == "conditional":
        premises += (f"The module {certificate.module} was fixed before the data.",)
    if certificate.prior == "transfer":
        premises += (
            f"The base network {certificate.base_name} (sha256 {certificate.base_sha256}) was fixed before the sample "
            "was drawn, and does not depend on it.",
        )
    return premises


def declarations(certificate: Certificate) -> tuple[str, ...]:
    """What whoever made the certificate declares, and the program cannot check."""
    declared: tuple[str, ...] = (
        f"The samples of {certificate.data_name} are independent draws from the distribution of interest.",
        f"delta = {certificate.delta!r} and the form {certificate.form!r} were chosen before looking at the data.",
        "Nothing outside the message was chosen by looking at the training data: no input scaling, no features, no "
        "removal of samples.",
    )
    if certificate.prior == "conditional":
        declared += (f"The code of the module {certificate.module} holds nothing learned from the training data.",)
    if certificate.prior == "transfer":
        source = certificate.base_data_fingerprint or "data that are not named"
        declared += (
            f"The base network {certificate.base_name} was trained on {source}, none of which are samples of "
            f"{certificate.data_name}, and was not chosen among several by looking at them.",
        )
    if certificate.test_errors is not None:
        declared += (
            "The test samples were used neither in training nor in any choice; if they were, the test error is biased, "
            "the bound is not.",
        )
    return declared


def sentence(certificate: Certificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    return (
        f"{condition(certificate)} probability at least {confidence_percent(certificate.delta)} % over the draw of the "
        f"{certificate.samples:,} training samples, the network in this file errs on at most "
        f"{percent_up(certificate.bound)} % of new samples from the same distribution."
    )


def condition(certificate: Certificate) -> str:
    """How the sentence begins: with the premise that its prior needs, where it needs one."""
    if certificate.prior == "conditional":
        return f"If the module {certificate.module} was fixed before the data, with"
    if certificate.prior == "transfer":
        return f"If the base network {certificate.base_name} was fixed before the data, with"
    return "With"


def percent_up(share: float) -> str:
    # repr gives the shortest decimal of the float: 0.05 reads as 5 %, not as the binary neighbour just above it.
    with localcontext(Context(prec=400)):
        return _plain((Decimal(repr(share)) * 100).quantize(Decimal("0.1"), rounding=ROUND_CEILING))


def confidence_percent(delta: float) -> str:
    with localcontext(Context(prec=400)):
        return _plain(((1 - Decimal(repr(delta))) * 100).quantize(Decimal("1e-10"), rounding=ROUND_FLOOR))


def _plain(percent: Decimal) -> str:
    return f"{percent:f}".rstrip("0").rstrip(".")
