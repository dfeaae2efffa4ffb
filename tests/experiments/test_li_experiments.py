"""The experiments about tensors on digits: they run, share their networks, and say what they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from netpact.core.seed import Seed
from netpact.datasets import load_data
from netpact.experiments import EXPERIMENTS, Experiment, run_experiment
from netpact.experiments.studying import train_options
from netpact.measurements import tensor_properties
from netpact.models import parse_model
from netpact.models.architecture import parameter_count
from netpact.papers.li.bound_history import BoundHistory
from netpact.papers.li.presets import CORRUPTED, CP_VGG, CP_WRN, PRESETS, RANDOM, TRAINED, VGG, WRN
from netpact.papers.li.studying import corrupt_labels, start_by_default, study_tensors
from netpact.runs import Inline, TaskDone
from netpact.training import error_rate, train

OURS = [name for name, plan in EXPERIMENTS.items() if plan.task is study_tensors]


def test_they_share_their_networks(tmp_path: Path) -> None:
    """One test for all: what one of them has trained the next one finds, in this order."""
    figure_1 = run_experiment("li-fig1", preset="digits", seeds=1, out=tmp_path, engine=Inline())
    _check_record(figure_1)
    there = {f"digits-{one.study}-0" for one in figure_1.studies}
    for name in OURS:
        told: list[TaskDone] = []
        found = run_experiment(name, preset="digits", seeds=1, out=tmp_path, engine=Inline(), progress=told.append)
        needed = [f"digits-{study}-0" for study in EXPERIMENTS[name].studies]
        assert [done.key for done in told if not done.reused] == [key for key in needed if key not in there]
        there.update(needed)
        _check_page(found)


def _check_record(figure_1: Experiment) -> None:
    assert [one.study for one in figure_1.studies] == [VGG, CP_VGG, WRN, CP_WRN]
    assert {finding.verdict for finding in figure_1.findings} == {"not judged"}, "too small, and says so"
    vgg, cp_vgg = figure_1.chosen(VGG)[0], figure_1.chosen(CP_VGG)[0]
    assert len(vgg.layers) == len(cp_vgg.layers) == 8
    assert [one.parameters for one in vgg.layers] == [one.parameters for one in cp_vgg.layers]
    assert 0 < max(one.error for one in vgg.layers) <= 1e-3
    assert max(one.error for one in cp_vgg.layers) == 0
    assert cp_vgg.pruned[0].parameters == cp_vgg.parameters
    assert cp_vgg.pruned[-1].message_bytes < cp_vgg.pruned[0].message_bytes
    assert vgg.pruned == vgg.properties == ()


def _check_page(found: Experiment) -> None:
    page = found.page.read_text()
    assert all(finding.claim.split(" (")[0] in page for finding in found.findings)
    assert "Li et al. 2020" in page
    assert "<svg" in page or "<table>" in page


def test_half_of_the_labels_are_others() -> None:
    data = load_data("digits")
    noisy = corrupt_labels(data, Seed(0))
    changed = (noisy.train.labels != data.train.labels).mean()  # type: ignore[attr-defined]
    assert 0.45 < changed < 0.55
    assert noisy.test is data.test


def test_a_random_network_keeps_its_weights() -> None:
    """Its batch norm has seen the data; its weights have not moved by more than rounding shows."""
    data = load_data("digits", limit=100)
    case = PRESETS["digits"].cases[RANDOM]
    options = train_options(case, Seed(0))
    start = start_by_default(case, data, Seed(0))
    trained = train(start, data.train, options).module
    for (name, one), other in zip(start.named_parameters(), trained.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-4), name
    assert not torch.equal(
        start.state_dict()["conv1_norm.running_mean"], trained.state_dict()["conv1_norm.running_mean"]
    )


@pytest.mark.parametrize("preset", list(PRESETS))
def test_presets_pair_networks_of_equal_size(preset: str) -> None:
    cases = PRESETS[preset].cases
    shape = (3, 32, 32) if preset == "full" else (1, 28, 28)
    for dense, cp in ((VGG, CP_VGG), (WRN, CP_WRN)):
        sizes = [parameter_count(parse_model(cases[name].model, input_shape=shape, classes=10)) for name in (dense, cp)]
        assert 0.95 < sizes[1] / sizes[0] <= 1, "the largest ranks with at most as many parameters"
        assert replace(cases[dense], model="", every=0) == replace(cases[cp], model="", every=0), "trained alike"
    assert replace(cases[CORRUPTED], every=0) == replace(cases[TRAINED], every=0)
    assert cases[RANDOM].least == 0


def test_the_bound_over_training_survives_a_kill(tmp_path: Path) -> None:
    data = load_data("digits", limit=60)
    case = PRESETS["digits"].cases[TRAINED]
    module = start_by_default(case, data, Seed(0)).train()
    own = BoundHistory(tmp_path / "run.watch", data, every=2)
    for epoch in (1, 2, 3):
        own(epoch, module)
    assert [point.epoch for point in own.points] == [1, 2]
    assert module.training
    again = BoundHistory(tmp_path / "run.watch", data, every=2)
    assert again.points == own.points
    again(4, module)
    assert [point.epoch for point in again.points] == [1, 2, 4]
    errors, count = error_rate(module, data.train)
    assert own.points[0].train_error == pytest.approx(errors / count)
    assert own.points[0].samples == count == 60
    weights = sum(layer.components.parameters for layer in tensor_properties(module.eval(), data).layers)
    assert 0 < own.points[0].printed <= own.points[0].valid <= weights
