"""The statement about the original without further samples: what it says, and what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.fresh_process import run_fresh
from originals.conftest import Case, forge_box
from originals.conftest import stated_box as stated
from torch import nn

import netpact
from netpact.certificates import BoxCertificate, check_bound, code_bits, risk_bound
from netpact.cli.app import run
from netpact.coding import ShortFloat
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.models import save_weights
from netpact.pacts.originals import certify_box, hash_network, verify_box
from netpact.pacts.originals.box import Side, decode_box, encode_box


def test_a_true_statement_is_agreed_and_pays_for_both_messages(boxed: Case) -> None:
    certificate = stated(boxed)
    verdict = verify_box(Pact.from_bytes(boxed.pact.to_bytes()), boxed.original, boxed.data)
    assert verdict.agreed, verdict.reasons
    assert verdict.counted == certificate.errors > certificate.compressed.errors
    bits = code_bits(len(boxed.pact.message)) + code_bits(len(certificate.box_message))
    assert certificate.code_bits == bits > boxed.pact.code_bits
    expected = risk_bound(errors=certificate.errors, samples=1000, code_bits=bits, delta=0.05)
    assert certificate.bound == expected > certificate.compressed.bound
    assert certificate.compressed == boxed.pact.certificate  # one event: delta is not split
    assert 'the original network "linear"' in certificate.sentence()
    assert boxed.pact.certificate == netpact.certify(Pact(boxed.pact.message), boxed.data).certificate


def test_a_file_whose_layers_became_two_has_a_box_around_the_composed_map(boxed: Case) -> None:
    """Its size is the first singular value that was removed."""
    method = netpact.TruncatedSVD(rank=5, bits=10)
    pact = netpact.seal(netpact.compress(netpact.trace(boxed.original, boxed.data), method))
    assert [str(step) for step in pact.header.rewrites] == ["layer 2: low-rank(rank=5)"]
    whole = netpact.certify(pact, boxed.data)
    certificate = certify_box(whole, boxed.original, boxed.data)
    assert verify_box(whole.with_original(certificate), boxed.original, boxed.data).agreed
    (side,) = decode_box(certificate.box_message, boxed.original)
    values = torch.linalg.svdvals(dict(boxed.original.named_parameters())["fc1.weight"].detach().double())
    assert side.weights is not None
    assert float(values[5]) <= side.weights.value <= 1.2 * float(values[5])
    weights = dict(pact.to_module().named_parameters())
    dense = weights["fc1.second.weight"].double() @ weights["fc1.first.weight"].double()
    other = copy.deepcopy(boxed.original)
    with torch.no_grad():
        other.get_parameter("fc1.weight").copy_(10 * dense)
    moved = replace(certificate, original_sha256=hash_network(other))
    verdict = verify_box(whole.with_original(moved), other, boxed.data)
    assert any("not in the box" in reason for reason in verdict.reasons), verdict.reasons


def test_a_file_with_a_cp_layer_has_a_box_around_the_composed_map(boxed: Case) -> None:
    method = netpact.CP(ranks={"fc1": 12}, bits=6)
    pact = netpact.seal(netpact.compress(netpact.trace(boxed.original, boxed.data), method))
    assert [step.rewrite.name for step in pact.header.rewrites] == ["cp"]
    whole = netpact.certify(pact, boxed.data)
    certificate = certify_box(whole, boxed.original, boxed.data)
    assert verify_box(whole.with_original(certificate), boxed.original, boxed.data).agreed
    (side,) = decode_box(certificate.box_message, boxed.original)
    decoded: Any = pact.to_module()
    off = decoded.fc1.dense().weight - boxed.original.get_parameter("fc1.weight").double()
    norm = float(torch.linalg.matrix_norm(off.detach(), 2))
    assert side.weights is not None
    assert norm <= side.weights.value <= 1.1 * norm
    moved = copy.deepcopy(boxed.original)
    with torch.no_grad():
        moved.get_parameter("fc1.weight").mul_(3)
    other = replace(certificate, original_sha256=hash_network(moved))
    verdict = verify_box(whole.with_original(other), moved, boxed.data)
    assert any("not in the box" in reason for reason in verdict.reasons), verdict.reasons


def test_an_original_in_cp_form_has_a_box_factor_by_factor(digits: Data) -> None:
    """Rounded factors are in it. With fewer components there is none: it says nothing of how the original's are run."""
    from methods.tensor_networks import make_cp

    network = netpact.trace(make_cp(), digits)
    whole = netpact.certify(netpact.seal(netpact.compress(network, netpact.Quantize(bits=12))), digits, model=make_cp)
    certificate = certify_box(whole, network.module, digits, model=make_cp)
    assert verify_box(whole.with_original(certificate), network.module, digits, model=make_cp).agreed
    assert len(decode_box(certificate.box_message, network.module)) == len(network.layers)
    pruned = netpact.seal(netpact.compress(network, netpact.CP(rank=3, bits=5)))
    with pytest.raises(PactError, match="not of one structure"):
        certify_box(netpact.certify(pruned, digits, model=make_cp), network.module, digits, model=make_cp)


