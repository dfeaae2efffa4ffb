"""One step: from a network and data to a verified file, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch import Tensor, nn

import netpact
import netpact.exploration.one_step as one_step
from netpact import RateAware, TrainOptions, WholeNumber, make_pact
from netpact.cli.app import run
from netpact.core.errors import PactError
from netpact.datasets import Data, as_data
from netpact.exploration.one_step import choose_arithmetic
from netpact.methods import Tried
from netpact.models import save_weights
from netpact.network import ErrorCount, trace

OWN = """
from torch import nn

def make():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
"""


def trained(name: str, data: Data) -> nn.Module:
    start = netpact.build(netpact.parse_model(name, input_shape=data.input_shape, classes=data.classes))
    return netpact.train(start, data.train, TrainOptions(epochs=5, learning_rate=0.02)).module


def test_the_lowest_bound_that_was_found_is_certified_and_verified(digits: Data, tmp_path: Path) -> None:
    seen: list[Tried] = []
    made = make_pact(trained("linear", digits), digits, budget_seconds=2, delta=0.1, progress=seen.append)
    assert made.verdict.agreed
    bounds = [one.bound for one in seen if one.bound is not None]
    assert made.certificate.bound == min(bounds)
    assert made.certificate.delta == 0.1
    assert netpact.verify(made.pact.write(tmp_path / "a.pact"), digits).agreed
    assert made.to_json()["method"] == repr(made.found.method)


def test_training_is_given_up_when_time_is_up(digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first setting is finished in any case; what takes longer afterwards is not."""
    network = trained("conv:4", digits)
    made = make_pact(network, digits, budget_seconds=1e-6)
    assert made.searched
    assert not any(isinstance(one.method, RateAware) for one in made.searched)
    monkeypatch.setattr(one_step, "_suitable", lambda *_: [netpact.Quantize(grid="ternary"), RateAware(epochs=1)])
    found = make_pact(network, digits, budget_seconds=1000)
    assert {type(one.method) for one in found.searched} >= {netpact.Quantize, RateAware}
    assert found.arithmetic == ("float64" if isinstance(found.found.method, RateAware) else "float32")


def test_where_no_bound_is_worth_anything_the_file_keeps_its_accuracy_and_says_what_to_do(
    digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_step, "_suitable", lambda *_: [netpact.Quantize(per_channel=True)])
    seen: list[Tried] = []
    x, y = next(iter(digits.train.batches(300)))
    few = as_data((x, y), name="few digits")
    made = make_pact(trained("mlp:64-64", digits), few, budget_seconds=1000, progress=seen.append)
    assert made.certificate.is_vacuous
    assert made.found.target == netpact.Target(max_accuracy_loss=1.0)
    assert made.found.found.accuracy_loss is not None
    assert made.found.found.accuracy_loss <= 1.0
    for words in ("vacuous", "bits for 300 samples", "netpact search", "docs/priors.md", "--hold-out"):
        assert words in made.advice
    assert seen[0].too_long
    assert seen[0].bound is None, "no errors are counted where bits alone decide"


def test_arithmetic_is_the_first_in_which_rounding_decides_few_samples(
    digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, asked = trace(trained("conv:4", digits), digits), list[str]()

    def count(ties: dict[str, int]) -> None:
        def counted(*_: object, arithmetic: str) -> ErrorCount:
            asked.append(arithmetic)
            return ErrorCount(ties[arithmetic], ties[arithmetic], 256)

        monkeypatch.setattr(one_step, "count_errors", counted)

    for ties, chosen in (((5, 0), "float32"), ((6, 5), "float64"), ((256, 256), "whole")):
        count(dict(zip(("float32", "float64"), ties, strict=True)))
        assert choose_arithmetic(network, digits.train) == chosen
    monkeypatch.setattr(WholeNumber, "compress", _refuse)
    assert choose_arithmetic(network, digits.train) == "as-run"
    lstm = trace(_Recurrent(), digits)
    assert choose_arithmetic(lstm, digits.train) == "as-run"


def _refuse(*_: object) -> None:
    raise PactError("not for this network")


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(8, 4, batch_first=True)
        self.head = nn.Linear(4, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.inner(x[:, 0])[0][:, -1])


def test_a_deep_network_becomes_one_of_integers(digits: Data) -> None:
    made = make_pact(trained("resnet:8-2-1", digits), digits, budget_seconds=1e-6, arithmetic="whole")
    assert made.arithmetic == "whole"
    assert made.verdict.agreed


@pytest.fixture
def own(digits: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_nets_of_test.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    save_weights(
        netpact.train(module, digits.train, TrainOptions(epochs=5, learning_rate=0.02)).module, "own.safetensors"
    )
    return "own_nets_of_test:make"


def test_one_command_for_a_module_of_ones_own(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["certify", own, "--weights", "own.safetensors", "--data", "digits", "--budget", "1s"]
    assert run([*given, "--json"]) == 0
    told = capsys.readouterr()
    record = json.loads(told.out)
    assert record["file"] == "own.pact"
    assert record["verdict"]["agreed"]
    stated = netpact.Pact.read("own.pact").certificate
    assert stated is not None
    assert stated.module_sha256
    command = f"netpact verify own.pact --data digits --model {own}"
    assert command in told.err
    assert "ith probability at least 95 %" in told.err
    assert run(command.split()[1:]) == 0
    assert run(given) == 2, "a certified file is not replaced"
    assert "a certified file exists" in " ".join(capsys.readouterr().err.split())
    assert run([*given, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--out", "a.json"], "must end in .pact"),
        (["--form", "kl"], "only for a .pact file"),
        (["--budget", "5"], "must be a time"),
        (["--arithmetic", "float8"], "float64"),
    ],
)
def test_errors_on_the_command_line(own: str, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", own, "--weights", "own.safetensors", "--data", "digits", *more]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not list(Path().glob("*.pact"))
