"""verify_picked: run the recipe again, count the errors in another way, recompute the bound, compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from netpact.certificates import Opinion, SelectionCertificate, check_selection_bound
from netpact.certificates.names import make_name
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.pacts.verification import Verdict
from netpact.picking.certifying import Drawn, count_errors, draw_samples, state_subset
from netpact.picking.classifier import PickedClassifier
from netpact.picking.file import Picked
from netpact.picking.kernel import staircase
from netpact.picking.learner import Selection

_BLOCK = 64


def verify_picked(picked: Picked | str | Path, data: Data | object, *, progress: Progress | None = None) -> Verdict:
    """From the recipe and the data alone. The picks in the file are compared with those of the run here."""
    found = picked if isinstance(picked, Picked) else Picked.read(picked)
    certificate = found.certificate
    if certificate is None:
        return Verdict(("the file has no certificate",), None)
    source = as_data(data)
    reasons = _compare(found, certificate, source)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    drawn = draw_samples(source, found.recipe, repeats=certificate.repeats)
    selection = drawn.run(progress)
    counted = _count_wrong(drawn, selection)
    own = [
        ("the number of samples", len(drawn.labels), certificate.samples),
        ("the number of exact copies", drawn.copies, certificate.copies),
        ("the number of picked samples", len(selection.picks), certificate.picked),
        ("the number of errors", counted, certificate.errors),
    ]
    reasons += [
        f"{what} is {number:,}, the certificate says {stated:,}" for what, number, stated in own if number != stated
    ]
    if not np.array_equal(drawn.places[selection.picks], found.picks):
        reasons.append("the recipe picks other samples than those in the file")
    opinion = _opinion(certificate, picked=len(selection.picks), errors=counted, samples=len(drawn.labels))
    if not opinion:
        reasons.append(opinion.reason)
    needed = state_subset(len(selection.picks), counted, len(drawn.labels), certificate.code_bits, certificate.delta)
    if certificate.subset_bound < needed - 1e-12:
        reasons.append(f"the subset bound is {needed:.6g}, the certificate says {certificate.subset_bound:.6g}")
    classifier = PickedClassifier(found.recipe, drawn.features[selection.picks], selection.coefficients)
    test_error = _compare_test(classifier, certificate, source, reasons)
    name = make_name(source.name)
    notes = () if certificate.data_name == name else (f"the file calls the data {certificate.data_name!r}",)
    certificate = replace(certificate, data_name=name)
    return Verdict(
        tuple(reasons), certificate, counted=counted, own_bound=opinion.own_bound, test_error=test_error, notes=notes
    )


def _compare(found: Picked, certificate: SelectionCertificate, data: Data) -> list[str]:
    own = [
        ("the recipe's sha256", found.message_sha256, certificate.message_sha256),
        ("the recipe's length in bytes", len(found.message), certificate.message_bytes),
        ("the number of classes", data.classes, certificate.classes),
        ("the training data's fingerprint", data.train.fingerprint(), certificate.data_fingerprint),
    ]
    return [f"{what} is {mine}, the certificate says {stated}" for what, mine, stated in own if mine != stated]


def _opinion(certificate: SelectionCertificate, *, picked: int, errors: int, samples: int) -> Opinion:
    return check_selection_bound(
        selected=picked + errors,
        samples=samples,
        code_bits=certificate.code_bits,
        delta=certificate.delta,
        bound=certificate.bound,
    )


def _count_wrong(drawn: Drawn, selection: Selection) -> int:
    """Errors on the samples that were not picked, in integers throughout, from differences and not from products."""
    stairs, halving = staircase().astype(np.int64), drawn.recipe.halving_distance
    chosen = drawn.features[selection.picks].astype(np.int32)
    left = np.setdiff1d(np.arange(len(drawn.labels)), selection.picks)
    wrong = 0
    for start in range(0, len(left), _BLOCK):
        places = left[start : start + _BLOCK]
        given = drawn.features[places].astype(np.int32)
        distances = _distances(given, chosen)
        steps = np.minimum(distances * 64 // halving, len(stairs) - 1)
        scores = stairs[steps] @ selection.coefficients
        labels = drawn.labels[places]
        beaten = scores >= np.take_along_axis(scores, labels[:, None], axis=1)
        wrong += int(np.count_nonzero(beaten.sum(axis=1) > 1))
    return wrong


def _distances(given: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    found = np.zeros((len(given), len(chosen)), dtype=np.int64)
    for row, one in enumerate(given):
        apart = (chosen - one).astype(np.int64)
        found[row] = np.einsum("ij,ij->i", apart, apart)
    return found


def _compare_test(
    classifier: PickedClassifier, certificate: SelectionCertificate, data: Data, reasons: list[str]
) -> float | None:
    """The test error found here; where the file states one about the same samples, it has to be this one."""
    if data.test is None:
        return None
    errors = count_errors(classifier, data.test)
    same = certificate.test_fingerprint == data.test.fingerprint()
    if same and (errors, data.test.count) != (certificate.test_errors, certificate.test_samples):
        reasons.append(
            f"the test errors are {errors:,} of {data.test.count:,}, the certificate says "
            f"{certificate.test_errors:,} of {certificate.test_samples:,}"
        )
    return errors / data.test.count
