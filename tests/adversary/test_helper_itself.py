"""A hold-out bound for what is not the helper. With the helper itself in the file, the bound on the original needs no
bits of the message. The adversary tried:

- saying so of a network that was trained further, of one with a single other weight, of code of the adversary's own
  with the helper's numbers, of another architecture with the same numbers, of a base from other data;
- choosing the split by looking, and not paying: fewer bits than the counter costs, or a cheaper counter in words;
- fewer errors, a smaller hold-out bound, a larger delta for it, the helper of another file.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from originals.helper_cases import RECIPE, Case, held_case, make_case, stated
from torch import nn

from netpact.certificates import Certificate, OriginalCertificate, add_bounds, risk_bound
from netpact.certificates.helper import price_itself
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.layers.rewrites import Step, ToWholePool
from netpact.methods import QuantizeDifference, compress
from netpact.models import Architecture
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_original, verify_original
from netpact.pacts.originals.itself import is_helper_itself
from netpact.pacts.priors import Base, base_of, helper_module, open_subject


@pytest.fixture(scope="module")
def held() -> Case:
    return held_case()


def unchecked(record: Any, **changes: Any) -> Any:
    """What a record would refuse to be made: the verifier must not depend on that."""
    forged = copy.copy(record)
    for name, value in changes.items():
        object.__setattr__(forged, name, value)
    return forged


def claimed(certificate: OriginalCertificate, **changes: Any) -> OriginalCertificate:
    """The same sum with a hold-out bound in it, whatever the file holds. changes: of the compressed network's part."""
    part = unchecked(certificate.compressed, **changes)
    bits = 15 if part.helper is None else price_itself(percent=part.helper.percent, counter=part.helper.counter)
    first = risk_bound(errors=part.errors, samples=part.samples, code_bits=bits, delta=part.delta)
    bound = add_bounds(compressed_bound=first, disagreement_bound=certificate.disagreement_bound)
    forged: OriginalCertificate = unchecked(
        certificate, compressed=part, hold_out_bits=bits, hold_out_bound=first, bound=bound
    )
    return forged


def reasons(case: Case, forged: OriginalCertificate, **opening: Any) -> str:
    pact = case.pact.with_original(forged)
    verdict = verify_original(pact, case.original, case.data, case.fresh, **{"base": case.helper, **opening})
    assert not verdict.agreed
    return " ".join(verdict.reasons)


def nearly(held: Case) -> nn.Module:
    assert held.helper.recipe is not None
    module = helper_module(held.helper, held.helper.recipe, held.data)
    with torch.no_grad():
        weight = next(module.parameters()).view(-1)
        weight[torch.argmax(weight.abs())] *= 1.01
    return module


@pytest.mark.parametrize("which", ["trained further", "one other weight"])
def test_a_network_that_is_not_the_helper(held: Case, which: str) -> None:
    network = held.original if which == "trained further" else nearly(held)
    method = QuantizeDifference(held.helper, bits=6)
    case = make_case(held.data, held.helper, held.original, held.fresh, method=method, network=network)
    assert not stated(case).by_hold_out
    forged = claimed(stated(case))
    assert forged.bound < stated(case).bound
    OriginalCertificate.from_json(forged.to_json())  # the record alone cannot tell
    assert "is not the helper network itself" in reasons(case, forged)


