"""netpact info MODEL: the record, the table, and what is refused."""

from __future__ import annotations

import json
import os
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

import pytest
from cli.fresh_process import run_fresh

from netpact import __version__
from netpact.cli.app import run
from netpact.cli.layer_listing import WIDTH, list_layers, show_flops, show_norm
from netpact.network.layer_table import LayerRow, LayerTable
from netpact.network.naming import shorten_middle

OWN = """
import torch
from torch import nn

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.lstm(x[:, 0])[0][:, -1] * self.scale)

def small():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "described_nets.py").write_text(OWN)
    return tmp_path


def info(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run(["info", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_record_is_as_agreed(capsys: pytest.CaptureFixture[str]) -> None:
    record = info(capsys, "mlp:5", "--input", "1x2x3", "--classes", "4")
    assert list(record) == [
        *("model", "input_shape", "classes", "parameters", "flops", "weights", "layers", "refused"),
        *("without_rounding_rule", "version"),
    ]
    first, second = record.pop("layers")
    assert record == {
        "model": "mlp:5",
        "input_shape": [1, 2, 3],
        "classes": 4,
        "parameters": 6 * 5 + 5 + 5 * 4 + 4,
        "flops": 2 * (6 * 5 + 5 * 4),
        "weights": "initial",
        "refused": [],
        "without_rounding_rule": [],
        "version": __version__,
    }
    assert 0 < first.pop("spectral_lower") <= first.pop("spectral_upper") < 5
    assert first == {"index": 1, "name": "fc1", "kind": "linear", "shape": [5, 6], "parameters": 35, "flops": 60}
    assert (second["index"], second["name"], second["flops"]) == (2, "fc2", 40)


def test_data_and_weights_are_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from netpact import build, parse_model, save_weights

    module = build(parse_model("linear", input_shape=(1, 8, 8), classes=10))
    module.fc1.weight.data.fill_(0.25)  # type: ignore[union-attr, operator]
    save_weights(module, folder / "flat.safetensors")
    record = info(capsys, "linear", "--data", "digits", "--weights", str(folder / "flat.safetensors"))
    assert (record["input_shape"], record["classes"], record["weights"]) == ([1, 8, 8], 10, "flat.safetensors")
    (layer,) = record["layers"]
    norm = 0.25 * 640**0.5
    assert layer["spectral_lower"] <= norm <= layer["spectral_upper"] == pytest.approx(norm)


def test_what_was_not_said_is_assumed_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "LeNet-5"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "lenet5, inputs 3x32x32, 10 classes, initial weights" in captured.err
    assert "assumed: inputs of 3x32x32 (--input) and 10 classes" in captured.err
    assert "83,126" in captured.err
    assert "supported: it can be compressed and certified" in captured.err
    assert max(map(len, captured.err.splitlines())) <= WIDTH
    assert run(["info", "linear", "--input", "4", "--classes", "2"]) == 0
    assert "assumed" not in capsys.readouterr().err


def test_a_network_without_rounding_rules_is_certified_as_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("described_nets:Recurrent", "--input", "1x5x8", "--classes", "3")
    record = info(capsys, *arguments)
    assert [layer["name"] for layer in record["layers"]] == ["", "lstm", "head"]
    assert (record["refused"], record["without_rounding_rule"]) == ([], ["lstm"])
    assert run(["info", *arguments]) == 0
    told = capsys.readouterr().err
    assert "no rounding rule for: lstm" in told
    assert "--arithmetic as-run" in told
    assert "supported" not in told
    assert max(map(len, told.splitlines())) <= WIDTH


def test_a_refused_network_is_a_description(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("described_nets:Recurrent", "--input", "1x5x8", "--classes", "4")
    record = info(capsys, *arguments)
    assert record["model"] == "described_nets:Recurrent"
    assert record["refused"]
    assert run(["info", *arguments]) == 0
    told = capsys.readouterr().err
    assert "not supported:" in told
    words = " ".join(told.split())
    assert all(" ".join(problem.split()) in words for problem in record["refused"])
    assert max(map(len, told.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["described_nets:small"], "--input"),
        (["described_nets:nothing", "--input", "4"], "small"),
        (["resnet-21"], "6 n + 2"),
        (["vgx"], "papers' names"),
        (["nowhere.pact"], "nowhere.pact"),
        (["nowhere.pact", "--data", "digits"], "only for a MODEL"),
        (["described_nets.py", "--classes", "0"], "only for a MODEL"),
        (["mlp", "--model", "described_nets:small"], "only for a .pact file"),
        (["mlp", "--base", "b.pact"], "only for a .pact file"),
        (["mlp", "--data", "digits", "--input", "4"], "leave out one"),
        (["mlp", "--data", "digits", "--classes", "4"], "leave out one"),
        (["mlp", "--input", "3xx2"], "joined by 'x'"),
        (["mlp", "--input", "٣x3"], "joined by 'x'"),
        (["mlp", "--input", "0x3"], "from 1 to"),
        (["mlp", "--classes", "0"], "from 2 to"),
        (["mlp", "--weights", "nowhere.safetensors"], "nowhere.safetensors"),
    ],
)
def test_bad_input_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
) -> None:
    record = info(capsys, *arguments, code=2)
    assert record.keys() == {"error", "where", "hint"}
    assert part in " ".join(record.values())


def test_a_file_comes_before_a_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that happens to be called mlp is a file; a folder of that name is not."""
    (folder / "linear").mkdir()
    assert info(capsys, "linear", "--input", "4")["model"] == "linear"
    (folder / "mlp").write_bytes(b"something else")
    assert info(capsys, "mlp", code=2)["where"].startswith("mlp")


