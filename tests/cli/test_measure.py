"""netpact measure as a user meets it: what is printed where, files, errors, interrupts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netpact.cli.app import run

QUANTITY_KEYS = {"value", "exact", "stderr"}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("measure") / "conv.safetensors")
    assert (
        run(["train", "conv:4-6", "--data", "digits", "--epochs", "2", "--learning-rate", "0.02", "--out", path]) == 0
    )
    return path


def measure(weights: str, *further: str) -> list[str]:
    return ["measure", "conv:4-6", "--weights", weights, "--data", "digits", "--samples", "6", *further]


def test_json_is_as_agreed(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(measure(weights, "--json")) == 0
    captured = capsys.readouterr()
    record: Any = json.loads(captured.out)
    assert [layer["name"] for layer in record["layers"]] == ["conv1", "conv2", "fc1"]
    assert [layer["index"] for layer in record["layers"]] == [1, 2, 3]
    assert record["layers"][0]["shape"] == [4, 1, 3, 3]
    for layer in record["layers"]:
        for name in (
            *("frobenius", "spectral_upper", "arora_layer_cushion", "min_interlayer_cushion"),
            *("activation_contraction", "well_distributed", "effective_parameters"),
        ):
            assert layer[name].keys() >= QUANTITY_KEYS
            assert layer[name]["value"] > 0
    assert record["network"]["depth"] == 3
    assert record["network"]["margins"]["quantiles"].keys() == {"0", "0.05", "0.25", "0.5", "0.75", "0.95", "1"}
    assert record["provenance"]["jacobian_samples"] == 6
    assert "about" in captured.err
    assert "6 samples x 3 pairs of layers" in captured.err


def test_people_read_a_table(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(measure(weights)) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mu ->" in captured.err
    assert "conv2" in captured.err


def test_only_and_against_and_page(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "new" / "page.html"
    only = ["--only", "frobenius,arora_layer_cushion", "--only", "distance_from_initial"]
    assert (
        run(
            measure(
                weights, "--against", "initial", "--page", str(page), "--figures", str(page.parent), *only, "--json"
            )
        )
        == 0
    )
    record = json.loads(capsys.readouterr().out)
    for layer in record["layers"]:
        assert layer.keys() >= {"frobenius", "arora_layer_cushion", "distance_from_initial"}
        assert not layer.keys() & {"spectral_upper", "min_interlayer_cushion"}
        assert layer["distance_from_initial"]["value"] > 0
    assert record["against"]["layers"][0]["frobenius"]["value"] != record["layers"][0]["frobenius"]["value"]
    assert "the network before training" in page.read_text()
    drawn = {path.name for path in page.parent.iterdir()} - {page.name}
    assert drawn == {
        f"{name}{ending}" for name in ("arora_layer_cushion", "norms") for ending in (".svg", ".pdf", ".csv", ".json")
    }


def test_initial_is_where_training_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "slow.safetensors")
    recipe = ["--optimizer", "sgd", "--epochs", "1", "--learning-rate", "1e-12", "--seed", "3", "--out", path]
    assert run(["train", "mlp:8", "--data", "digits", *recipe]) == 0
    wanted = ["--only", "distance_from_initial", "--against", "initial", "--json"]
    assert run(["measure", "mlp:8", "--weights", path, "--data", "digits", "--seed", "3", *wanted]) == 0
    record = json.loads(capsys.readouterr().out)
    assert all(layer["distance_from_initial"]["value"] < 1e-5 for layer in record["layers"])


def test_a_second_file_is_measured(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(measure(weights, "--against", weights, "--only", "frobenius")) == 0
    assert f"against {weights}" in capsys.readouterr().err.replace("\n", "")


@pytest.mark.parametrize(
    ("further", "where"),
    [
        (["--samples", "0"], "samples"),
        (["--only", "nonsense"], "only"),
        (["--only", "distance_from_initial"], "only"),
        (["--against", "missing.safetensors"], "missing.safetensors"),
        (["--page", "."], "."),
        (["--figures", "/dev/null"], "/dev/null/figure.svg"),
    ],
)
def test_bad_options_are_told(weights: str, further: list[str], where: str, capsys: pytest.CaptureFixture[str]) -> None:
    quick = [] if "--only" in further else ["--only", "frobenius"]
    assert run(measure(weights, *further, *quick, "--json")) == 2
    record = json.loads(capsys.readouterr().out)
    assert record["where"] == where
    assert record["error"]


def test_an_untrained_network_of_ours_is_measured_and_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "mlp:8", "--data", "digits", "--only", "frobenius", "--json"]) == 0
    told = capsys.readouterr()
    assert "mlp:8 is untrained" in told.err
    assert len(json.loads(told.out)["layers"]) == 2


def test_the_start_of_an_own_module_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_measured.py").write_text(
        "from torch import nn\ndef make():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"
    )
    monkeypatch.chdir(tmp_path)
    line = ["measure", "own_measured:make", "--data", "digits", "--only", "frobenius"]
    assert run(line) == 0
    assert run([*line, "--against", "initial"]) == 2


def test_an_interrupt_is_told(
    weights: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netpact.measurements.pairs.measure_pairs", interrupt)
    assert run(measure(weights)) == 130
    captured = capsys.readouterr()
    assert "interrupted" in captured.err
    assert "Traceback" not in captured.err
