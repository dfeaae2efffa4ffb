"""netpact design: the blocks of a network by name, or of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpact.cli.app import run
from netpact.models import build, parse_model, save_weights

OWN = """
from torch import nn
def make():
    block = [nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 12, 1), nn.ReLU()]
    return nn.Sequential(nn.Conv2d(1, 8, 3), *block, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10))
"""


def test_json_is_a_list_of_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_blocks.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["design", "my_blocks:make", "--data", "digits", "--json"]) == 0
    [block] = json.loads(capsys.readouterr().out)
    assert (block["kind"], block["K"], block["R"], block["ratio"]) == ("bottleneck", 12, 4, 3.0)
    assert block["redundant"] is True
    assert block["parameters"] == 8 * 4 + 4 + 16 * 9 + 4 + 4 * 12 + 12
    assert block["parameters_at_ratio_1"] == 8 * 4 + 4 + 16 * 9 + 4 + 4 * 4 + 4
    assert block["flops"] == 2 * 36 * (8 * 4 + 16 * 9 + 4 * 12)
    assert block["flops_at_ratio_1"] == 2 * 36 * (8 * 4 + 16 * 9 + 4 * 4)


def test_a_network_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", "cp-vgg:11-8-100-1"]) == 0
    shown = capsys.readouterr().err
    assert "inverted-residual" in shown
    assert "at K = R" in shown
    assert "assumed" in shown


def test_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", "lenet5", "--data", "mnist", "--input", "1x28x28"]) != 0
    assert "--input" in capsys.readouterr().err


def test_ranks_of_a_trained_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of weights, where there are some; on data, where it is given."""
    name, weights = "bottleneck:11-2-3-1-1", tmp_path / "weights.safetensors"
    save_weights(build(parse_model(name, input_shape=(1, 8, 8), classes=10)), weights)
    assert run(["design", name, "--data", "digits", "--weights", str(weights), "--json"]) == 0
    for block in json.loads(capsys.readouterr().out):
        assert block["weight_rank"] == block["R"]
        assert block["data_rank"] <= block["R"]
        assert block["output_rank"] <= block["K"]
        assert (block["rank_tolerance"], block["rank_vectors"] % 256) == (1e-6, 0)
    words = ["design", name, "--input", "1x8x8", "--weights", str(weights), "--tolerance", "0.99", "--json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(block["weight_rank"], block["data_rank"], block["rank_tolerance"]) for block in told} == {(1, None, 0.99)}
    assert run(["design", name, "--input", "1x8x8", "--json"]) == 0
    assert "weight_rank" not in json.loads(capsys.readouterr().out)[0], "initial weights have none of interest"


def test_what_another_ratio_would_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", "bottleneck:11-4-4-1-1", "--ratio", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {block["new_ratio"] for block in told["blocks"]} == {2}
    assert told["new_parameters"] < told["parameters"]
    assert run(["design", "bottleneck:11-4-4-1-1", "--ratio", "1"]) == 0
    assert "3 of 3 blocks were given K / R = 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ratio", "1", "--tolerance", "0.1"], "--tolerance"),
        (["--ratio", "0"], "ratio"),
        (["--tolerance", "2"], "tolerance"),
        (["--input", "3x2x4x16x16"], "1 to 3 integers"),
    ],
)
def test_wrong_ranks_and_ratios(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", "bottleneck:11-4-4-1-1", *words]) != 0
    assert message in capsys.readouterr().err
