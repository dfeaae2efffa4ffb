"""Monitor: what it sees is what measure and estimate_bounds say, files survive a kill, networks stay as they are."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import netpact
from netpact.bounds import EstimateOptions
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.monitoring import Monitor
from netpact.monitoring.drawing import rescale
from netpact.training import TrainOptions, train

OPTIONS = TrainOptions(epochs=4, learning_rate=0.01, batch_size=50)


@pytest.fixture(scope="module")
def small(digits: Data) -> Data:
    train_part, test = digits.train, digits.test
    assert isinstance(train_part, ArraySamples)
    assert isinstance(test, ArraySamples)
    return replace(
        digits, train=train_part.take(slice(150), name="150 digits"), test=test.take(slice(60), name="60 digits")
    )


def start() -> nn.Module:
    module = netpact.build(netpact.parse_model("conv:3-4", input_shape=(1, 8, 8), classes=10))
    netpact.models.initialise(module, Seed(1))
    return module


def make(data: Data, file: Path | None = None, *, every: int = 1, samples: int = 3) -> Monitor:
    return Monitor(data, file, every=every, samples=samples)


def test_what_it_sees_is_what_the_verbs_say(small: Data) -> None:
    monitor = make(small)
    trained = train(start(), small.train, OPTIONS, test=small.test, on_epoch=monitor)
    assert [one.epoch for one in monitor.history] == [1, 2, 3, 4]
    last = monitor.history[-1]
    assert last.train_error == trained.history[-1].train_error
    assert last.test_error == trained.history[-1].test_error
    measures = netpact.measure(trained.module, small, netpact.MeasureOptions(samples=3))
    found = netpact.estimate_bounds(trained.module, small, EstimateOptions(cushions="plain"), measures=measures)
    assert last.bounds["spec-fro"] == pytest.approx(found["spec-fro"].log10, rel=1e-12)
    assert last.bounds["figure-2"] == pytest.approx(found["figure-2"].log10, abs=0.1), "probes differ"
    assert last.gamma == found.gammas[0]
    for seen, measured in zip(last.layers, measures.layers, strict=True):
        assert measured.arora_layer_cushion is not None
        assert seen.cushion == measured.arora_layer_cushion.value
        assert seen.median_cushion is not None
        assert seen.cushion is not None
        assert seen.median_cushion > seen.cushion
    assert last.gap == pytest.approx(trained.history[-1].test_error - trained.history[-1].train_error)  # type: ignore[operator]


def test_every_and_the_first_epoch(small: Data) -> None:
    monitor, module = make(small, every=3), start()
    assert [monitor(epoch, module) is not None for epoch in range(1, 8)] == [
        True,
        False,
        True,
        False,
        False,
        True,
        False,
    ]


def test_training_is_the_same_with_and_without(small: Data) -> None:
    plain = train(start(), small.train, OPTIONS)
    watched = train(start(), small.train, OPTIONS, on_epoch=make(small, every=2))
    for one, other in zip(plain.module.parameters(), watched.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_network_stays_as_it_is(small: Data) -> None:
    module = start().train()
    before = copy.deepcopy(module.state_dict())
    make(small)(1, module)
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize("looked", [True, False], ids=["after the look", "before the look"])
def test_a_killed_run_goes_on(looked: bool, small: Data, tmp_path: Path) -> None:
    whole = make(small, tmp_path / "whole.jsonl")
    train(start(), small.train, OPTIONS, on_epoch=whole)

    def die_in_third(epoch: int, module: nn.Module) -> None:
        if looked or epoch < 3:
            first(epoch, module)
        if epoch == 3:
            raise KeyboardInterrupt

    file, checkpoint = tmp_path / "run.jsonl", tmp_path / "run.checkpoint"
    first = make(small, file)
    with pytest.raises(KeyboardInterrupt):
        train(start(), small.train, OPTIONS, checkpoint=checkpoint, on_epoch=die_in_third)
    second = make(small, file)
    before = second.history
    assert [one.epoch for one in before] == ([1, 2, 3] if looked else [1, 2])
    train(start(), small.train, OPTIONS, checkpoint=checkpoint, on_epoch=second)
    assert all(one is other for one, other in zip(before, second.history, strict=False)), "not measured again"
    assert [replace(one, seconds=0.0) for one in second.history] == [replace(one, seconds=0.0) for one in whole.history]
    assert make(small, file).history == second.history
    assert len(file.read_text().splitlines()) == 5
    assert not list(tmp_path.glob(".*part"))


def test_other_runs_do_not_mix(small: Data, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    make(small, file)(1, start())
    other = start()
    with torch.no_grad():
        next(other.parameters()).mul_(2)
    with pytest.raises(PactError, match="its network was another one"):
        make(small, file)(1, other)
    with pytest.raises(PactError, match="another jacobian_samples"):
        make(small, file, samples=4)
    swapped = replace(small, train=small.test)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="another train"):
        make(swapped, file)


@pytest.mark.parametrize("text", ["", "no json\n", '{"kind": "other"}\n', "[]\n"])
def test_foreign_files_are_refused(text: str, small: Data, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(text)
    with pytest.raises(PactError, match="not a file of a monitor"):
        make(small, file)


@pytest.mark.parametrize("line", ["{", "[]", '{"epoch": 2}', '{"layers": 3}'])
def test_damaged_lines_are_refused(line: str, small: Data, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    make(small, file)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(PactError, match="line 2: this is not what a monitor writes"):
        make(small, file)


def test_lines_are_plain_json(small: Data, tmp_path: Path) -> None:
    file = tmp_path / "new" / "run.jsonl"
    seen = make(small, file)(1, start())
    header, line = (json.loads(text) for text in file.read_text().splitlines())
    assert header["version"] == netpact.__version__
    assert header["train"] == small.train.fingerprint()
    assert seen is not None
    assert line["bounds"] == seen.bounds
    assert line["weights"] == seen.weights
    assert "epoch 1: train error" in str(seen)
    assert "figure-2 1e" in str(seen)


def test_samples_are_drawn_once(digits: Data) -> None:
    monitor = Monitor(digits, most=40, samples=2, bounds=["spec-fro"])
    again = Monitor(digits, most=40, samples=2, bounds=["spec-fro"])
    one, two = monitor(1, start()), again(1, start())
    assert one is not None
    assert two is not None
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)
    assert (one.train_error * 40) % 1 == pytest.approx(0, abs=1e-9)


def test_all_wrong_has_no_bound(small: Data) -> None:
    assert isinstance(small.train, ArraySamples)
    inputs, labels = small.train.inputs[:6], small.train.labels[:6]
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with torch.no_grad():
        module[1].weight.zero_()  # type: ignore[operator]
        module[1].bias.copy_(torch.tensor([float(k not in labels) for k in range(10)]))  # type: ignore[operator]
    data = Data("wrong", 10, ArraySamples(inputs, labels, "wrong", 10))
    seen = Monitor(data, samples=2)(1, module)
    assert seen is not None
    assert seen.train_error == 1.0
    assert seen.gamma is None
    assert set(seen.bounds.values()) == {None}
    assert seen.test_error is None
    assert seen.gap is None


def test_figure(small: Data) -> None:
    monitor = make(small, every=2)
    with pytest.raises(PactError, match="no epoch"):
        monitor.figure()
    train(start(), small.train, OPTIONS, on_epoch=monitor)
    drawn = monitor.figure().to_svg()
    assert drawn.startswith("<svg")
    assert "figure-2, rescaled" in drawn
    assert "test minus train error" in drawn
    with pytest.raises(PactError, match="allowed: spec-fro, figure-2"):
        monitor.figure("vc")


def test_rescale_fills_the_range() -> None:
    assert rescale([(1, 5.0), (2, 9.0), (3, 6.0)], 0.1, 0.5) == ((1, 0.1), (2, 0.5), (3, pytest.approx(0.2)))
    assert rescale([(1, 5.0), (2, 5.0)], 0.1, 0.5) == ((1, 0.1), (2, 0.1))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("every", 0, "every: must be an integer >= 1"),
        ("most", True, "most: must be an integer >= 1"),
        ("bounds", "figure-2", "bounds: must be a list of names"),
        ("bounds", ["figure-3"], "'figure-3' is not known"),
        ("samples", 0, "samples: must be an integer >= 1"),
        ("seed", 3, "must be a Seed"),
    ],
)
def test_bad_options(option: str, value: object, said: str, small: Data) -> None:
    with pytest.raises(PactError, match=said):
        Monitor(small, **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("epoch", [-1, True, 1.5])
def test_bad_epochs(epoch: int, small: Data) -> None:
    with pytest.raises(PactError, match="epoch: must be an integer >= 0"):
        make(small)(epoch, start())
