"""netpact experiment as a user meets it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netpact.cli.app import run
from netpact.experiments import Plan, Preset


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Plan.preset

    def shorten(plan: Plan, name: object) -> Preset:
        whole = found(plan, name)
        assert isinstance(whole, Preset)
        cases = {study: replace(case, epochs=2, limit=50) for study, case in whole.cases.items()}
        return replace(whole, cases=cases)

    monkeypatch.setattr(Plan, "preset", shorten)


def test_table_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = [
        "experiment",
        "arora-corrupted",
        "--preset",
        "digits",
        "--seeds",
        "1",
        "--out",
        str(out),
        "--figures",
        str(out / "drawn"),
        "--engine",
        "inline",
    ]
    assert run(command) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    for words in ("2 networks to train", "finding", "not judged", "The data are digits", "50 samples", "page"):
        assert words in captured.err
    assert (out / "arora-corrupted-digits.html").is_file()
    assert run([*command, "--json"]) == 0
    captured = capsys.readouterr()
    record: Any = json.loads(captured.out)
    assert record["experiment"] == "arora-corrupted"
    assert len(list((out / "drawn").glob("*.pdf"))) == 2
    assert [one["study"] for one in record["networks"]] == ["alexnet", "alexnet-shuffled"]
    assert record["networks"][0]["fingerprint"].startswith("sha256:")
    assert "already" in captured.err, "nothing is done twice"


def test_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "arora-fig7", "--json"]) == 2
    assert "arora-table1" in json.loads(capsys.readouterr().out)["error"]
    assert run(["experiment", "arora-fig1", "--preset", "slow"]) == 2
    assert "quick, full, digits" in capsys.readouterr().err


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "--json"]) == 0
    captured = capsys.readouterr()
    listed = {one["experiment"]: one for one in json.loads(captured.out)}
    assert listed["arora-table1"]["title"] == "Table 1: effective parameters of each layer"
    assert listed["arora-table1"]["presets"] == ["quick", "full", "digits"]
    assert "arora-corrupted" in captured.err


def test_unknown_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "arora-fig1", "--engine", "process"]) == 2
    assert "did you mean processes" in capsys.readouterr().err
