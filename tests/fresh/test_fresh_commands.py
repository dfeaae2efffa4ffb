"""certify and verify with fresh samples on the command line, from files alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.fresh_process import run_fresh
from fresh.conftest import Case

from netpact.cli.app import run
from netpact.coding.format import Pact
from netpact.datasets import ArraySamples
from netpact.models import save_weights


@pytest.fixture(scope="module")
def folder(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fresh")
    assert isinstance(case.data.train, ArraySamples)
    assert isinstance(case.data.test, ArraySamples)
    np.savez(
        place / "d.npz",
        x_train=case.data.train.inputs,
        y_train=case.data.train.labels,
        x_test=case.data.test.inputs,
        y_test=case.data.test.labels,
    )
    np.savez(place / "held.npz", x=case.held.inputs, y=case.held.labels)
    np.savez(place / "u.npz", x=case.inputs)
    np.savez(place / "stale.npz", x=case.data.test.inputs, y=case.data.test.labels)
    save_weights(case.original, place / "w.safetensors")
    return place


def options(folder: Path, file: Path, *names: str) -> list[str]:
    given = {
        "--original": folder / "w.safetensors",
        "--unlabelled": folder / "u.npz",
        "--hold-out": folder / "held.npz",
    }
    return [str(file), "--data", str(folder / "d.npz"), *(str(part) for name in names for part in (name, given[name]))]


ALL = ("--original", "--unlabelled", "--hold-out")


def test_all_statements_in_one_file(
    folder: Path, case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Pact(case.pact.message).write(tmp_path / "net.pact")
    assert run(["certify", *options(folder, file, *ALL), "--json"]) == 0
    told = capsys.readouterr()
    record = json.loads(told.out)
    names = ["original", "fidelity", "hold_out", "original_hold_out"]
    assert [record[name]["kind"] for name in names] == ["certificate"] * 4
    assert record["joint_delta"] == 0.25
    assert "all at once with at least 75 %" in told.err
    assert "disagree on at most" in told.err
    assert run(["verify", *options(folder, file, *ALL), "--json"]) == 0
    told = capsys.readouterr()
    assert told.err.count("agreed: ") == 5
    assert "all at once with at least 75 %" in told.err
    assert all(json.loads(told.out)[name]["agreed"] for name in names)
    assert run(["info", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fidelity"]["bound"] == record["fidelity"]["bound"]
    assert run(["verify", *options(folder, file)]) == 0
    assert capsys.readouterr().err.count("not checked: ") == 4
    assert run(["verify", *options(folder, file, "--hold-out")]) == 0
    told = capsys.readouterr()
    assert told.err.count("agreed: ") == 2
    assert told.err.count("not checked: ") == 3


def test_statements_are_added_one_after_the_other(
    folder: Path, case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Pact(case.pact.message).write(tmp_path / "net.pact")
    assert run(["certify", *options(folder, file, "--hold-out")]) == 0
    assert list(Pact.read(file).statements) == ["certificate", "hold_out"]
    assert run(["certify", *options(folder, file, "--original", "--unlabelled")]) == 0
    assert list(Pact.read(file).statements) == ["certificate", "original", "fidelity", "hold_out"]
    assert run(["certify", *options(folder, file), "--arithmetic", "float64"]) == 0
    assert list(Pact.read(file).statements) == ["certificate"]  # another message
    capsys.readouterr()
    assert run(["verify", *options(folder, file, "--hold-out")]) == 1
    assert "the file has no hold-out statement" in capsys.readouterr().err
    assert run(["certify", *options(folder, file), "--hold-out", str(folder / "stale.npz")]) == 2
    assert "are test samples" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change"),
    [("hold_out", {"errors": 0}), ("original_hold_out", {"errors": 0}), ("fidelity", {"disagreements": 0})],
)
def test_one_false_statement_is_enough(
    folder: Path, case: Case, tmp_path: Path, name: str, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    forged = replace(case.pact, **{name: replace(getattr(case.pact, name), **change, near_ties=0)})
    file = forged.write(tmp_path / "net.pact")
    assert run(["verify", *options(folder, file, *ALL)]) == 1
    told = capsys.readouterr().err
    assert "refused: " in told
    assert "all at once" not in told


@pytest.mark.parametrize("arithmetic", ["case", "ran"])
def test_in_a_fresh_process(folder: Path, arithmetic: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pact = request.getfixturevalue(arithmetic).pact
    file = pact.write(tmp_path / "net.pact")
    done = run_fresh("verify", *options(folder, file, *ALL), "--threads", "2", "--json")
    record = json.loads(done.stdout)
    assert record["fidelity"]["verified_disagreements"] == pact.fidelity.disagreements
    assert (record["kind"], record["hold_out"]["kind"]) == (pact.certificate.kind, pact.certificate.kind)


def test_a_network_that_is_in_no_file(
    folder: Path, case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, weights, held = tmp_path / "held.json", str(folder / "w.safetensors"), str(folder / "held.npz")
    given = ["linear", "--weights", weights, "--data", str(folder / "d.npz"), "--hold-out", held]
    assert run(["certify", *given, "--out", str(out), "--page", str(tmp_path / "p.html")]) == 0
    stated = json.loads(out.read_text())
    assert stated["bound"] == case.pact.original_hold_out.bound  # type: ignore[union-attr]
    assert "on held-out samples: Proven" in (tmp_path / "p.html").read_text()
    check = ["verify", str(out), "--original", weights, "--data", str(folder / "d.npz"), "--hold-out", held]
    capsys.readouterr()
    assert run([*check, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreed"] is True
    out.write_text(json.dumps({**stated, "errors": 0}))
    assert run(check) == 1
    for bad in (given, [*given[:-2], "--out", str(out)], [*given, "--out", str(tmp_path / "x.txt")]):
        assert run(["certify", *bad]) == 2
    assert run(check[:2] + check[4:]) == 2
    out.write_bytes(b"\xff{" * 9)
    assert run(check) == 2
    out.write_bytes(b" " * ((1 << 20) + 1))
    assert run(check) == 2
    file = case.pact.write(tmp_path / "net.pact")
    assert run(["certify", *options(folder, file), "--weights", weights]) == 2
