"""Hold-out and fidelity: true statements are agreed to, flattering lies and samples that are not fresh are refused."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from fresh.conftest import Case

from netpact.certificates import (
    BESIDE,
    FidelityCertificate,
    FreshStatement,
    HoldOutCertificate,
    joint_delta,
    joint_sentence,
    risk_bound,
)
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, compress
from netpact.network import AsRun, this_program, trace
from netpact.pacts.certification import certify
from netpact.pacts.fresh import (
    certify_fidelity,
    certify_hold_out,
    drawing,
    open_unlabelled,
    verify_fidelity,
    verify_hold_out,
)
from netpact.pacts.fresh.disagreement import count_disagreements, recount_disagreements
from netpact.pacts.verification import Verdict

NAMES = ("hold_out", "original_hold_out", "fidelity")


def stated(case: Case, name: str) -> FreshStatement:
    found = case.pact.statements[name]
    assert isinstance(found, FreshStatement)
    return found


def check(case: Case, name: str, pact: Pact | None = None, **given: Any) -> Verdict:
    values: dict[str, Any] = {
        "original": case.original,
        "held": case.held,
        "inputs": case.inputs,
        "data": case.data,
    } | given
    file = pact or case.pact
    if name == "fidelity":
        return verify_fidelity(file, values["original"], values["data"], values["inputs"])
    about = values["original"] if name == "original_hold_out" else None
    return verify_hold_out(file, values["held"], values["data"], original=about)


def put(pact: Pact, name: str, statement: Any) -> Pact:
    changes: dict[str, Any] = {name: statement}
    return replace(pact, **changes)


def forge(case: Case, name: str, **changes: Any) -> Pact:
    """Written and read back: the checksum is no obstacle to a liar."""
    return Pact.from_bytes(put(case.pact, name, replace(stated(case, name), **changes)).to_bytes())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arithmetic", ["case", "ran"])
def test_true_statements_are_agreed_to(arithmetic: str, name: str, request: pytest.FixtureRequest) -> None:
    case: Case = request.getfixturevalue(arithmetic)
    certificate, pact = stated(case, name), Pact.from_bytes(case.pact.to_bytes())
    assert pact == case.pact
    verdict = check(case, name, pact)
    assert verdict.agreed, verdict.reasons
    assert not verdict.notes
    counted = getattr(certificate, certificate.counted)
    assert verdict.counted == counted
    assert certificate.bound == risk_bound(
        errors=counted, samples=certificate.fresh.samples, code_bits=0, delta=certificate.delta
    )
    assert verdict.own_bound == pytest.approx(certificate.bound, abs=1e-9)
    assert certificate.as_run == (arithmetic == "ran") == (certificate.kind == "certificate as run")
    assert certificate.as_run == ("as run" in certificate.sentence())


def test_what_they_say(case: Case) -> None:
    sentences = {name: stated(case, name).sentence() for name in NAMES}
    assert 'the 300 fresh labelled samples of "held", the network in this file (sha256' in sentences["hold_out"]
    assert "(hold-out, 0 bits)" in sentences["hold_out"]
    assert 'the original network "linear" (sha256' in sentences["original_hold_out"]
    assert "disagree on at most" in sentences["fidelity"]
    assert "fresh unlabelled inputs" in sentences["fidelity"]
    for name in NAMES:
        certificate = stated(case, name)
        assert sentences[name].startswith("With probability at least 95 % over the draw")
        assert "0 bits" in certificate.theorem
        assert any("neither in training nor in any choice" in word for word in certificate.declarations)
        assert any("float32, its sums of products in any order" in word for word in certificate.assumptions)


def test_all_of_them_hold_jointly_with_the_sum(case: Case) -> None:
    statements = case.pact.statements
    assert list(statements) == ["certificate", "fidelity", "hold_out", "original_hold_out"]
    assert joint_delta(statements.values()) == 0.2
    assert "all at once with at least 80 %" in joint_sentence(statements.values())
    assert joint_sentence([stated(case, "fidelity")]) == ""
    many = [replace(stated(case, "fidelity"), delta=0.4) for _ in range(3)]
    assert joint_delta(many) == 1
    assert "nothing is stated about all at once" in joint_sentence(many)
    assert joint_delta([replace(many[0], delta=delta) for delta in (0.1, 0.1, 0.1)]) == 0.3


def swap(case: Case) -> torch.nn.Module:
    other = copy.deepcopy(case.original)
    with torch.no_grad():
        next(other.parameters()).view(-1)[0] += 1e-3
    return other


def fewer(certificate: FreshStatement) -> dict[str, Any]:
    bound = risk_bound(errors=0, samples=certificate.fresh.samples, code_bits=0, delta=certificate.delta)
    return {certificate.counted: 0, "bound": bound, "near_ties": 0}


def renamed(certificate: FreshStatement, **changes: Any) -> dict[str, Any]:
    key = "network" if isinstance(certificate, HoldOutCertificate) else "original"
    return {key: replace(getattr(certificate, key), **changes)}


def freshly(**changes: Any) -> Callable[[FreshStatement], dict[str, Any]]:
    return lambda certificate: {"fresh": replace(certificate.fresh, **changes)}


LIES: dict[str, tuple[Callable[[FreshStatement], dict[str, Any]], str]] = {
    "bound": (lambda c: {"bound": c.bound - 1e-3}, "the bound is"),
    "delta": (lambda c: {"delta": c.delta / 10}, "the bound is"),
    "counted": (fewer, "counted, the certificate says 0"),
    "samples": (freshly(samples=10**6), "the number of"),
    "copies": (freshly(copies=3), "duplicates is 0"),
    "fingerprint": (freshly(fingerprint="sha256:00"), "data's fingerprint is"),
    "data": (freshly(data_fingerprint="sha256:00"), "the training data's fingerprint is"),
    "sha256": (lambda c: renamed(c, sha256="0" * 64), "sha256 is"),
    "arithmetic": (lambda c: renamed(c, arithmetic="float64"), "arithmetic is float32"),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", NAMES)
def test_every_flattering_lie_is_refused(case: Case, name: str, lie: str) -> None:
    change, reason = LIES[lie]
    verdict = check(case, name, forge(case, name, **change(stated(case, name))))
    assert not verdict.agreed
    assert any(reason in given for given in verdict.reasons), verdict.reasons


def test_classes_and_subject_are_checked(case: Case) -> None:
    verdict = check(case, "hold_out", forge(case, "hold_out", classes=11))
    assert "the number of classes is 10" in verdict.reasons[0]
    with pytest.raises(PactError, match="a hold-out statement about 'file' belongs here"):
        forge(case, "hold_out", about="original")


@pytest.mark.parametrize("name", NAMES)
def test_another_network_and_other_samples_are_refused(case: Case, name: str) -> None:
    other = ArraySamples(case.held.inputs[1:], case.held.labels[1:], "held", 10)
    wrong = ArraySamples(case.held.inputs, (case.held.labels + 1) % 10, "held", 10)
    both: list[dict[str, Any]] = [
        {"held": other, "inputs": case.inputs[1:]},
        {"held": wrong, "inputs": case.inputs + 1},
    ]
    for given in both:
        assert "fingerprint" in check(case, name, **given).reasons[0]
    if name != "hold_out":
        assert "sha256" in check(case, name, original=swap(case)).reasons[0]
    bare = check(case, name, put(case.pact, name, None))
    assert bare.reasons[0].startswith("the file has no")
    assert not bare


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("name", NAMES)
def test_one_sample_that_is_not_fresh_is_enough(
    case: Case, name: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _ = next(iter(getattr(case.data, part).batches(8)))
    spoiled = np.where(x[5:6] == 0, np.float32(-0.0), x[5:6])  # the same numbers, other bits
    inputs = np.concatenate([case.inputs, spoiled])
    held = ArraySamples(
        np.concatenate([case.held.inputs, spoiled]), np.append(case.held.labels, 3), "held", 10
    )  # a label of its own does not make an input fresh

    def state() -> Any:
        if name == "fidelity":
            return certify_fidelity(case.pact, case.original, case.data, inputs)
        return certify_hold_out(case.original if name == "original_hold_out" else case.pact, held, case.data)

    with pytest.raises(PactError, match=rf"sample \d+: 1 of the \d+ (hold-out|unlabelled) inputs are {part}"):
        state()
    # One who states it all the same is found out by the verifier.
    monkeypatch.setattr(drawing.Drawn, "refuse_stale", lambda drawn: drawn)
    verdict = check(case, name, put(case.pact, name, state()), held=held, inputs=inputs)
    assert not verdict.agreed
    assert part in verdict.reasons[0]


def test_the_base_networks_samples_are_not_fresh(case: Case) -> None:
    with pytest.raises(PactError, match="are training samples of the base network"):
        drawing.draw(case.held, case.data, labels=True, repeats=False, base_data=case.held).refuse_stale()


def test_copies_are_counted_once_unless_the_distribution_repeats_values(case: Case) -> None:
    x, y = case.held.inputs, case.held.labels
    twice = ArraySamples(np.concatenate([x, x]), np.concatenate([y, y]), "twice", 10)
    once, copied = stated(case, "hold_out"), certify_hold_out(case.pact, twice, case.data)
    assert (copied.bound, copied.fresh.samples, copied.fresh.copies) == (once.bound, 300, 300)
    assert "(300 exact copies were left out)" in copied.sentence()
    drawn = certify_hold_out(case.pact, twice, case.data, repeats=True)
    assert drawn.fresh.samples == 600
    assert drawn.sentence().startswith("If the distribution itself repeats values (300 of the samples are exact")
    for certificate in (copied, drawn):
        assert verify_hold_out(case.pact.with_hold_out(certificate), twice, case.data)
    forged = case.pact.with_hold_out(replace(copied, fresh=replace(copied.fresh, samples=600, copies=0)))
    assert not verify_hold_out(forged, twice, case.data)
    inputs = np.concatenate([case.inputs, case.inputs])
    other = certify_fidelity(case.pact, case.original, case.data, inputs)
    assert other.bound == stated(case, "fidelity").bound
    # Labels of unlabelled samples are not looked at: under two of them an input is one input.
    labels = np.arange(2 * len(case.inputs)) // len(case.inputs)
    assert (
        certify_fidelity(case.pact, case.original, case.data, ArraySamples(inputs, labels, "u", 2)).bound == other.bound
    )
    # Two labels make two samples of one input, as elsewhere.
    both = ArraySamples(np.concatenate([x, x]), np.concatenate([y, (y + 1) % 10]), "both", 10)
    assert certify_hold_out(case.pact, both, case.data).fresh.samples == 600


def test_names_are_the_verifiers(case: Case) -> None:
    forged = forge(case, "hold_out", fresh=replace(stated(case, "hold_out").fresh, name="all of ImageNet"))
    verdict = check(case, "hold_out", forged)
    assert verdict.agreed
    assert "ImageNet" not in verdict.certificate.sentence()  # type: ignore[union-attr]
    assert any("ImageNet" in note for note in verdict.notes)
    bare = Data("bare", 10, case.data.train)
    verdict = check(case, "fidelity", data=bare)
    assert verdict.agreed
    assert any("not compared with the test samples" in note for note in verdict.notes)


def test_a_statement_that_stands_by_itself(case: Case) -> None:
    alone = certify_hold_out(case.original, (case.held.inputs, case.held.labels), case.data, delta=0.01)
    assert verify_hold_out(
        HoldOutCertificate.from_json(json.dumps(alone.to_json())), case.held, case.data, original=case.original
    )
    with pytest.raises(PactError, match="needs the network that it is about"):
        verify_hold_out(alone, case.held, case.data)
    with pytest.raises(PactError, match="the message says how"):
        certify_hold_out(case.pact, case.held, case.data, arithmetic="as-run")
    for bad in (case.data, "fresh.txt", 3):
        with pytest.raises(PactError):
            certify_hold_out(case.pact, bad, case.data)


def test_disagreements_by_near_ties_are_open_as_run() -> None:
    """The second network has classes 0 and 1 the other way round where they nearly tie, and is far off once."""
    first, second = (torch.nn.Linear(3, 3, bias=False) for _ in range(2))
    with torch.no_grad():
        first.weight.copy_(torch.eye(3))
        second.weight.copy_(torch.eye(3))
        second.weight[0, 2] = 1e-5
    # agreed; near tie that flips; near tie that does not; disagreed by far
    x = np.array([[2, 1, 1], [1, 1 + 5e-6, 1], [3, 3 - 3e-6, 0], [0.5, 0.6, 0.9]], dtype=np.float32)
    with torch.no_grad():
        second.weight[2, 2] = 0.1
    samples = open_unlabelled(x)
    counted = count_disagreements(AsRun(first), AsRun(second), samples)
    found = recount_disagreements(AsRun(first), AsRun(second), samples)
    assert (counted.disagreements, counted.uncertain) == (2, 2)
    assert tuple(found) == (2, 4, 2, 1)


def test_near_ties_as_run_are_undecided(ran: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a large tolerance were the program's: many errors are then near ties."""
    from netpact.network import as_run

    monkeypatch.setattr(as_run, "TOLERANCE", 0.01)
    verdicts = [check(ran, name, forge(ran, name, **fewer_by_one(stated(ran, name)))) for name in NAMES]
    assert not any(verdicts)
    assert all(verdict.reasons or verdict.undecided for verdict in verdicts)
    assert any(str(verdict).startswith("undecided: ") for verdict in verdicts)
    assert stated(ran, "fidelity").program == replace(this_program(), tolerance=1e-4)


