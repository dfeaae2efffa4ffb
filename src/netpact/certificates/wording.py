"""What a certificate says in words: its theorem, its premises, and the one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.certificates.as_run_wording import as_run_by, near_tie_caution, program_declaration, program_premise
from netpact.certificates.base import base_condition, base_declaration, base_premise
from netpact.certificates.names import quote
from netpact.certificates.program import WHOLE
from netpact.core.percent import confidence, percent_up

if TYPE_CHECKING:
    from netpact.certificates.certificate import Certificate
    from netpact.certificates.helper import Helper
    from netpact.certificates.program import Program

_CONSTANTS_SHOWN = 4  # of a mean or a deviation
DIGITS_SHOWN = 12  # of a sha256, in a sentence for people
_FORM_NAMES = {
    "exact": "binomial tail inversion",
    "kl": "the Chernoff (kl) relaxation of binomial tail inversion",
    "hoeffding": "the Hoeffding relaxation of binomial tail inversion",
}


def theorem(certificate: Certificate) -> str:
    relative = "" if certificate.helper is None else ", encoded against a network computed from other samples"
    return (
        f"Langford 2005, {_FORM_NAMES[certificate.form]} with an Occam prior given by a prefix code{relative}: "
        "Arora et al. 2018, Theorem 2.1 made exact."
    )


def assumptions(certificate: Certificate) -> tuple[str, ...]:
    """The premises of the theorem, one sentence each."""
    number = f"{certificate.samples:,}"
    if certificate.helper is not None:
        number += f" certified and the {certificate.helper.samples:,} other"
    premises: tuple[str, ...] = (
        f"The {number} training samples were drawn independently from one distribution, and the "
        "bound is about that distribution.",
        f"Decoder version {certificate.decoder_version} was fixed before the sample was drawn.",
        f"delta = {certificate.delta!r} was chosen before training.",
        arithmetic("the network", certificate.arithmetic, certificate.program),
    )
    if certificate.standardised:
        premises += (
            f"The inputs were standardised, (x - mean) / std, with constants that were fixed before the sample was "
            f"drawn: {_constants(certificate)}.",
        )
    if certificate.repeats:
        premises += ("The distribution itself repeats values: a sample equal to another one was drawn all the same.",)
    elif certificate.copies:
        premises += (f"The {certificate.copies:,} exact copies that were left out are copies, not draws of their own.",)
    if certificate.module:
        premises += (f"The module {_module(certificate)} was fixed before the data.",)
    if certificate.prior == "transfer":
        premises += (base_premise(certificate),)
    if certificate.helper is not None:
        helper = certificate.helper
        premises += (
            f"The helper network {quote(helper.name)} (sha256 {helper.sha256}) was computed from {helper.samples:,} "
            f"samples alone: {helper.percent} % of the training data, drawn by counter {helper.counter}. That draw is "
            "a function of the number of samples, percent and counter; the last two are in the message, and paid for.",
            _order_premise(certificate, helper),
            "The hold-out bound counts no bits: it holds if percent and counter were fixed before the data were "
            "looked at.",
        )
    return premises


def arithmetic(network: str, precision: str, program: Program | None = None) -> str:
    """What the rounding bounds allow for, and what they rule out; or which program ran the network."""
    if program is not None:
        return program_premise(network, program)
    if precision == WHOLE:
        return (
            f"Arithmetic: {network} computes with integers, below 2^24 in float32 and below 2^53 in float64 for "
            "every input; so no sum is rounded, in whatever order, and every machine has the same logits. No TF32, no "
            "bf16, no Winograd or Fourier convolution: those are not sums of integers."
        )
    return (
        f"Arithmetic: {network} is evaluated in {precision}, its sums of products in any order, with or without fused "
        "multiply-add; numbers below the smallest normal one may be flushed to zero; exp, log, tanh and erf are "
        "accurate to 8 units in the last place, and to 32 within softmax; no TF32, no bf16, no Winograd or Fourier "
        "convolution."
    )


def declarations(certificate: Certificate) -> tuple[str, ...]:
    """What whoever made the certificate declares, and the program cannot check."""
    declared: tuple[str, ...] = (
        f"The samples of {quote(certificate.data_name)} are independent draws from the distribution of interest.",
        f"delta = {certificate.delta!r} and the form {certificate.form!r} were chosen before looking at the data.",
        "Nothing outside the message was chosen by looking at the training data: no input scaling, no features, no "
        "removal of samples.",
    )
    if certificate.standardised:
        declared += (
            f"The constants that standardise the inputs ({_constants(certificate)}) were neither computed from the "
            "training data nor chosen by looking at them.",
        )
    if certificate.module:
        declared += (f"The code of the module {_module(certificate)} holds nothing learned from the training data.",)
    if certificate.prior == "transfer":
        declared += (base_declaration(certificate),)
    if certificate.helper is not None:
        helper = certificate.helper
        declared += (
            f"The recipe of the helper network {quote(helper.name)} was chosen without looking at the "
            f"{certificate.samples:,} certified samples. Looking at the other {helper.samples:,} is free.",
            f"The helper network {quote(helper.name)} is what this recipe makes of those {helper.samples:,} samples. "
            "(Checked by whoever trains it again: verify --retrain.)",
        )
        if certificate.order != "published":
            declared += (_order_premise(certificate, helper),)
    if certificate.program is not None:
        declared += (program_declaration(certificate.program),)
    if certificate.test_errors is not None:
        declared += (
            "The test samples were used neither in training nor in any choice; if they were, the test error is biased, "
            "the bound is not.",
        )
    return declared


def sentence(certificate: Certificate) -> str:
    """The statement in one sentence: the confidence rounded down, the error rate rounded up."""
    samples = f"{certificate.samples:,} {drawn(certificate)}"
    return (
        f"{condition(certificate)} probability at least {confidence(certificate.delta)} over the draw of the "
        f"{samples}, the network in this file{as_run_by(certificate.program)} errs on at most "
        f"{percent_up(certificate.bound)} of new samples from the same distribution.{_whole(certificate)}"
        f"{_beside(certificate)}"
        f"{near_tie_caution(certificate.near_ties, certificate.samples, certificate.program)}"
    )


def _whole(certificate: Certificate) -> str:
    if certificate.arithmetic != WHOLE:
        return ""
    return " Its logits are integers, the same on every machine."


def _beside(certificate: Certificate) -> str:
    """The hold-out bound, which always goes with a data-dependent bound."""
    helper = certificate.helper
    if helper is None:
        return ""
    compared = "beats" if certificate.beats_hold_out else "does NOT beat"
    return (
        f" The hold-out bound of the helper network alone, on the same samples and with 0 bits, is "
        f"{percent_up(helper.bound)}: this certificate {compared} it. Each of the two holds separately with that "
        "probability; taking the better of them costs one bit."
    )


def drawn(certificate: Certificate) -> str:
    """Which samples the statement is about."""
    left_out = 0 if certificate.repeats else certificate.copies
    unseen = "" if certificate.helper is None else " that it has not seen"
    if certificate.order == "published":
        unseen += ", drawn by their places in the published data set,"
    return f"training samples{unseen}" + (f" ({left_out:,} exact copies were left out)" if left_out else "")


def condition(certificate: Certificate) -> str:
    """How the sentence begins: with the premises that its prior and its samples need, where they need any."""
    conditions = (
        *(_order(certificate), _repeats(certificate), _inputs(certificate)),
        *(_own_code(certificate), _prior(certificate)),
    )
    premises = [premise for premise in conditions if premise]
    return f"If {', and '.join(premises)}, with" if premises else "With"


def _order(certificate: Certificate) -> str:
    if certificate.helper is None or certificate.order == "published":
        return ""
    if certificate.order == "public-seed":
        seed = f"the seed {certificate.helper.counter} ({quote(certificate.order_source)})"
        return f"{seed} was fixed publicly before the samples were collected"
    return "the order of the samples was not chosen by looking at them"


def _order_premise(certificate: Certificate, helper: Helper) -> str:
    if certificate.order == "published":
        return "The samples are in the order of the published data set, which nobody here could choose."
    if certificate.order == "public-seed":
        return (
            "The samples are sorted by the SHA-256 of their inputs before they are split, so their order in a data "
            f"file has no influence; and the seed of the split, {helper.counter}, was fixed publicly before the "
            "samples were collected."
        )
    return (
        "The order of the samples was not chosen by looking at them: whoever writes them down decides by it which of "
        "them are certified."
    )


def _repeats(certificate: Certificate) -> str:
    if not certificate.repeats:
        return ""
    found = f" ({certificate.copies:,} of the samples are exact copies of others)" if certificate.copies else ""
    return f"the distribution itself repeats values{found}"


def _inputs(certificate: Certificate) -> str:
    if not certificate.standardised:
        return ""
    return f"the constants that standardise the inputs ({_constants(certificate)}) were fixed before the data"


def _constants(certificate: Certificate) -> str:
    mean, _, std = certificate.standardised.partition("/")
    return f"mean {_shortened(mean)}, std {_shortened(std)}"


def _shortened(numbers: str) -> str:
    """All of them are in the record; a table may have hundreds."""
    each = numbers.split(",")
    return ", ".join(each) if len(each) <= _CONSTANTS_SHOWN else f"{', '.join(each[:3])}, ... ({len(each):,} numbers)"


def _own_code(certificate: Certificate) -> str:
    return f"the module {_module(certificate)} was fixed before the data" if certificate.module else ""


def _prior(certificate: Certificate) -> str:
    if certificate.prior == "transfer":
        return base_condition(certificate)
    if certificate.helper is not None:
        helper = certificate.helper
        return f"the helper network {quote(helper.name)} was computed from {helper.samples:,} other samples alone"
    return ""


def _module(certificate: Certificate) -> str:
    code = certificate.module_sha256
    identified = f"code sha256 {code[:DIGITS_SHOWN]}..." if code else "its code is not identified"
    return f"{quote(certificate.module)} ({identified})"


def contradiction(test_error: float) -> str:
    """What is said beside a bound that is smaller than the test error."""
    return (
        f"The test error, {percent_up(test_error)}, contradicts this bound: an assumption or a declaration is false, "
        "or the test samples come from another distribution, or an unlikely sample was drawn."
    )
