"""run_experiment on digits: what is written, what is not done twice, what is said about the setting."""

from __future__ import annotations

import html
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.experiments import (
    Experiment,
    Forecast,
    Plan,
    Preset,
    Setting,
    run_experiment,
)
from netpact.experiments import running as running_module
from netpact.experiments.forecasting import forecast_training
from netpact.experiments.pages import render_experiment
from netpact.experiments.presets import choose_data
from netpact.experiments.studying import draw_gaussian, open_data, start_network, train_options
from netpact.monitoring import Monitor
from netpact.papers.arora.layer_study import LayerStudy
from netpact.papers.arora.presets import ALEXNET, PRESETS, SHUFFLED, VGG
from netpact.papers.arora.studying import shuffle_labels, study_network
from netpact.runs import Inline, TaskDone
from netpact.training import PAPER_RECIPES

ARORA = ("arora-fig1", "arora-fig2", "arora-table1", "arora-corrupted")


def alexnets(**changed: Any) -> Preset:
    """The preset digits with other AlexNets."""
    digits = PRESETS["digits"]
    case = replace(digits.cases[ALEXNET], **changed)
    return replace(digits, cases={**digits.cases, ALEXNET: case, SHUFFLED: case})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def figure_2(folder: Path) -> Experiment:
    return run_experiment("arora-fig2", preset="digits", seeds=1, out=folder, engine=Inline())


def test_record(figure_2: Experiment) -> None:
    assert [one.study for one in figure_2.studies] == [VGG, ALEXNET, SHUFFLED]
    assert {finding.verdict for finding in figure_2.findings} == {"not judged"}, "too small, and says so"
    record = figure_2.to_json()
    assert record["version"] == running_module.__version__
    assert record["seeds"] == [0]
    assert record["data"] == "digits"
    vgg, alexnet, shuffled = (figure_2.chosen(name)[0] for name in (VGG, ALEXNET, SHUFFLED))
    data = open_data("digits", limit=PRESETS["digits"].cases[ALEXNET].limit, tested=200)
    assert alexnet.fingerprint == data.train.fingerprint() != shuffled.fingerprint
    assert [one.epoch for one in vgg.epochs] == [1, 5, 10]
    assert vgg.epochs[-1].train_error == pytest.approx(1 - vgg.train_accuracy)
    assert vgg.random[0].name == vgg.layers[0].name
    assert vgg.bounds.keys() == {"figure-2", "l1-inf", "frobenius", "spec-l1-2", "spec-fro", "parameters", "vc"}
    assert "below the 90" in str(figure_2)


@pytest.mark.parametrize("name", ARORA)
def test_the_others_share_its_networks(name: str, figure_2: Experiment, folder: Path) -> None:
    told: list[TaskDone] = []
    forecasts: list[Forecast] = []
    found = run_experiment(name, preset="digits", seeds=1, out=folder, announce=forecasts.append, progress=told.append)
    assert told
    assert all(done.reused for done in told)
    assert str(forecasts[0]) == "all networks are trained and measured already"
    page = found.page.read_text()
    assert page.count("<svg") == {"arora-fig1": 8, "arora-fig2": 8, "arora-table1": 0, "arora-corrupted": 4}[name]
    for finding in found.findings:
        assert html.escape(finding.rule) in page
    assert not re.search(r'(src|href)="', page), "self-contained"
    for word in ("sha256:", "netpact experiment", found.version, "not judged", "training accuracy"):
        assert word in page


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_after_one(done: TaskDone) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Plan, "preset", lambda self, name: alexnets(epochs=2, limit=50))
    with pytest.raises(KeyboardInterrupt):
        run_experiment(
            "arora-corrupted", preset="digits", seeds=1, out=tmp_path, engine=Inline(), progress=stop_after_one
        )
    told: list[TaskDone] = []
    forecasts: list[Forecast] = []
    run_experiment(
        "arora-corrupted",
        preset="digits",
        seeds=1,
        out=tmp_path,
        engine=Inline(),
        announce=forecasts.append,
        progress=told.append,
    )
    assert [done.reused for done in told] == [True, False]
    assert forecasts[0].networks == 1
    assert forecasts[0].seconds > 0


