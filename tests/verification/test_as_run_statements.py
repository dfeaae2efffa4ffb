"""Certificates as run: what they say, what a verifier on this and on another machine says, and what they never are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from netpact.certificates import Certificate, Program
from netpact.cli.app import run
from netpact.cli.console import verdict_style
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import this_program, trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box
from netpact.pacts.verification import Verdict, as_run, own_words, verify

WRONG, CLOSE = 30, 7  # samples that are wrong by far, and by so little that another machine may get them right


@pytest.fixture(scope="module")
def data() -> Data:
    """Three numbers, of which the largest is the class; among them near ties that float32 decides the wrong way."""
    x = np.random.default_rng(0).permuted(np.tile([0.0, 0.5, 1.0], (400, 1)), axis=1).astype(np.float32)
    x += np.random.default_rng(1).random((400, 3), dtype=np.float32) / 8
    y = x.argmax(axis=1)
    y[:WRONG] = (y[:WRONG] + 1) % 3
    x[WRONG : WRONG + CLOSE] = [1.0, np.float32(1 + 1e-6), 0.0]
    x[WRONG : WRONG + CLOSE, 2] = np.arange(CLOSE) / 10
    y[WRONG : WRONG + CLOSE] = 0
    return Data("close", 3, ArraySamples(x, y, "close train", 3), ArraySamples(x + 2, y, "close test", 3))


def identity() -> nn.Module:
    module = build(parse_model("linear", input_shape=(3,), classes=3))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(torch.eye(3) if name.endswith("weight") else torch.zeros(3))
    return module


@pytest.fixture(scope="module")
def network(data: Data) -> Pact:
    return seal(compress(trace(identity(), data), Quantize(bits=2), arithmetic="as-run"))


@pytest.fixture(scope="module")
def certified(network: Pact, data: Data) -> Pact:
    return certify(network, data)


def stated(pact: Pact) -> Certificate:
    assert pact.certificate is not None
    return pact.certificate


def forge(pact: Pact, **changes: Any) -> Pact:
    return Pact.from_bytes(pact.with_certificate(replace(stated(pact), **changes)).to_bytes())


ELSEWHERE = Program(torch="9.9.9", machine="riscv64 DEFAULT", onednn=False, rows=32, tolerance=1e-4)


def test_it_is_another_kind_of_statement(certified: Pact, data: Data) -> None:
    certificate = stated(certified)
    assert (certificate.errors, certificate.near_ties, certificate.program) == (WRONG + CLOSE, CLOSE, this_program())
    assert certificate.kind == certificate.to_json()["kind"] == "certificate as run"
    assert "as run" in repr(certificate)
    assert "as run" in repr(certified)
    for words in (
        f", as run with {this_program()}, errs on at most",
        "another machine or version of torch may decide near ties otherwise",
        f"{CLOSE} of the 400 samples are near ties",
    ):
        assert words in certificate.sentence()
    assert any("one fixed function of a sample" in premise for premise in certificate.assumptions)
    assert not any("in any order" in premise for premise in certificate.assumptions)
    assert any("was not chosen by looking at the data" in word for word in certificate.declarations)
    verdict = verify(Pact.from_bytes(certified.to_bytes()), data)
    assert verdict.agreed, verdict
    assert not verdict.notes
    assert verdict_style(verdict) not in ("green", "red", "yellow")


def test_the_arithmetic_is_in_the_message_and_paid_for(network: Pact, certified: Pact, data: Data) -> None:
    proven = seal(compress(trace(identity(), data), Quantize(bits=2)))
    assert (proven.decoder_version, network.decoder_version) == (1, 4)
    assert proven.message != network.message
    changed = certify(proven, data, arithmetic="as-run")
    assert changed.message == network.message
    assert changed.certificate == certified.certificate
    assert certify(changed, data, arithmetic="float32").message == proven.message
    # A certificate of the one beside the message of the other: the verifier reads the message.
    claim = replace(stated(certify(proven, data)), arithmetic="as-run", program=this_program())
    assert any("the arithmetic is float32" in reason for reason in verify(Pact(proven.message, claim), data).reasons)


def test_fewer_errors_than_stated_elsewhere_are_agreed_in_the_verifiers_words(certified: Pact, data: Data) -> None:
    verdict = verify(forge(certified, program=ELSEWHERE), data)
    assert verdict.agreed
    assert str(this_program()) in str(verdict.certificate.sentence() if verdict.certificate else "")
    assert any("9.9.9" in note and "not run here" in note for note in verdict.notes)
    assert "9.9.9" not in verdict.certificate.sentence()  # type: ignore[union-attr]


@pytest.mark.parametrize("program", [ELSEWHERE, this_program()])
def test_more_errors_by_near_ties_alone_are_undecided(certified: Pact, data: Data, program: Program) -> None:
    """Whoever states fewer errors than are made here may be right about another machine, but is not agreed to."""
    bound = stated(certified).bound
    lie = forge(certified, errors=WRONG, program=program, near_ties=0, bound=bound)
    verdict = verify(lie, data)
    assert not verdict.agreed
    assert not verdict
    assert not verdict.reasons
    assert str(verdict).startswith(f"undecided: {WRONG + CLOSE} errors counted, the certificate says {WRONG}")
    assert f"{CLOSE} of those counted are near ties" in str(verdict)
    assert "only the stated machine can settle it" in str(verdict)
    assert verdict_style(verdict) == "yellow"
    assert verdict.to_json()["agreed"] is False
    assert verdict.to_json()["undecided"]
    further = verify(forge(certified, errors=WRONG - 1, program=program, near_ties=0, bound=bound), data)
    assert further.reasons == (f"{WRONG + CLOSE} errors counted, the certificate says {WRONG - 1}",)
    assert verdict_style(further) == "red"


def test_a_bound_that_is_too_small_is_refused_whatever_near_ties_do(certified: Pact, data: Data) -> None:
    certificate = stated(certified)
    verdict = verify(forge(certified, errors=WRONG, bound=certificate.bound - 0.05, program=ELSEWHERE), data)
    assert verdict.reasons
    assert str(verdict).startswith("refused:")


def test_test_errors_of_near_ties_are_a_note(certified: Pact, data: Data) -> None:
    errors = stated(certified).test_errors
    assert errors is not None
    verdict = verify(forge(certified, test_errors=errors - 1), data)
    assert verdict.agreed
    assert any("test errors counted" in note for note in verdict.notes)
    assert verdict.certificate.test_errors == errors  # type: ignore[union-attr]
    verdict = verify(forge(certified, test_errors=WRONG - 1), data)
    assert any("test errors counted" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    "changes",
    [
        {"program": None},
        {"arithmetic": "float32"},
        {"program": "torch 2"},
        {"near_ties": 401},
    ],
)
def test_contradictions_cannot_be_stated(certified: Pact, changes: dict[str, Any]) -> None:
    with pytest.raises(PactError):
        replace(stated(certified), **changes)


@pytest.mark.parametrize(
    "damage",
    [
        {"torch": "2.0; agreed"},
        {"torch": "2\n.0"},
        {"machine": 'x" agreed'},
        {"machine": "x" * 81},
        {"machine": "\x1b[32m"},
        {"onednn": 1},
        {"rows": 0},
        {"rows": 2.5},
        {"rows": 10**9},
        {"tolerance": -1},
        {"tolerance": 1e300},
        {"tolerance": "NaN"},
        {"tolerance": float("nan")},
        {"extra": 1},
        None,
        [],
    ],
)
def test_hostile_programs_are_refused(certified: Pact, damage: Any) -> None:
    record = json.loads(json.dumps(stated(certified).to_json()))
    record["program"] = record["program"] | damage if isinstance(damage, dict) else damage
    with pytest.raises(PactError):
        Certificate.from_json(record)


def test_a_proven_kind_cannot_be_put_on(certified: Pact) -> None:
    record = stated(certified).to_json()
    with pytest.raises(PactError, match="kind"):
        Certificate.from_json({**record, "kind": "certificate"})
    del record["program"]
    with pytest.raises(PactError, match="program"):
        Certificate.from_json(record)


def test_too_many_near_ties_end_with_the_ways_out(data: Data) -> None:
    x = np.tile(np.array([[1.0, np.float32(1 - 6e-8), 0.0]], dtype=np.float32), (40, 1))
    x[:, 2] = np.arange(40) / 100
    x[20:, 1] = 0
    near = Data("near", 3, ArraySamples(x, np.zeros(40, dtype=np.int64), "near train", 3))
    pact = seal(compress(trace(identity(), near), Quantize(bits=2)))
    with pytest.raises(PactError, match=r"20 of the 40 samples \(50.0 %\) are near ties") as caught:
        certify(pact, near)
    for way in ("float64", "as-run", "whole", "most_near_ties"):
        assert way in caught.value.hint
    assert stated(certify(pact, near, most_near_ties=0.5)).near_ties == 20
    assert stated(certify(pact, near, arithmetic="float64")).near_ties == 0
    assert stated(certify(pact, near, arithmetic="as-run")).errors == 0
    with pytest.raises(PactError, match="most_near_ties"):
        certify(pact, near, most_near_ties=1.5)
    with pytest.raises(PactError, match="arithmetic"):
        certify(pact, near, arithmetic="bf16")


def test_no_box_rests_on_one_program(certified: Pact, data: Data) -> None:
    with pytest.raises(PactError, match="a box bounds every network"):
        certify_box(certified, identity(), data)


def test_the_command_line(tmp_path: Path, network: Pact, data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(data.train, ArraySamples)
    np.savez(tmp_path / "d.npz", x_train=data.train.inputs, y_train=data.train.labels)
    file = seal(compress(trace(identity(), data), Quantize(bits=2))).write(tmp_path / "net.pact")
    given = [str(file), "--data", str(tmp_path / "d.npz")]
    assert run(["certify", *given, "--arithmetic", "as-run", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["kind"] == "certificate as run"
    assert "as run, not proven for other machines" in told.err
    assert "proven;" not in told.err
    assert Pact.read(file).message == network.message
    assert run(["verify", *given]) == 0
    capsys.readouterr()
    forge(Pact.read(file), errors=WRONG, near_ties=0).write(file)
    assert run(["verify", *given, "--json"]) == 4
    told = capsys.readouterr()
    assert json.loads(told.out)["agreed"] is False
    assert "undecided" in told.err
    assert run(["certify", *given, "--arithmetic", "bf16"]) == 2


class Recurrent(nn.Module):
    """Layers that no rounding rule knows."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.cell, self.head = nn.LayerNorm(8), nn.LSTM(8, 4, batch_first=True), nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.cell(self.norm(x.squeeze(1)))[0]
        return self.head(states[:, -1])


def test_any_module_that_runs_can_be_certified(digits: Data) -> None:
    torch.manual_seed(0)
    module = Recurrent()
    pact = certify(compress(trace(module, digits), Quantize(bits=6), arithmetic="as-run"), digits, model=Recurrent)
    assert stated(pact).prior == "conditional"
    assert verify(Pact.from_bytes(pact.to_bytes()), digits, model=Recurrent)
    with pytest.raises(PactError, match=r"lstm.*as-run"):
        certify(pact, digits, model=Recurrent, arithmetic="float32")


def test_a_verdict_that_is_undecided_is_false() -> None:
    assert not Verdict((), None, undecided=("near ties",))
    assert as_run.explained(object(), []) == ()  # type: ignore[arg-type]
    assert own_words.other_program(None) == "" == own_words.other_program(this_program())
