"""Targets are reached, by the smallest file that was found, or refused with the nearest that was found."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import few
from torch import nn

import netpact
import netpact.methods.targets.trying as trying
from netpact import Quantize, Target, compress_to
from netpact.cli.app import run
from netpact.coding.format import Compressed, Pact
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples
from netpact.methods import METHODS, Tried, UnreachedError
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.targets.ladders import find_ladder
from netpact.methods.targets.reaching import find_least, find_lowest
from netpact.models import save_weights
from netpact.network import Network

WITHOUT_BASE = sorted(name for name in METHODS if "base" not in {one.name for one in fields(METHODS[name])})  # type: ignore[arg-type]


def measured_accuracy(module: nn.Module, samples: Samples) -> float:
    """Again and plainly, from the file."""
    right = 0
    with torch.no_grad():
        for inputs, labels in samples.batches():
            right += int((module(torch.from_numpy(np.array(inputs))).argmax(1).numpy() == labels).sum())
    return right / samples.count


@pytest.fixture(scope="module")
def trained(digits: Data) -> Network:
    start = netpact.build(netpact.parse_model("mlp:16", input_shape=digits.input_shape, classes=10))
    options = netpact.TrainOptions(epochs=5, learning_rate=0.02)
    return netpact.trace(netpact.train(start, digits.train, options).module, digits)


def test_bisection_finds_what_looking_everywhere_finds() -> None:
    for count in range(1, 12):
        for first in range(count + 1):
            for start in range(count):
                asked: list[int] = []

                def holds(place: int, first: int = first, asked: list[int] = asked) -> bool:
                    asked.append(place)
                    return place >= first

                assert find_least(count, start, holds) == (first if first < count else None)
                assert len(asked) <= 2 + count.bit_length()
        for lowest in range(count):
            assert find_lowest(count, lambda place, lowest=lowest: abs(place - lowest)) == lowest  # type: ignore[misc]


def test_the_smallest_file_within_an_accuracy_loss(trained: Network, digits: Data) -> None:
    found = compress_to(trained, Quantize(per_channel=True), Target(max_accuracy_loss=1.0), samples=digits)
    before = measured_accuracy(trained.module, digits.train)
    assert found.original_accuracy == pytest.approx(before)
    decoded = Pact.from_bytes(found.pact.to_bytes()).to_module()
    loss = 100 * (before - measured_accuracy(decoded, digits.train))
    assert found.found.accuracy_loss == pytest.approx(loss)
    assert loss <= 1.0
    assert found.found.file_bytes == len(found.pact.to_bytes())
    holding = [one.file_bytes for one in found.tried if one.accuracy_loss is not None and one.accuracy_loss <= 1.0]
    assert found.found.file_bytes == min(one for one in holding if one is not None)
    assert any(one.accuracy_loss is not None and one.accuracy_loss > 1.0 for one in found.tried), "and no smaller one"
    assert "rate=" in found.found.setting, "a price for bits makes it smaller still"
    assert netpact.compress(trained, found.method, samples=digits).tensors.keys() == found.compressed.tensors.keys()
    assert "1,437 training samples" in found.measured_on
    assert len(found.to_frame()) == len(found.tried)


def test_the_most_accurate_file_within_a_number_of_bytes(trained: Network, digits: Data) -> None:
    found = compress_to(trained, Quantize(per_channel=True), Target(max_bytes=600), samples=digits)
    assert len(found.pact.to_bytes()) <= 600
    fitting = [one for one in found.tried if one.file_bytes is not None and one.file_bytes <= 600]
    assert found.found.accuracy == max(one.accuracy or 0 for one in fitting)
    assert any((one.file_bytes or 0) > 600 for one in found.tried)
    plain = netpact.seal(netpact.compress(trained, Quantize(bits=3, per_channel=True)))
    assert len(plain.to_bytes()) <= 600
    assert (found.found.accuracy or 0) >= measured_accuracy(plain.to_module(), digits.train)


def test_the_smallest_file_within_a_bound_is_certified_with_it(trained: Network, digits: Data) -> None:
    found = compress_to(trained, Quantize(), Target(max_bound=0.9, delta=0.1), samples=digits)
    certificate = netpact.certify(found.pact, digits, delta=0.1).certificate
    assert certificate is not None
    assert certificate.bound == found.found.bound
    assert certificate.bound <= 0.9
    holding = [one.file_bytes or 0 for one in found.tried if one.bound is not None and one.bound <= 0.9]
    assert found.found.file_bytes == min(holding)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(max_accuracy_loss=0.0), "at most 0 points of accuracy lost"),
        (Target(max_bytes=30), "at most 30 bytes"),
        (Target(max_bound=0.05), "a bound of at most 5.0 %"),
    ],
    ids=str,
)
def test_what_cannot_be_reached_is_refused_with_the_nearest(
    target: Target, words: str, trained: Network, digits: Data
) -> None:
    method = Quantize(grid="ternary")
    with pytest.raises(UnreachedError, match=words) as caught:
        compress_to(trained, method, target, samples=few(digits), validation=digits.train)
    error = caught.value
    assert error.nearest is not None
    assert str(error.nearest) in str(error)
    assert error.nearest in error.tried
    made = [one for one in error.tried if one.file_bytes is not None]
    if target.max_bytes is not None:
        assert error.nearest.file_bytes == min(one.file_bytes or 0 for one in made)
    elif target.max_bound is not None:
        assert error.nearest.bound == min(one.bound or 1 for one in made)
    else:
        assert error.nearest.accuracy_loss == min(one.accuracy_loss or 0 for one in made)


@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_every_method_with_a_size_knob(
    name: str, linear: Network, mixed: Network, digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = linear if name.startswith("vector") else mixed
    quick: dict[str, Any] = {"rate-aware": {"epochs": 1}, "ternary-search": {"steps": 20, "restarts": 1}}.get(name, {})
    method: Any = METHODS[name]
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 60)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 30)
    ladder = find_ladder(method(**quick))
    smallest = netpact.seal(netpact.compress(network, ladder.methods[0], samples=few(digits)))
    most = len(smallest.to_bytes()) + 10
    found = compress_to(network, method(**quick), Target(max_bytes=most), samples=few(digits))
    assert len(found.pact.to_bytes()) <= most
    assert found.pact.message == netpact.seal(netpact.compress(network, found.method, samples=few(digits))).message


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(64, 12)
        self.head = nn.Linear(12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x.flatten(1))))


def test_a_module_of_ones_own_and_accuracy_on_other_samples(digits: Data) -> None:
    torch.default_generator.manual_seed(1)
    module = netpact.train(Own(), digits.train, netpact.TrainOptions(epochs=4, learning_rate=0.01)).module
    assert digits.test is not None
    found = compress_to(module, Quantize(), Target(max_accuracy_loss=2.0), samples=digits.train, validation=digits.test)
    assert found.original_accuracy == pytest.approx(measured_accuracy(module, digits.test))
    again = measured_accuracy(found.pact.to_module(Own()), digits.test)
    assert found.found.accuracy == pytest.approx(again)
    assert again >= measured_accuracy(module, digits.test) - 0.02
    assert found.measured_on == "360 validation samples"
    assert netpact.verify(netpact.certify(found.pact, digits, model=Own), digits, model=Own).agreed


def test_of_many_samples_so_many_are_drawn(trained: Network, digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "_MOST_MEASURED", 500)
    found = compress_to(trained, Quantize(), Target(max_accuracy_loss=5.0), samples=digits)
    assert found.measured_on == "500 training samples of 1,437"


def test_a_helper_counts_on_what_it_has_not_seen(digits: Data) -> None:
    options = netpact.TrainOptions(epochs=2, learning_rate=0.01)
    helper = netpact.train_helper(digits, netpact.Recipe("mlp:8", options, netpact.Split(percent=30)))
    start = netpact.build(netpact.parse_model("mlp:8", input_shape=digits.input_shape, classes=10))
    network = netpact.trace(netpact.train(start, digits.train, options).module, digits)
    target = Target(max_bound=0.999)
    found = compress_to(network, netpact.QuantizeDifference(helper), target, samples=digits)
    certificate = netpact.certify(found.pact, digits, base=helper).certificate
    assert certificate is not None
    assert certificate.bound == found.found.bound


@dataclass(frozen=True)
class Picky:
    """Rounds, and refuses its largest settings once it has seen the network."""

    bits: int = 4
    name: ClassVar[str] = "picky"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("bits", (8, 2)),)

    def compress(self, network: Network, samples: Samples | None, progress: object) -> Compressed:
        if self.bits > 5:
            raise PactError("too many bits for this network")
        return Quantize(bits=self.bits).compress(network, samples, None)


def test_settings_that_a_method_refuses_are_passed_over(
    trained: Network, digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compress_to(trained, Picky(), Target(max_accuracy_loss=3.0), samples=digits)
    assert found.method in (Picky(3), Picky(4), Picky(5))
    assert any("too many bits" in one.refused for one in found.tried)
    monkeypatch.setattr(Picky, "compress", _refuse)
    with pytest.raises(UnreachedError, match="too many bits"):
        compress_to(trained, Picky(), Target(max_bytes=10**6), samples=digits)


def _refuse(self: Picky, network: Network, samples: Samples | None, progress: object) -> Compressed:
    raise PactError("too many bits for this network")


def test_an_interrupted_search_goes_on(
    trained: Network, digits: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, method = Target(max_accuracy_loss=1.0), Quantize(per_channel=True)
    whole = compress_to(trained, method, target, samples=digits)
    seen: list[Tried] = []

    def stop(one: Tried) -> None:
        seen.append(one)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compress_to(trained, method, target, samples=digits, keep=tmp_path, progress=stop)
    made: list[object] = []
    compress = trying.compress

    def counting(*given: Any, **named: Any) -> Compressed:
        made.append(given)
        return compress(*given, **named)

    monkeypatch.setattr(trying, "compress", counting)
    again = compress_to(trained, method, target, samples=digits, keep=tmp_path)
    assert again.pact.message == whole.pact.message
    assert len(made) == len(whole.tried) - 3
    before = len(made)
    other = compress_to(trained, method, target, samples=few(digits), validation=digits.train, keep=tmp_path)
    assert len(made) == before + len(other.tried), "other samples, other results"


def test_bad_targets_and_options(trained: Network, digits: Data) -> None:
    for bad in (
        {},
        {"max_bytes": 10, "max_bound": 0.5},
        {"max_bound": 30.0},
        {"max_bytes": 0},
        {"max_accuracy_loss": -1},
    ):
        with pytest.raises(PactError):
            Target(**bad)
    with pytest.raises(PactError, match="allowed: bits, density, rate"):
        compress_to(trained, Quantize(), Target(max_bytes=500), samples=digits, over=("bit",))
    with pytest.raises(PactError, match="has no size knob of its own"):
        compress_to(trained, netpact.CP(rank=3), Target(max_bytes=500), samples=digits)
    assert compress_to(trained, netpact.CP(rank=3), Target(max_bytes=2000), samples=digits, over=("rank",)).found


@pytest.fixture
def weights(trained: Network, tmp_path: Path) -> str:
    save_weights(trained.module, tmp_path / "mlp.safetensors")
    return str(tmp_path / "mlp.safetensors")


def test_on_the_command_line(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compress", "mlp:16", "--weights", weights, "--data", "digits", "--out", str(tmp_path / "a.pact")]
    assert run([*given, "--target-bytes", "700", "--json", "--resume", str(tmp_path / "kept")]) == 0
    told = capsys.readouterr()
    assert (tmp_path / "a.pact").stat().st_size <= 700
    record = json.loads(told.out)
    assert record["search"]["found"]["file_bytes"] == (tmp_path / "a.pact").stat().st_size
    assert "tolerance=0." in record["method"], "what goes with the knob"
    for line in ("tried", "at most 700 bytes: tolerance=", "Choosing among settings is paid for"):
        assert line in told.err
    assert list((tmp_path / "kept" / "run").glob("*.json"))
    assert run([*given, "--max-accuracy-loss", "2", "--validation", "test", "--set", "bits=6"]) == 0
    told = capsys.readouterr()
    assert "bits=6, rate=" in told.err or "rate=" in told.err
    assert "bits=5" not in told.err
    assert "chosen on the test samples" in told.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--target-bound", "0.01"], "the nearest is"),
        (["--target-bound", "30"], "0.3 is 30 %"),
        (["--target-bytes", "9", "--target-bound", "0.3"], "one target at a time"),
        (["--validation", "test"], "only with a target"),
        (["--max-accuracy-loss", "1", "--set", "bits=3", "--set", "rate=0.1"], "bits is set"),
    ],
)
def test_errors_on_the_command_line(
    more: list[str], words: str, weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["compress", "mlp:16", "--weights", weights, "--data", "digits", "--out", str(tmp_path / "a.pact")]
    assert run([*given, *more]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "a.pact").exists()
