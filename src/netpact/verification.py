"""verify: check a pact from file and data alone, with a second implementation of the bound and its own counting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netpact.certificates import Certificate, check_bound
from netpact.certification import base_fingerprint, open_module
from netpact.datasets import Data, Samples, as_data
from netpact.errors import PactError
from netpact.format import DECODER_VERSION, DEFAULT_MAX_PARAMETERS, Base, Pact
from netpact.models import OwnModule
from netpact.network import ToleranceRun, refuse_bad_logits
from netpact.progress import Progress

if TYPE_CHECKING:
    from torch import nn

    OwnModel = nn.Module | Callable[[], nn.Module]

_BATCH = 256


@dataclass(frozen=True)
class Verdict:
    """Agreed or refused, and why. The counts are the verifier's own; the bound is the one that was stated.

    errors and test_error are None where a refusal came before anything was counted.
    """

    agreed: bool
    reasons: tuple[str, ...]
    certificate: Certificate | None
    errors: int | None
    own_bound: float | None
    test_error: float | None

    def __str__(self) -> str:
        if self.agreed and self.certificate is not None:
            return f"agreed: {self.certificate.sentence()}"
        return "refused: " + "; ".join(self.reasons)

    def to_json(self) -> dict[str, object]:
        stated = {} if self.certificate is None else self.certificate.to_json()
        return {
            **stated,
            "agreed": self.agreed,
            "reasons": list(self.reasons),
            "test_error": self.test_error,
            "verified_errors": self.errors,
            "verified_bound": self.own_bound,
        }


def verify(
    pact: Pact,
    data: Data | object,
    *,
    model: OwnModel | None = None,
    base: Base | None = None,
    base_data: Samples | None = None,
    max_parameters: int = DEFAULT_MAX_PARAMETERS,
    progress: Progress | None = None,
) -> Verdict:
    """Decode, recount, recompute, compare. A file that does not decode is a PactError, a false statement a refusal."""
    source = as_data(data)
    certificate = pact.certificate
    if certificate is None:
        return Verdict(False, ("the file has no certificate",), None, None, None, None)
    # The cheap comparisons come first: a refusal need not wait for the data to be run through the network.
    reasons = _compare_statement(pact, certificate, source)
    if reasons:
        return Verdict(False, tuple(reasons), certificate, None, None, None)
    module = open_module(pact, source, model, base, max_parameters=max_parameters)
    # Decoding has settled whether the message needs a base: one that does cannot do without, and the other way round.
    reasons = _compare_base(certificate, base, base_data, source, own=isinstance(pact.architecture, OwnModule))
    if reasons:
        return Verdict(False, tuple(reasons), certificate, None, None, None)
    errors, samples = _count(module, source.train, certificate.arithmetic, progress)
    if samples != certificate.samples:
        reasons.append(f"the data have {samples:,} training samples, the certificate says {certificate.samples:,}")
    if errors > certificate.errors:
        reasons.append(f"{errors:,} errors counted, the certificate says {certificate.errors:,}")
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
    test_error = _check_test(module, source, certificate, reasons)
    return Verdict(not reasons, tuple(reasons), certificate, errors, own_bound, test_error)


def _compare_statement(pact: Pact, certificate: Certificate, data: Data) -> list[str]:
    """What can be compared without running the network. Bits are recounted from the message itself."""
    length = len(pact.message)
    # Elias delta of length + 1, written out a second time.
    digits = (length + 1).bit_length()
    code_bits = 8 * length + (digits - 1) + 2 * (digits.bit_length() - 1) + 1
    found: list[tuple[str, object, object]] = [
        ("the message's sha256", hashlib.sha256(pact.message).hexdigest(), certificate.message_sha256),
        ("the number of bytes", length, certificate.message_bytes),
        ("the number of bits", code_bits, certificate.code_bits),
        ("the arithmetic", pact.arithmetic, certificate.arithmetic),
        ("the decoder version", DECODER_VERSION, certificate.decoder_version),
        ("the number of classes", data.classes, certificate.classes),
        ("the training data's fingerprint", data.train.fingerprint(), certificate.data_fingerprint),
    ]
    return [f"{what} is {own}, the certificate says {stated}" for what, own, stated in found if own != stated]


def _compare_base(
    certificate: Certificate, base: Base | None, base_data: Samples | None, data: Data, *, own: bool
) -> list[str]:
    """What was fixed before the data: the kind of prior, and the base network where there is one."""
    prior = "conditional" if own else "data-free" if base is None else "transfer"
    if prior != certificate.prior:
        return [f"the kind of prior is {prior}, the certificate says {certificate.prior}"]
    if base is None:
        return []
    if base.sha256 != certificate.base_sha256:
        return [f"the base network's sha256 is {base.sha256}, the certificate says {certificate.base_sha256}"]
    try:
        told = base_fingerprint(base, base_data, data)
    except PactError as error:
        return [f"{error.where}: {error.what}"]
    # Without the base's data, and where its file tells nothing, the stated fingerprint is a declaration.
    if told and told != certificate.base_data_fingerprint:
        stated = certificate.base_data_fingerprint or "nothing"
        return [f"the fingerprint of the base's training data is {told}, the certificate says {stated}"]
    return []


def _check_test(module: nn.Module, data: Data, certificate: Certificate, reasons: list[str]) -> float | None:
    """The test error found here. It is no part of the bound, but a stated one must be true as well."""
    if data.test is None:
        return None
    errors, samples = _count(module, data.test, certificate.arithmetic, None)
    if certificate.test_errors is not None:
        for what, own, stated in (
            ("the test data's fingerprint", data.test.fingerprint(), certificate.test_fingerprint),
            ("the number of test samples", samples, certificate.test_samples),
        ):
            if own != stated:
                reasons.append(f"{what} is {own}, the certificate says {stated}")
        if errors > certificate.test_errors:
            reasons.append(f"{errors:,} test errors counted, the certificate says {certificate.test_errors:,}")
    return errors / samples


def _count(module: nn.Module, samples: Samples, arithmetic: str, progress: Progress | None) -> tuple[int, int]:
    """Count anew, the other way round: find the class that surely wins, if there is one, and compare with the label."""
    run = ToleranceRun(module, arithmetic)
    wrong = seen = 0
    for inputs, labels in samples.batches(_BATCH):
        logits = run(inputs)
        refuse_bad_logits(logits, labels, first=seen)
        values, spread = logits.values.numpy(), logits.spread.numpy()
        upper = values + spread
        rows = np.arange(len(labels))
        winner = (values - spread).argmax(axis=1)
        floor = (values - spread)[rows, winner]
        upper[rows, winner] = -np.inf
        wrong += int(np.count_nonzero((winner != labels) | (upper.max(axis=1) >= floor)))
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)
    return wrong, seen