class Swapped(nn.Module):
    """The helper's names and numbers, and other code: it could have been chosen by looking at the certified samples."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.fc1(x.flatten(1))
        return logits.flip(1).flip(1)


def test_code_of_ones_own_with_the_helpers_numbers(held: Case) -> None:
    shell = Swapped()
    shell.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in held.helper.tensors.items()})
    message = seal(compress(trace(shell, held.data), QuantizeDifference(held.helper)))
    pact = certify(message, held.data, base=held.helper, model=Swapped)
    statement = certify_original(pact, held.original, held.data, held.fresh, base=held.helper, model=Swapped)
    case = replace(held, pact=pact.with_original(statement))
    assert not statement.by_hold_out
    assert "is not the helper network itself" in reasons(case, claimed(statement), model=Swapped)


def test_other_numbers_another_architecture_and_a_rewrite(held: Case) -> None:
    subject = open_subject(held.pact, held.data, base=held.helper)
    assert is_helper_itself(subject, RECIPE)
    header, opened = subject.header, subject._network
    for name in held.helper.tensors:
        tensors = dict(held.helper.tensors)
        tensors[name] = np.nextafter(tensors[name], np.float32(9))
        other = replace(subject, base=replace(held.helper, tensors=tensors))
        other.__dict__["_network"] = opened  # as it was decoded with the true helper
        assert not is_helper_itself(other, RECIPE)
    assert isinstance(header.architecture, Architecture)
    one_layer = replace(header.architecture, input_shape=(64,))
    for changed in (header._replace(architecture=one_layer), header._replace(rewrites=(Step(0, ToWholePool(1, 0)),))):
        other = replace(subject)
        other.__dict__.update(_network=opened, header=changed)
        assert not is_helper_itself(other, RECIPE)


def test_minus_zero_in_the_helper_is_zero_in_the_file(held: Case) -> None:
    tensors = {name: array.copy() for name, array in held.helper.tensors.items()}
    tensors["fc1.weight"].reshape(-1)[:7] = np.float32(-0.0)
    helper = Base("helper", tensors, held.helper.data_fingerprint, RECIPE)
    message = seal(compress(trace(helper_module(helper, RECIPE, held.data), held.data), QuantizeDifference(helper)))
    assert is_helper_itself(open_subject(message, held.data, base=helper), RECIPE)


def test_a_base_from_other_data_is_no_helper(held: Case) -> None:
    base = base_of(held.original, name="innocent")
    message = seal(replace(compress(trace(held.original, held.data), QuantizeDifference(base)), split=None))
    pact = certify(message, held.data, base=base)
    statement = certify_original(pact, held.original, held.data, held.fresh, base=base)
    assert statement.compressed.prior == "transfer"
    assert not statement.by_hold_out
    case = replace(held, pact=pact.with_original(statement))
    assert "names no helper network" in reasons(case, claimed(statement), base=base)


def smaller(certificate: OriginalCertificate, **changes: Any) -> OriginalCertificate:
    forged: OriginalCertificate = unchecked(certificate, **changes)
    object.__setattr__(
        forged,
        "bound",
        add_bounds(compressed_bound=forged.compressed_bound, disagreement_bound=forged.disagreement_bound),
    )
    return forged


def with_bits(certificate: OriginalCertificate, bits: int) -> OriginalCertificate:
    part = certificate.compressed
    first = risk_bound(errors=part.errors, samples=part.samples, code_bits=bits, delta=part.delta)
    return smaller(certificate, hold_out_bits=bits, hold_out_bound=first)


def with_whole_delta(certificate: OriginalCertificate) -> OriginalCertificate:
    part = certificate.compressed
    first = risk_bound(errors=part.errors, samples=part.samples, code_bits=15, delta=certificate.delta)
    return smaller(certificate, hold_out_bound=first)


def with_helper(certificate: OriginalCertificate, **changes: Any) -> OriginalCertificate:
    helper = unchecked(certificate.compressed.helper, **changes)
    return claimed(certificate, helper=helper)


def with_part(certificate: OriginalCertificate, **changes: Any) -> OriginalCertificate:
    """Every number that follows is made to fit."""
    part: Certificate = unchecked(certificate.compressed, **changes)
    forms = {
        f"{form}_bound": risk_bound(
            errors=part.errors, samples=part.samples, code_bits=part.code_bits, delta=part.delta, form=form
        )
        for form in ("kl", "hoeffding")
    }
    exact = risk_bound(errors=part.errors, samples=part.samples, code_bits=part.code_bits, delta=part.delta)
    return claimed(certificate, **changes, **forms, bound=exact)


LIES: dict[str, tuple[Any, str]] = {
    "no bits": (lambda c: with_bits(c, 0), "the hold-out bound costs 15 bits, the certificate says 0"),
    "one bit less": (lambda c: with_bits(c, 14), "the hold-out bound costs 15 bits, the certificate says 14"),
    "bits in words only": (lambda c: smaller(with_bits(c, 0), hold_out_bits=15), "the hold-out bound is"),
    "smaller": (lambda c: smaller(c, hold_out_bound=c.hold_out_bound - 1e-4), "the hold-out bound is"),
    "all of delta": (with_whole_delta, "the hold-out bound is"),
    "cheaper counter": (lambda c: with_helper(c, counter=0), "the split in the message is 40 % by counter 3"),
    "other helper": (lambda c: with_helper(c, sha256="0" * 64), "the helper network's sha256 is"),
    "fewer errors": (lambda c: with_part(c, errors=c.compressed.errors - 1, near_ties=0), "errors counted"),
    "more samples": (lambda c: with_part(c, samples=1437), "the number of samples to count on is 863"),
    "fewer errors of the helper": (
        lambda c: with_helper(c, errors=c.compressed.errors - 1, near_ties=0),
        "errors of the helper counted",
    ),
    "a sum that is too small": (
        lambda c: unchecked(c, bound=c.bound - 1e-4),
        "the sum of both bounds is",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_every_flattering_lie_is_refused(held: Case, name: str) -> None:
    forge, reason = LIES[name]
    assert reason in reasons(held, forge(stated(held)))


def test_another_helper_is_not_taken(held: Case) -> None:
    tensors = {name: np.nextafter(array, np.float32(9)) for name, array in held.helper.tensors.items()}
    other = replace(held.helper, tensors=tensors)
    assert "the helper network's sha256 is" in reasons(held, stated(held), base=other)


def test_a_file_without_the_word_says_what_it_said_before(held: Case) -> None:
    """An older reader refuses the new key; it cannot take the sum for one of its own."""
    record = stated(held).to_json()
    assert "by_hold_out" in record
    del record["by_hold_out"]
    with pytest.raises(PactError, match="must be from the sum of its two parts"):
        OriginalCertificate.from_json(record)
    assert Pact.from_bytes(held.pact.to_bytes()).original == stated(held)
