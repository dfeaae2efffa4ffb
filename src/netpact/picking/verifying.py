"""verify_picked: run the recipe again, count the errors in another way, recompute the bound, compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from netpact.certificates import Opinion, SelectionCertificate, check_bound, check_selection_bound
from netpact.certificates.names import make_name
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Pact
from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.pacts.verification import Verdict
from netpact.pacts.verification.prior_checks import compare_base
from netpact.picking.base import FeatureBase, as_feature_base
from netpact.picking.certifying import Drawn, count_errors, draw_samples, find_origin, state_subset
from netpact.picking.classifier import PickedClassifier, count_wrong
from netpact.picking.features import check_inputs
from netpact.picking.file import Picked
from netpact.picking.kernel import staircase
from netpact.picking.learner import Selection

PICKED_AGAIN = "its samples picked again, bit for bit the stated ones"
_BLOCK = 1000
_RECOMPUTED = 500  # samples whose scores are computed once more in integers


def verify_picked(
    picked: Picked | str | Path,
    data: Data | object,
    *,
    base: FeatureBase | Pact | str | Path | None = None,
    base_data: object = None,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    progress: Progress | None = None,
) -> Verdict:
    """From the recipe and the data alone. The picks in the file are compared with those of the run here.

    base, base_data  as for pick
    """
    found = picked if isinstance(picked, Picked) else Picked.read(picked)
    certificate = found.certificate
    if certificate is None:
        return Verdict(("the file has no certificate",), None)
    source, ground = as_data(data), as_feature_base(base, max_parameters=max_parameters)
    reasons = _compare(found, certificate, source)
    if not reasons:
        check_inputs(found.recipe, source.train, ground)
        reasons += _compare_origin(certificate, ground, base_data, source)
    if reasons:
        return Verdict(tuple(reasons), certificate)
    drawn = draw_samples(source, found.recipe, ground, repeats=certificate.repeats)
    selection = drawn.run(progress)
    classifier = drawn.classifier(selection)
    counted = _count_wrong(classifier, drawn, selection)
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
    if _differ_in_integers(classifier, drawn, selection):
        reasons.append("scores computed in integers differ from those computed in float64")
    test_error = _compare_test(classifier, certificate, source, reasons)
    own_names = {"data_name": make_name(source.name), "base_name": "" if ground is None else make_name(ground.name)}
    notes = tuple(
        f"the file calls the {field.removesuffix('_name')} {getattr(certificate, field)!r}"
        for field, name in own_names.items()
        if getattr(certificate, field) != name
    )
    certificate = replace(certificate, **own_names)  # type: ignore[arg-type]
    if certificate.test_errors is not None and not _has_test(certificate, source):
        # In the verifier's own words: nothing that was not checked.
        nothing = dict.fromkeys(("test_errors", "test_samples", "test_fingerprint", "hold_out_bound"))
        certificate = replace(certificate, **nothing)  # type: ignore[arg-type]
        notes += ("what the file states of test samples was not checked: they are not here",)
    return Verdict(
        tuple(reasons),
        certificate,
        counted=counted,
        own_bound=opinion.own_bound,
        test_error=test_error,
        given=PICKED_AGAIN,
        notes=notes,
    )


def _compare_origin(
    certificate: SelectionCertificate, base: FeatureBase | None, base_data: object, data: Data
) -> list[str]:
    """The base by its hash, and what it was trained on."""
    try:
        told = find_origin(base, base_data, data)
    except PactError as error:
        return [f"{error.where}: {error.what}"]
    return compare_base(certificate, sha256="" if base is None else base.sha256, told=told)


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


def _count_wrong(classifier: PickedClassifier, drawn: Drawn, selection: Selection) -> int:
    """Errors on the samples that were not picked: all scores at once, and not as they came to be while picking."""
    left = np.setdiff1d(np.arange(len(drawn.labels)), selection.picks)
    wrong = 0
    for start in range(0, len(left), _BLOCK):
        places = left[start : start + _BLOCK]
        wrong += int(np.count_nonzero(count_wrong(classifier.score(drawn.given[places]), drawn.labels[places])))
    return wrong


def _differ_in_integers(classifier: PickedClassifier, drawn: Drawn, selection: Selection) -> bool:
    """Whether some scores are not those of plain integers: distances from differences, no floating point anywhere."""
    stairs, halving = staircase().astype(np.int64), drawn.recipe.halving_distance
    given, start = drawn.given, drawn.given.start(drawn.recipe)
    chosen = given.features[selection.picks].astype(np.int64)
    places = np.unique(np.linspace(0, len(drawn.labels) - 1, _RECOMPUTED).astype(np.int64))
    slow = np.zeros((len(places), drawn.classes), dtype=np.int64) if start is None else start[places]
    for row, place in enumerate(places):
        apart = chosen - given.features[place].astype(np.int64)
        steps = (apart * apart).sum(axis=1) * 64 // halving
        slow[row] += stairs[np.minimum(steps, len(stairs) - 1)] @ selection.coefficients
    return not np.array_equal(slow, classifier.score(given[places]))


def _compare_test(
    classifier: PickedClassifier, certificate: SelectionCertificate, data: Data, reasons: list[str]
) -> float | None:
    """The test error found here; where the file states one about the same samples, it has to be this one."""
    if data.test is None:
        return None
    errors = count_errors(classifier, data.test)
    if _has_test(certificate, data):
        if (errors, data.test.count) != (certificate.test_errors, certificate.test_samples):
            reasons.append(
                f"the test errors are {errors:,} of {data.test.count:,}, the certificate says "
                f"{certificate.test_errors:,} of {certificate.test_samples:,}"
            )
        assert certificate.hold_out_bound is not None
        opinion = check_bound(
            errors=errors,
            samples=data.test.count,
            code_bits=0,
            delta=certificate.delta,
            form="exact",
            bound=certificate.hold_out_bound,
        )
        if not opinion:
            reasons.append(f"hold-out: {opinion.reason}")
    return errors / data.test.count


def _has_test(certificate: SelectionCertificate, data: Data) -> bool:
    """Whether the test samples that the file is about are here."""
    return data.test is not None and certificate.test_fingerprint == data.test.fingerprint()
