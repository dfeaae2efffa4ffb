"""Twenty mistakes of newcomers: every error says what to do next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import netpact
from netpact import PactError
from netpact.cli.app import BAD_INPUT, run
from netpact.datasets import Data

# What was typed, and a part of the answer that leads on.
TYPED = {
    "trian linear": "Did you mean 'train'",
    "train linear": "for example: netpact train mlp:64-32 --data digits",
    "certify net.pact": "for example: netpact certify mlp.pact --data digits",
    "report": "for example: netpact report",
    "train linear --data digit --out a.safetensors": "did you mean digits?",
    "train resnet20x --data digits --out a.safetensors": "did you mean resnet",
    "train linear --data digits --out a.txt": "allowed: .safetensors",
    "compress linear --data digits --out a.pact": "train it first: netpact train linear --data digits --out",
    "compress mlp --weights linear.safetensors --data digits --out a.pact": "these weights were trained with",
    "compress linear --weights liner.safetensors --data digits --out a.pact": "did you mean linear.safetensors?",
    "compress linear --weights linear.safetensors --data digits --method quantise --out a.pact": "mean quantize?",
    "compress linear --weights linear.safetensors --data digits --set bit=3 --out a.pact": "did you mean bits?",
    "compress linear --weights linear.safetensors --data digits --set bits=99 --out a.pact": "an integer from 2 to 16",
    "compress linear --weights linear.safetensors --data digits --bits 3 --out a.pact": "--set NAME=VALUE",
    "certify linear.safetensors --data digits": "netpact compress makes a .pact file of trained weights",
    "certify nothing/a.pact --data digits": "there is no folder nothing",
    "certify a.pact --data digits --delta 5": "0.05 is the usual choice",
    "verify nowhere.pact --data digits": "check the path",
    "experiment arora-fig9": "did you mean arora-fig",
    "bounds linear --data digits --only neyshabur": "did you mean neyshabur-",
    "measure linear --data digits --only cushion": "did you mean",
    "search --data digits --budget soon --out s": "90s, 10m or 1h",
    "info package:function --data digits": "run from the folder that holds it, or install it",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, digits: Data) -> Path:
    place = tmp_path_factory.mktemp("mistakes")
    linear = netpact.parse_model("linear", input_shape=digits.input_shape, classes=digits.classes)
    netpact.save_weights(netpact.build(linear), place / "linear.safetensors")
    torch.save(nn.Linear(2, 2).state_dict(), place / "weights.pt")
    return place


@pytest.mark.parametrize("typed", TYPED)
def test_the_answer_leads_on(
    typed: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(typed.split()) == BAD_INPUT
    shown = " ".join(capsys.readouterr().err.split())
    assert TYPED[typed] in shown
    assert "Traceback" not in shown


def _images(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((20, *shape), dtype=np.float32), np.arange(20) % 10


_FLAT = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
CALLS: dict[str, Callable[[Data], object]] = {
    "images have their channels first": lambda data: netpact.trace(
        nn.Conv2d(3, 4, 3), netpact.as_data(_images(8, 8, 3))
    ),
    "the 11 classes of the data, whose labels are 0 to 10": lambda data: netpact.trace(
        _FLAT, netpact.as_data((_images(1, 8, 8)[0], _images()[1] + 1))
    ),
    "not one-hot": lambda data: netpact.as_data((_images(1, 8, 8)[0], np.eye(10)[_images()[1]])),
    "module.load_state_dict": lambda data: netpact.trace(_FLAT.state_dict(), data),  # type: ignore[arg-type]
    "load its state_dict": lambda data: netpact.load_model("weights.pt"),
    "for example Quantize()": lambda data: netpact.compress(netpact.trace(_FLAT, data), netpact.Quantize),  # type: ignore[arg-type]
    "model=function": lambda data: netpact.certify(netpact.compress(_FLAT, netpact.Quantize(), samples=data), data),
    "makes a Pact of a trained module": lambda data: netpact.certify(_FLAT, data),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("answer", CALLS)
def test_errors_in_python_lead_on(answer: str, folder: Path, digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(PactError) as error:
        CALLS[answer](digits)
    assert answer in str(error.value)