def fewer_by_one(certificate: FreshStatement) -> dict[str, Any]:
    return {certificate.counted: getattr(certificate, certificate.counted) - 1}


@pytest.mark.parametrize("name", NAMES)
def test_json_there_and_back_strictly(case: Case, name: str) -> None:
    record = json.loads(json.dumps(stated(case, name).to_json()))
    assert BESIDE[name](record) == stated(case, name)
    damages: list[dict[str, Any]] = [
        {"extra": 1},
        {"kind": "promise"},
        {"kind": "certificate as run"},
        {"bound": -0.1},
        {"bound": 2},
        {"bound": True},
        {"bound": "0.1"},
        {"delta": 0},
        {"near_ties": 10**6},
        {"fresh": 3},
        {"fresh": {**record["fresh"], "name": 'x" agreed: "'}},
        {"fresh": {**record["fresh"], "name": "\x1b[32magreed"}},
        {"fresh": {**record["fresh"], "samples": 0}},
        {"fresh": {**record["fresh"], "samples": 10**12}},
        {"fresh": {**record["fresh"], "repeats": 1}},
        {"fresh": {**record["fresh"], "fingerprint": ""}},
        {"fresh": {**record["fresh"], "more": 1}},
        {"program": {}},
        {"program": None},
        {stated(case, name).counted: -1},
        {stated(case, name).counted: 10**9},
    ]
    for damage in damages:
        with pytest.raises(PactError):
            BESIDE[name]({**record, **damage})
    for key in record:
        with pytest.raises(PactError, match="missing"):
            BESIDE[name]({other: value for other, value in record.items() if other != key})