def test_other_commands_read_the_papers_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["LeNet-300-100", "--data", "digits"]
    out = ["--out", "w.safetensors"]
    assert run(["train", *arguments, "--epochs", "1", *out]) == 0
    assert info(capsys, "mlp:300-100", "--data", "digits", "--weights", "w.safetensors")["refused"] == []
    assert run(["compress", *arguments, "--out", "x.pact", "--json"]) == 2
    assert "netpact train LeNet-300-100" in json.loads(capsys.readouterr().out)["hint"]
    assert run(["compress", *arguments, "--weights", "w.safetensors", "--out", "x.pact"]) == 0
    capsys.readouterr()
    assert info(capsys, "x.pact")["architecture"] == "mlp:300-100"


def test_help_shows_both_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "100", "TERM": "dumb"}.items():
        monkeypatch.setitem(os.environ, name, value)
    text = run_fresh("info", "--help").stdout
    for part in ("Example: netpact info mlp.pact", "Example: netpact info resnet-20", "wrn-28-10", "--input", "--json"):
        assert part in text


def make_row(index: int, name: str, kind: str, shape: tuple[int, ...]) -> LayerRow:
    return LayerRow(
        index=index,
        name=name,
        kind=kind,
        shape=shape,
        parameters=123_456_789,
        flops=987_654_321,
        spectral_lower=1.23449e-7,
        spectral_upper=123_451.0,
    )


def test_the_table_fits_eighty_columns() -> None:
    rows = (
        make_row(1, "first", "conv2d", (4_096, 4_096, 11, 11)),
        make_row(1_000, "block3_12.body.of.a.very.long.name.conv1_norm", "NonDynamicallyQuantizableLinear", (512, 512)),
        make_row(1_001, "block3_12.body.of.a.very.long.name.conv2_norm", "batch_norm", (512,)),
    )
    lines = list_layers(
        LayerTable(rows=rows, parameters=999_999_999, flops=5 * 10**12, problems=(), remedy="")
    ).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) == 3 + 4
    for part in ("123,456,789", "988 M", "1.234e-7", "1.235e+5"):
        assert part in lines[3]
    assert "..." in lines[3]
    assert lines[3] != lines[4].replace("1001", "1000"), "the end of a name tells layers apart"
    assert "999,999,999" in lines[-1]
    assert "5.00 T" in lines[-1]


def test_numbers_are_shown_short_and_bounds_outward() -> None:
    assert [show_flops(count) for count in (None, 0, 640, 999, 4_096, 999_999, 1_772_880, 10_486_657_536)] == [
        *("-", "0", "640", "999", "4.10 k", "1.00 M", "1.77 M", "10.5 G")
    ]
    assert show_norm(1.23456, rounding=ROUND_FLOOR) == "1.234"
    assert show_norm(1.23412, rounding=ROUND_CEILING) == "1.235"
    assert show_norm(None, rounding=ROUND_FLOOR) == "-"
    assert shorten_middle("abcdefghij", room=7) == "ab...ij"
    assert [len(shorten_middle("abcdefghij", room=room)) for room in range(12)] == [*range(11), 10]