def fewer_errors(c: BoxCertificate) -> dict[str, Any]:
    bound = risk_bound(errors=c.compressed.errors, samples=1000, code_bits=c.code_bits, delta=c.delta)
    return {"errors": c.compressed.errors, "bound": bound}


def smaller_box(c: BoxCertificate, module: nn.Module) -> dict[str, Any]:
    """A tighter box, with everything that follows from it told truly: only the original is not in it."""
    (side,) = decode_box(c.box_message, module)
    assert side.weights is not None
    box = (Side(ShortFloat(side.weights.exponent - 1, side.weights.mantissa), side.shift),)
    message = encode_box(box, module)
    bits = c.compressed.code_bits + code_bits(len(message))
    return {"box": message.hex(), "code_bits": bits, "bound": 1.0, "errors": 1000}


LIES: dict[str, tuple[Any, str]] = {
    "bound": (lambda c, m: {"bound": c.bound - 1e-3}, "the bound is"),
    "errors": (lambda c, m: fewer_errors(c), "errors within the box counted, the certificate says"),
    "box": (smaller_box, "the original network is not in the box: fc1: |W - W^| is"),
    "compressed": (
        lambda c, m: {"compressed": replace(c.compressed, bound=c.compressed.bound - 1e-3)},
        "compressed network: the exact bound is",
    ),
    "delta": (
        lambda c, m: {"delta": c.delta / 10, "compressed": replace(c.compressed, delta=c.delta / 10)},
        "the bound is",
    ),
    "original_name": (lambda c, m: {"original_name": "lenet5"}, "the original network's name is linear"),
    "original_sha256": (lambda c, m: {"original_sha256": "0" * 64}, "the original network's sha256 is"),
    "original_arithmetic": (lambda c, m: {"original_arithmetic": "float64"}, "the original network's arithmetic is"),
}


@pytest.mark.parametrize("name", LIES)
def test_every_flattering_lie_is_refused(boxed: Case, name: str) -> None:
    change, reason = LIES[name]
    pact = forge_box(boxed, **change(stated(boxed), boxed.pact.to_module()))
    verdict = verify_box(pact, boxed.original, boxed.data)
    assert not verdict.agreed
    assert any(reason in given for given in verdict.reasons), verdict.reasons


def test_every_field_is_covered() -> None:
    # code_bits cannot be told apart from the two messages: the record itself refuses that (below).
    assert {f.name for f in fields(BoxCertificate)} - set(LIES) == {"code_bits"}


def test_the_verifier_counts_bits_for_itself(boxed: Case) -> None:
    """The record refuses such a number already; the verifier must not depend on that."""
    forged = copy.copy(stated(boxed))
    object.__setattr__(forged, "code_bits", boxed.pact.code_bits)
    verdict = verify_box(boxed.pact.with_original(forged), boxed.original, boxed.data)
    assert verdict.reasons[0].startswith("the number of bits of message and box is")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        (lambda c: {"code_bits": c.compressed.code_bits}, "code_bits"),
        (lambda c: {"bound": 0.0}, "bound"),
        (lambda c: {"bound": 1.5}, "bound"),
        (lambda c: {"delta": c.delta / 2}, "compressed"),
        (lambda c: {"errors": 1001}, "errors"),
        (lambda c: {"box": "xyz"}, "box"),
        (lambda c: {"box": "ABCD"}, "box"),
        (lambda c: {"box": "00" * 70_000}, "box"),
        (lambda c: {"box": 3}, "box"),
        (lambda c: {"compressed": 3}, "compressed"),
        (lambda c: {"original_sha256": "xyz"}, "original_sha256"),
        (lambda c: {"original_arithmetic": "bf16"}, "original_arithmetic"),
        (lambda c: {"original_name": ""}, "original_name"),
    ],
)
def test_contradictions_cannot_be_stated(boxed: Case, changes: Any, where: str) -> None:
    with pytest.raises(PactError) as caught:
        replace(stated(boxed), **changes(stated(boxed)))
    assert caught.value.where == where