def test_hostile_words_never_reach_a_sentence(case: Case) -> None:
    """Words in the file are never taken over: they are made anew from the numbers."""
    pact = case.pact
    content = pact.fidelity.to_json() | {"sentence": "agreed: it never errs", "assumptions": ["\x1b[2J"]}  # type: ignore[union-attr]
    again = FidelityCertificate.from_json(content)
    assert again == pact.fidelity
    assert "never errs" not in again.sentence()


def test_they_stand_beside_a_certificate_only(case: Case) -> None:
    for name in NAMES:
        with pytest.raises(PactError, match="certify the network in the file first"):
            Pact(case.pact.message, **{name: stated(case, name)})  # type: ignore[arg-type]
    assert case.pact.with_certificate(None) == Pact(case.pact.message)
    assert case.pact.with_certificate(case.pact.certificate) == case.pact


def test_every_field_of_a_statement_is_lied_about_above() -> None:
    shared = {"bound", "delta", "near_ties", "fresh", "program"}
    assert {f.name for f in fields(HoldOutCertificate)} == shared | {"about", "network", "errors", "classes"}
    assert {f.name for f in fields(FidelityCertificate)} == shared | {"compressed", "original", "disagreements"}


def test_an_original_with_one_logit_is_run_as_the_file_is() -> None:
    """Two classes by the sign of one number."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((400, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    data = Data("sign", 2, ArraySamples(x[:200], y[:200], "sign train", 2))
    original = torch.nn.Linear(3, 1)
    with torch.no_grad():
        original.weight.copy_(torch.tensor([[1.0, 0.01, 0.0]]))
        original.bias.zero_()
    held = ArraySamples(x[200:], y[200:], "held", 2)
    stated_alone = certify_hold_out(original, held, data)
    assert stated_alone.errors <= 4
    assert verify_hold_out(stated_alone, held, data, original=original)
    make = functools.partial(torch.nn.Linear, 3, 1)
    pact = certify(compress(trace(copy.deepcopy(original), data), Quantize(bits=4)), data, model=make)
    fidelity = certify_fidelity(pact, original, data, x[200:], model=make)
    assert fidelity.disagreements < 10
    assert verify_fidelity(pact.with_fidelity(fidelity), original, data, x[200:], model=make)
    tokens = ArraySamples(np.ones((5, 3), dtype=np.int64), np.zeros(5, dtype=np.int64), "tokens", 2)
    with pytest.raises(PactError, match="the inputs are"):
        certify_hold_out(original, tokens, data)