def test_a_kill_in_training_costs_one_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task itself goes on from its checkpoint, and gives what an unbroken one gives."""
    case = replace(PRESETS["digits"].cases[ALEXNET], epochs=3, limit=50, every=1, jacobians=2)
    setting = Setting(
        study=SHUFFLED,
        data="digits",
        fingerprint=open_data("digits", limit=50, tested=40).train.fingerprint(),
        tested=40,
        case=case,
        seed=1,
        out=str(tmp_path / "whole"),
    )
    broken_run = asdict(replace(setting, out=str(tmp_path / "broken")))
    whole = LayerStudy.read(study_network(setting=asdict(setting)))
    look = Monitor.__call__

    def die_in_third(self: Monitor, epoch: int, module: torch.nn.Module) -> object:
        if epoch == 3:
            raise KeyboardInterrupt
        return look(self, epoch, module)

    with monkeypatch.context() as broken:
        broken.setattr(Monitor, "__call__", die_in_third)
        with pytest.raises(KeyboardInterrupt):
            study_network(setting=broken_run)
    epochs: list[int] = []

    def note(self: Monitor, epoch: int, module: torch.nn.Module) -> object:
        epochs.append(epoch)
        return look(self, epoch, module)

    monkeypatch.setattr(Monitor, "__call__", note)
    found = LayerStudy.read(study_network(setting=broken_run))
    assert epochs == [3]
    timeless = [replace(one, epochs=tuple(replace(seen, seconds=0.0) for seen in one.epochs)) for one in (found, whole)]
    assert timeless[0] == timeless[1]


def test_files_of_another_setting_are_not_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for epochs in (2, 1):
        monkeypatch.setattr(Plan, "preset", lambda self, name, epochs=epochs: alexnets(epochs=epochs, limit=50))
        run_experiment("arora-corrupted", preset="digits", seeds=1, out=tmp_path, engine=Inline())
    assert len(list((tmp_path / "networks-digits").glob("alexnet-0-*.checkpoint"))) == 2


def test_shuffled_labels_are_the_same_labels_in_another_order(digits: Data) -> None:
    shuffled = shuffle_labels(digits, Seed(0))
    assert isinstance(digits.train, ArraySamples)
    assert isinstance(shuffled.train, ArraySamples)
    assert np.array_equal(np.sort(digits.train.labels), np.sort(shuffled.train.labels))
    assert np.mean(digits.train.labels == shuffled.train.labels) < 0.2
    assert shuffled.test is digits.test
    assert shuffle_labels(digits, Seed(0)).train.fingerprint() == shuffled.train.fingerprint()
    assert shuffle_labels(digits, Seed(1)).train.fingerprint() != shuffled.train.fingerprint()


def test_random_network_has_the_scale_of_he(digits: Data) -> None:
    start = start_network(PRESETS["quick"].cases[ALEXNET], replace(digits, name="digits"), Seed(3))
    before = [parameter.clone() for parameter in start.parameters()]
    drawn = draw_gaussian(start, Seed(4))
    weight = drawn.get_parameter("conv3.weight")
    assert float(weight.detach().var()) == pytest.approx(2 / weight[0].numel(), rel=0.05)
    assert not drawn.get_parameter("conv3.bias").any()
    assert all(torch.equal(one, other) for one, other in zip(before, start.parameters(), strict=True))


def test_full_is_the_setting_of_the_paper() -> None:
    for case in PRESETS["full"].cases.values():
        options = train_options(case, Seed(0))
        assert replace(options, seed=PAPER_RECIPES["arora-vgg"].options.seed) == PAPER_RECIPES["arora-vgg"].options
        assert options.epochs == 299
        assert case.limit == 0
    assert PRESETS["full"].cases[VGG].model == "vgg:19-64-1"
    assert PRESETS["full"].data == ("cifar10",)


def test_forecast_grows_with_the_work(digits: Data) -> None:
    case = PRESETS["digits"].cases[ALEXNET]
    once = forecast_training([(case, digits)])
    longer = forecast_training([(replace(case, epochs=case.epochs * 50), digits)])
    assert longer.seconds > 5 * once.seconds
    assert str(Forecast(3 * 86400, 3)) == "3 networks to train: about 3 days on this machine; measuring comes on top"
    assert "about 5 hours" in str(Forecast(5 * 3600, 1))


def test_the_first_data_set_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = PRESETS["quick"]
    monkeypatch.setenv("NETPACT_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    assert choose_data(quick.data, None) == "digits"
    (tmp_path / "mnist.npz").touch()
    assert choose_data(quick.data, tmp_path) == str(tmp_path / "mnist.npz")
    monkeypatch.setenv("NETPACT_DATA", str(tmp_path))
    assert choose_data(quick.data, None) == "mnist"
    (tmp_path / "cifar10.npz").touch()
    assert choose_data(quick.data, None) == "cifar10"


def test_what_stands_in_is_said() -> None:
    assert (
        PRESETS["quick"]
        .note("digits")
        .endswith("The data are digits. cifar10 was not found on this machine, so digits stands in for it.")
    )
    assert "stands in" not in PRESETS["quick"].note("cifar10")


def test_names_in_a_page_are_escaped(figure_2: Experiment) -> None:
    page = render_experiment(replace(figure_2, note="<script>", command="a & b"), [], about="<b>")
    assert page.count("<script") == 1, "the page's own"
    assert "a &amp; b" in page


@pytest.mark.parametrize(
    ("name", "preset", "seeds", "said"),
    [
        ("arora-fig9", "digits", 1, "allowed: .*arora-fig1"),
        ("arora-fig1", "slow", 1, "allowed: quick, full, digits"),
        ("arora-fig1", "digits", 0, "seeds: must be an integer >= 1"),
        ("arora-fig1", "digits", True, "seeds: must be an integer >= 1"),
    ],
)
def test_bad_input(name: str, preset: str, seeds: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(PactError, match=said):
        run_experiment(name, preset=preset, seeds=seeds, out=tmp_path)
    with pytest.raises(PactError, match="data_dir"):
        run_experiment("arora-fig1", preset="digits", out=tmp_path, data_dir=tmp_path / "none")
    assert not any(tmp_path.iterdir()), "bad input dies before anything is made"
