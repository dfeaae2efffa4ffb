"""netpact design: the blocks of a network by name, or of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpact.cli.app import run

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
