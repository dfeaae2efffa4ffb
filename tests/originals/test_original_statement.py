"""The statement about the original network: true ones are agreed, flattering lies and stale inputs are refused."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from originals.conftest import Case
from torch import nn

from netpact.certificates import OriginalCertificate, add_bounds, risk_bound
from netpact.cli.app import run
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.datasets.overlap import summarise_inputs
from netpact.models import save_weights
from netpact.network import ToleranceRun
from netpact.pacts.fresh import drawing
from netpact.pacts.fresh.disagreement import recount_disagreements
from netpact.pacts.originals import (
    certify_original,
    count_disagreements,
    hash_network,
    open_unlabelled,
    verify_original,
)


def stated(case: Case) -> OriginalCertificate:
    assert isinstance(case.pact.original, OriginalCertificate)
    return case.pact.original


def check(case: Case, pact: Pact | None = None) -> Any:
    return verify_original(pact or case.pact, case.original, case.data, case.fresh)


def forge(case: Case, **changes: Any) -> Pact:
    """Written and read back: the checksum is no obstacle to a liar."""
    return Pact.from_bytes(case.pact.with_original(replace(stated(case), **changes)).to_bytes())


def test_a_true_statement_is_agreed_and_is_the_sum(case: Case) -> None:
    certificate, verdict = stated(case), check(case, Pact.from_bytes(case.pact.to_bytes()))
    assert verdict.agreed, verdict.reasons
    assert verdict.counted == certificate.disagreements > 0
    first = risk_bound(
        errors=certificate.compressed.errors, samples=1000, code_bits=case.pact.code_bits, delta=certificate.delta / 2
    )
    second = risk_bound(errors=certificate.disagreements, samples=437, code_bits=0, delta=certificate.delta / 2)
    assert (certificate.compressed.bound, certificate.disagreement_bound) == (first, second)
    assert Fraction(first) + Fraction(second) <= Fraction(certificate.bound) < first + second + 1e-12
    assert verdict.own_bound == pytest.approx(certificate.bound, abs=1e-9)
    assert certificate.kind == "certificate"
    assert certificate.original_sha256 == hash_network(case.original)
    assert 'the original network "linear"' in certificate.sentence()


def test_the_sum_is_rounded_outward_and_capped() -> None:
    assert Fraction(add_bounds(compressed_bound=0.1, disagreement_bound=0.2)) >= Fraction(0.1) + Fraction(0.2)
    for first in np.random.default_rng(0).random(300) / 2:
        for second in (0.1, 1e-17, float(first)):
            exact = Fraction(float(first)) + Fraction(second)
            assert Fraction(add_bounds(compressed_bound=float(first), disagreement_bound=second)) >= exact
    assert add_bounds(compressed_bound=0.7, disagreement_bound=0.6) == 1.0


def smaller_part(c: OriginalCertificate) -> dict[str, Any]:
    part = replace(c.compressed, bound=c.compressed.bound - 1e-3)
    bound = add_bounds(compressed_bound=part.bound, disagreement_bound=c.disagreement_bound)
    return {"compressed": part, "bound": bound}


def fewer_disagreements(c: OriginalCertificate) -> dict[str, Any]:
    share = risk_bound(errors=0, samples=c.unlabelled_samples, code_bits=0, delta=c.delta / 2)
    bound = add_bounds(compressed_bound=c.compressed.bound, disagreement_bound=share)
    return {"disagreements": 0, "disagreement_bound": share, "bound": bound}


def smaller_share(c: OriginalCertificate) -> dict[str, Any]:
    share = c.disagreement_bound - 1e-3
    return {
        "disagreement_bound": share,
        "bound": add_bounds(compressed_bound=c.compressed.bound, disagreement_bound=share),
    }


LIES: dict[str, tuple[Any, str]] = {
    "compressed": (smaller_part, "compressed network: the exact bound is"),
    "disagreements": (fewer_disagreements, "disagreements counted, the certificate says 0"),
    "disagreement_bound": (smaller_share, "the disagreement bound is"),
    "delta": (
        lambda c: {"delta": c.delta / 10, "compressed": replace(c.compressed, delta=c.delta / 20)},
        "the disagreement bound is",
    ),
    "unlabelled_samples": (lambda c: {"unlabelled_samples": 9999}, "the number of unlabelled samples is 437"),
    "unlabelled_duplicates": (lambda c: {"unlabelled_duplicates": 1}, "the number of unlabelled duplicates is 0"),
    "unlabelled_fingerprint": (lambda c: {"unlabelled_fingerprint": "sha256:00"}, "unlabelled data's fingerprint is"),
    "original_name": (lambda c: {"original_name": "lenet5"}, "the original network's name is linear"),
    "original_sha256": (lambda c: {"original_sha256": "0" * 64}, "the original network's sha256 is"),
    "original_arithmetic": (lambda c: {"original_arithmetic": "float64"}, "the original network's arithmetic is"),
}


@pytest.mark.parametrize("name", LIES)
def test_every_flattering_lie_is_refused(case: Case, name: str) -> None:
    change, reason = LIES[name]
    verdict = check(case, forge(case, **change(stated(case))))
    assert not verdict.agreed
    assert any(reason in given for given in verdict.reasons), verdict.reasons


def test_the_verifier_adds_up_for_itself(case: Case) -> None:
    """The record refuses such a sum already; the verifier must not depend on that."""
    forged = copy.copy(stated(case))
    object.__setattr__(forged, "bound", forged.bound - 1e-3)
    verdict = check(case, case.pact.with_original(forged))
    assert [reason.split(" is ")[0] for reason in verdict.reasons] == ["the sum of both bounds"]


def test_every_field_is_covered() -> None:
    # bound alone contradicts its parts (next test); unlabelled_name is a name for people that the data do not hold; the
    # program here is the verifier's own. Lies about a hold-out bound: tests/adversary/test_helper_itself.py.
    free = {"bound", "unlabelled_name", "program", "hold_out_bits", "hold_out_bound"}
    assert {f.name for f in fields(OriginalCertificate)} - set(LIES) == free


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        (lambda c: {"bound": c.compressed.bound}, "bound"),
        (lambda c: {"bound": 1.5}, "bound"),
        (lambda c: {"delta": c.delta * 2}, "compressed"),
        (lambda c: {"disagreements": c.unlabelled_samples + 1}, "disagreements"),
        (lambda c: {"disagreement_bound": 0.0}, "disagreement_bound"),
        (lambda c: {"original_sha256": "xyz"}, "original_sha256"),
        (lambda c: {"original_arithmetic": "bf16"}, "original_arithmetic"),
        (lambda c: {"unlabelled_name": ""}, "unlabelled_name"),
    ],
)
def test_contradictions_cannot_be_stated(case: Case, changes: Any, where: str) -> None:
    with pytest.raises(PactError) as caught:
        replace(stated(case), **changes(stated(case)))
    assert caught.value.where == where


def test_json_there_and_back_strictly(case: Case) -> None:
    record = json.loads(json.dumps(stated(case).to_json()))
    assert OriginalCertificate.from_json(record) == stated(case)
    for damage in ({"extra": 1}, {"kind": "promise"}, {"compressed": 3}):
        with pytest.raises(PactError):
            OriginalCertificate.from_json({**record, **damage})
    del record["disagreements"]
    with pytest.raises(PactError, match="missing: disagreements"):
        OriginalCertificate.from_json(record)


def test_it_stands_beside_a_certificate_only(case: Case) -> None:
    with pytest.raises(PactError, match="certify the network in the file first"):
        Pact(case.pact.message, None, stated(case))
    assert case.pact.with_certificate(None) == Pact(case.pact.message)
    assert case.pact.with_certificate(case.pact.certificate).original == stated(case)


def test_another_original_and_other_inputs_are_refused(case: Case) -> None:
    other = copy.deepcopy(case.original)
    with torch.no_grad():
        next(other.parameters()).view(-1)[0] += 1e-3
    verdict = verify_original(case.pact, other, case.data, case.fresh)
    assert "sha256" in verdict.reasons[0]
    verdict = verify_original(case.pact, case.original, case.data, case.fresh[1:])
    assert "fingerprint" in verdict.reasons[0]
    verdict = check(case, case.pact.with_original(None))
    assert verdict.reasons == ("the file has no statement about the original network",)


@pytest.mark.parametrize("part", ["train", "test"])
def test_one_sample_that_is_not_fresh_is_enough(case: Case, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = next(iter(getattr(case.data, part).batches(8)))
    stale = np.concatenate([case.fresh, np.where(x[5:6] == 0, np.float32(-0.0), x[5:6])])
    with pytest.raises(PactError, match=rf"sample 437: 1 of the 438 unlabelled inputs are {part}"):
        certify_original(case.pact, case.original, case.data, stale)
    # One who states it all the same is found out by the verifier.
    monkeypatch.setattr(drawing.Drawn, "refuse_stale", lambda drawn: drawn)
    forged = case.pact.with_original(certify_original(case.pact, case.original, case.data, stale))
    verdict = verify_original(forged, case.original, case.data, stale)
    assert not verdict.agreed
    assert part in verdict.reasons[0]


def identity() -> nn.Linear:
    layer = nn.Linear(3, 3, bias=False)
    layer.weight.data.copy_(torch.eye(3))
    return layer


def test_uncertain_predictions_are_disagreements() -> None:
    """One and the same network: only ties and near ties are left, and both implementations count each of them."""
    values = np.random.default_rng(0).integers(-1, 2, (300, 3)).astype(np.float32)
    values[0] = [1.0, np.nextafter(np.float32(1), np.float32(0)), 0.0]
    ties = sum(int(sorted(row)[-1] == sorted(row)[-2]) for row in values)
    samples = open_unlabelled(values)
    for arithmetic, expected in (("float32", ties + 1), ("float64", ties)):
        runs = ToleranceRun(identity(), arithmetic), ToleranceRun(identity(), arithmetic)
        assert count_disagreements(*runs, samples).disagreements == expected
    # In float32 one of the two is uncertain about the near tie.
    runs = ToleranceRun(identity(), "float64"), ToleranceRun(identity(), "float32")
    assert recount_disagreements(*runs, samples).errors == ties + 1


def test_two_certain_networks_that_differ() -> None:
    swapped = identity()
    swapped.weight.data.copy_(torch.eye(3)[[1, 0, 2]])
    samples = open_unlabelled(np.array([[3, 1, 0], [1, 3, 0], [0, 1, 3], [1, 0, 3]], dtype=np.float32))
    runs = ToleranceRun(identity(), "float32"), ToleranceRun(swapped, "float32")
    assert count_disagreements(*runs, samples).disagreements == 2
    assert recount_disagreements(*runs, samples).errors == 2


def test_originals_that_a_hash_cannot_name(case: Case) -> None:
    hiding = copy.deepcopy(case.original)
    hiding.table = [torch.ones(2)]  # type: ignore[assignment]
    for bad, part in ((hiding, "table"), (copy.deepcopy(case.original).double(), "float64"), ("net", "nn.Module")):
        with pytest.raises(PactError, match=part):
            certify_original(case.pact, bad, case.data, case.fresh)  # type: ignore[arg-type]


def test_unlabelled_files(tmp_path: Path, case: Case) -> None:
    np.savez(tmp_path / "u.npz", x=case.fresh)
    assert summarise_inputs(open_unlabelled(tmp_path / "u.npz")) == summarise_inputs(open_unlabelled(case.fresh))
    np.savez(tmp_path / "named.npz", inputs=case.fresh)
    (tmp_path / "torn.npz").write_bytes((tmp_path / "u.npz").read_bytes()[:900])
    np.savez(tmp_path / "pickled.npz", x=np.array([{}], dtype=object))
    for name, part in (
        ("named.npz", "must hold one array x; holds inputs"),
        ("torn.npz", "cannot be read"),
        ("pickled.npz", "plain numbers|cannot be read"),
        ("absent.npz", "no such file"),
        ("u.npy", "ends in .npz"),
    ):
        with pytest.raises(PactError, match=part):
            open_unlabelled(tmp_path / name)
    with pytest.raises(PactError, match="got tuple"):
        open_unlabelled((case.fresh, np.zeros(437)))
    with pytest.raises(PactError, match=r"have shape \(1, 4, 4\)"):
        certify_original(case.pact, case.original, case.data, np.zeros((3, 4, 4), dtype=np.float32))


def test_the_command_line(tmp_path: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(case.data.train, ArraySamples)
    np.savez(tmp_path / "d.npz", x_train=case.data.train.inputs, y_train=case.data.train.labels)
    np.savez(tmp_path / "u.npz", x=case.fresh)
    weights = save_weights(case.original, tmp_path / "w.safetensors")
    file = case.pact.with_certificate(None).write(tmp_path / "net.pact")
    data = [str(file), "--data", str(tmp_path / "d.npz")]
    pair = ["--original", str(weights), "--unlabelled", str(tmp_path / "u.npz")]
    assert run(["certify", *data, *pair]) == 0
    capsys.readouterr()
    assert run(["verify", *data, *pair, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["agreed"] is record["original"]["agreed"] is True
    assert record["original"]["verified_disagreements"] == record["original"]["disagreements"]
    assert run(["verify", *data]) == 0
    assert "not checked: the statement about the original" in capsys.readouterr().err
    assert run(["info", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["original"]["bound"] == record["original"]["bound"]
    pact = Pact.read(file)
    assert isinstance(pact.original, OriginalCertificate)
    pact.with_original(replace(pact.original, **fewer_disagreements(pact.original))).write(file)
    assert run(["verify", *data, *pair]) == 1
    assert run(["verify", *data, *pair[:2]]) == 2


def test_files_by_their_path(case: Case, tmp_path: Path) -> None:
    file = case.pact.write(tmp_path / "net.pact")
    assert verify_original(file, case.original, case.data, case.fresh)
    assert certify_original(str(file), case.original, case.data, case.fresh) == case.pact.original
    with pytest.raises(PactError, match=r"a Pact, a path to a .pact file"):
        verify_original(case.data, case.original, case.data, case.fresh)  # type: ignore[arg-type]


def test_data_without_a_test_part(case: Case) -> None:
    bare = Data("bare", 10, case.data.train)
    assert certify_original(case.pact, case.original, bare, case.fresh).bound == stated(case).bound


def test_the_keywords_are_those_of_verify(case: Case) -> None:
    untyped: Any = verify_original
    with pytest.raises(TypeError, match="'modle'"):
        untyped(case.pact, case.original, case.data, case.fresh, modle=None)
    with pytest.raises(PactError, match="base_data: the data of a base network, but no base network"):
        verify_original(case.pact, case.original, case.data, case.fresh, base_data=case.data)
