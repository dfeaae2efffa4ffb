"""compress tells which layers it changed, and where options of methods go; certify tells of rounding."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from netpact import CP, Quantize, build, certify, compress, load_data, parse_model, seal, trace
from netpact.cli.app import run
from netpact.cli.picture import look_around, print_picture
from netpact.methods.replacing import changed_layers
from netpact.models import save_weights


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    module = build(parse_model("conv:8-16", input_shape=(1, 8, 8), classes=10))
    path = tmp_path_factory.mktemp("told") / "conv.safetensors"
    save_weights(module, path)
    return str(path)


def compress_told(
    weights: str, out: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[str, dict[str, object]]:
    given = ["compress", "conv:8-16", "--weights", weights, "--data", "digits", "--out", str(out), "--json", *more]
    assert run(given) == 0
    captured = capsys.readouterr()
    return captured.err, json.loads(captured.out)


def test_many_changed_layers_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.safetensors"
    save_weights(build(parse_model("resnet:8-2-1", input_shape=(1, 8, 8), classes=10)), path)
    given = ["--data", "digits", "--method", "whole", "--out", str(tmp_path / "deep.pact"), "--json"]
    assert run(["compress", "resnet:8-2-1", "--weights", str(path), *given]) == 0
    captured = capsys.readouterr()
    changed = json.loads(captured.out)["layers_changed"].values()
    folds, whole = (sum(form.startswith(kind) for form in changed) for kind in ("fold", "whole"))
    assert (folds, whole) == (7, 8)
    assert "layers changed: 7 to fold, 8 to whole (--json lists them)" in captured.err


def test_the_layers_that_were_changed(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--method", "cp", "--set", "ranks=conv2:5,fc1:2"
    told, record = compress_told(weights, tmp_path / "a.pact", capsys, *settings)
    assert "layers changed: conv2 to cp(rank=5), fc1 to cp(rank=2, in_rows=4, out_rows=2)" in told
    assert record["layers_changed"] == {"conv2": "cp(rank=5)", "fc1": "cp(rank=2, in_rows=4, out_rows=2)"}


def test_a_method_that_changed_none_says_so(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--method", "cp", "--set", "ranks=conv2:64"
    told, record = compress_told(weights, tmp_path / "a.pact", capsys, *settings)
    assert "layers changed: none" in told
    assert record["layers_changed"] == {}
    assert "layers changed" not in compress_told(weights, tmp_path / "b.pact", capsys)[0]


def test_names_are_those_of_the_network_that_was_folded() -> None:
    """The steps of folding come first in the file; they are not the method's."""
    from torch import nn

    from netpact import fold_batch_norm

    parts = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(128, 10)
    data = load_data("digits")
    network = trace(fold_batch_norm(nn.Sequential(*parts).eval(), data), data)
    found = compress(network, CP(ranks={"3": 4}))
    assert len(found.rewrites) == 2
    assert [name for name, _ in changed_layers(network, found)] == ["3"]


def test_an_option_of_a_method_is_given_by_set(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compress", "conv:8-16", "--weights", weights, "--data", "digits", "--method", "cp", "--rank", "3"]
    assert run(given) == 2
    assert "see netpact compress --help; options of a method: --set NAME=VALUE" in capsys.readouterr().err
    assert run(["certify", "--rank", "3"]) == 2
    assert "see netpact certify --help\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arithmetic", "near_ties", "advised"), [("float32", 60, True), ("float32", 40, False), ("float64", 60, False)]
)
def test_near_ties_of_float32_come_with_advice(
    arithmetic: str, near_ties: int, advised: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_data("digits")
    module = build(parse_model("linear", input_shape=(1, 8, 8), classes=10))
    certificate = certify(seal(compress(trace(module, data), Quantize())), data).certificate
    assert certificate is not None
    told = replace(certificate, arithmetic=arithmetic, near_ties=near_ties, errors=100)
    print_picture(told, look_around(data, file_bytes=1))
    assert ("--arithmetic float64" in capsys.readouterr().err) == advised