def test_json_there_and_back_strictly(boxed: Case) -> None:
    record = json.loads(json.dumps(stated(boxed).to_json()))
    assert BoxCertificate.from_json(record) == stated(boxed)
    for damage in ({"extra": 1}, {"kind": "promise"}, {"compressed": 3}):
        with pytest.raises(PactError):
            BoxCertificate.from_json({**record, **damage})


def test_another_original_is_refused(boxed: Case) -> None:
    """By its hash; and, where the hash is forged too, because it is not in the box or computes something else."""
    far = copy.deepcopy(boxed.original)
    with torch.no_grad():
        next(far.parameters()).mul_(1.5)
    assert "sha256" in verify_box(boxed.pact, far, boxed.data).reasons[0]
    pact = forge_box(boxed, original_sha256=hash_network(far))
    assert "is not in the box: fc1" in verify_box(pact, far, boxed.data).reasons[0]
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.ReLU())
    with pytest.raises(PactError, match="not of one structure"):
        certify_box(boxed.pact, other, boxed.data)
    verdict = verify_box(boxed.pact.with_original(None), boxed.original, boxed.data)
    assert verdict.reasons == ("the file has no statement about the original network",)


def test_a_statement_by_unlabelled_samples_is_another_one(case: Case) -> None:
    verdict = verify_box(case.pact, case.original, case.data)
    assert verdict.reasons == ("the statement about the original network rests on unlabelled samples",)


class Scaled(nn.Module):
    """A constant outside parameters and buffers decides what it computes."""

    def __init__(self, factor: float = 0.0) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 10)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.fc(x.flatten(1) + self.factor)
        return logits


def test_an_original_with_other_code_is_found_out(case: Case) -> None:
    original = Scaled()
    original.load_state_dict({f"fc.{k[4:]}": v for k, v in case.original.state_dict().items()})
    pact = netpact.seal(netpact.compress(netpact.trace(original, case.data), netpact.Quantize(bits=6)))
    assert certify_box(pact, original, case.data, model=Scaled).compressed.prior == "conditional"
    original.factor = 0.25
    with pytest.raises(PactError, match="computes something else than the one in the file would"):
        certify_box(pact, original, case.data, model=Scaled)


def test_the_command_line_and_a_fresh_process(tmp_path: Path, boxed: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(boxed.data.train, ArraySamples)
    np.savez(tmp_path / "d.npz", x_train=boxed.data.train.inputs, y_train=boxed.data.train.labels)
    weights = save_weights(boxed.original, tmp_path / "w.safetensors")
    file = Pact(boxed.pact.message).write(tmp_path / "net.pact")
    data = [str(file), "--data", str(tmp_path / "d.npz")]
    assert run(["certify", *data, "--original", str(weights)]) == 0
    assert "every other network as close to the one in this file" in " ".join(capsys.readouterr().err.split())
    line = ["verify", *data, "--original", str(weights), "--json"]
    record = json.loads(run_fresh(*line).stdout)["original"]
    assert record["agreed"] is True
    assert record["verified_errors"] == record["errors"] == stated(boxed).errors
    other = copy.deepcopy(boxed.original)
    with torch.no_grad():
        next(other.parameters()).add_(0.01)
    assert run(["verify", *data, "--original", str(save_weights(other, tmp_path / "o.safetensors"))]) == 1
    assert "sha256" in capsys.readouterr().err
    assert run(["verify", *data]) == 0
    assert "statement about the original network (give --original)" in " ".join(capsys.readouterr().err.split())
    np.savez(tmp_path / "u.npz", x=boxed.fresh)
    assert run(["verify", *data, "--original", str(weights), "--unlabelled", str(tmp_path / "u.npz")]) == 1
    assert "rests on a box, not on unlabelled samples" in " ".join(capsys.readouterr().err.split())
    assert run(["verify", *data, "--unlabelled", str(tmp_path / "u.npz")]) == 2


def test_the_bound_is_the_one_of_the_second_opinion(boxed: Case) -> None:
    c = stated(boxed)
    opinion = check_bound(
        errors=c.errors, samples=1000, code_bits=c.code_bits, delta=c.delta, form="exact", bound=c.bound
    )
    assert opinion.holds
    assert opinion.own_bound == pytest.approx(c.bound, abs=1e-9)


def test_data_without_a_test_part(boxed: Case) -> None:
    bare = Data("bare", 10, boxed.data.train)
    assert certify_box(boxed.pact, boxed.original, bare).bound == stated(boxed).bound
