"""netpact ranks as a user meets it: a table, all curves, JSON, a page and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netpact.cli.app import run

FEW = ["--points", "3", "--samples", "40", "--bound-samples", "4", "--tolerance", "0.5"]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("ranks") / "conv.safetensors")
    assert run(["train", "conv:4-6", "--data", "digits", "--epochs", "2", "--out", path]) == 0
    return path


def ranks(weights: str, *further: str) -> list[str]:
    return ["ranks", "conv:4-6", "--weights", weights, "--data", "digits", *FEW, *further]


def test_people_read_a_table(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ranks(weights)) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "conv2" in captured.err
    assert "decisions change" in captured.err
    assert "-> " not in captured.err
    assert max(map(len, captured.err.splitlines())) <= 80
    assert run(ranks(weights, "--curves")) == 0
    assert capsys.readouterr().err.count("-> ") == 3


def test_json_has_the_curves_and_the_ranks(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ranks(weights, "--json", "--bits", "6")) == 0
    record: Any = json.loads(capsys.readouterr().out)
    assert record["kind"] == "rank advice"
    assert record["bits"] == 6
    assert [layer["name"] for layer in record["layers"]] == ["conv1", "conv2", "fc1"]
    for layer in record["layers"]:
        assert layer["rank"] == record["ranks"].get(layer["name"])
        assert [point["rank"] for point in layer["points"]] == sorted(point["rank"] for point in layer["points"])
        for point in layer["points"]:
            assert point["change"]["largest"] > 0
            assert point["deviation_bound"] > 0


def test_page_and_figures(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, folder = tmp_path / "ranks.html", tmp_path / "figures"
    assert run(ranks(weights, "--page", str(page), "--figures", str(folder))) == 0
    text = page.read_text()
    assert "conv2, Conv2d 6x4x3x3" in text
    assert text.count("<script") == 1, "the page's own"
    assert text.count("<svg") == 6  # three layers in two widths
    assert sorted(path.name for path in folder.glob("*.csv")) == ["ranks-1.csv", "ranks-2.csv", "ranks-3.csv"]
    assert (folder / "ranks-2.csv").read_text().startswith("curve,rank,share\nerror of the weights,1.0,")
    assert "12 figure files" in capsys.readouterr().err


def test_a_network_without_weights_is_said_to_be_untrained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ranks", "linear", "--data", "digits", *FEW]) == 0
    assert "untrained" in capsys.readouterr().err
