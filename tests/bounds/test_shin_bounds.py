"""Theorem 2 of Shin 2021 as an estimate, Proposition 1.1 beside measured errors, and noise drawn many times."""

from __future__ import annotations

import copy
import json
import math
import re
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch

from netpact.bounds import EstimateOptions, Gamma, estimate_bounds
from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, load_data
from netpact.measurements import MeasureOptions, Measures, measure
from netpact.methods import HeavyTail, compress
from netpact.models import build, parse_model
from netpact.network import Network, trace
from netpact.papers.shin.comparing import compare_with_proposition
from netpact.papers.shin.repeats import repeat_noise
from netpact.papers.shin.table import PRUNED, RECIPE, VARIANTS, TableRow, run_table1
from netpact.training import TrainOptions, error_rate, train

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data() -> Data:
    return load_data("digits", limit=300)


def images(data: Data) -> torch.Tensor:
    return torch.from_numpy(next(iter(data.train.batches(300)))[0])


@pytest.fixture(scope="module")
def network(data: Data) -> Network:
    start = build(parse_model("mlp:16", input_shape=data.input_shape, classes=10), seed=Seed(3))
    return trace(train(start, data.train, TrainOptions(epochs=8, learning_rate=0.01)).module, data)


@pytest.fixture(scope="module")
def measures(network: Network, data: Data) -> Measures:
    return measure(network, data, MeasureOptions(samples=8))


def test_theorem_2_by_hand(network: Network, data: Data, measures: Measures) -> None:
    """eps_i = eps mu_i mu_i-> / (6cd), then entries one after the other, from the smallest, while tau^2 + t fits."""
    with torch.no_grad():
        norm = float(network.module.double()(images(data).double()).norm(dim=1).max())
    network.module.float()
    eps = 0.7
    gamma = eps * math.sqrt(2) * norm
    found = estimate_bounds(
        network, data, EstimateOptions(gamma=Gamma(value=gamma)), only=["shin-2"], measures=measures
    )["shin-2"]
    contraction = max(layer.activation_contraction.value for layer in measures.layers)
    counts = []
    for place, (layer, units) in enumerate(zip(measures.layers, (16, 10), strict=True)):
        mu, ahead = layer.layer_cushion_with_bias.value, layer.min_interlayer_cushion_with_bias.value
        eps_i = eps * mu * ahead / (6 * contraction * 2)
        eta = 0.05 / (2 * 2 * 300 * (26 if place == 0 else units))
        weight = dict(network.module.named_parameters())[f"{layer.name}.weight"].detach().double().numpy()
        values = np.sort(np.abs(weight), axis=None)
        room = eps_i**2 * float((values**2).sum()) / (2 * math.log(3 / eta))
        gone = [n for n in range(1, len(values) + 1) if values[n - 1] ** 2 + float((values[:n] ** 2).mean()) <= room]
        counts.append(len(values) - max(gone, default=0))
    assert [layer.effective for layer in found.layers] == pytest.approx(counts)
    assert 0 < sum(counts) < 16 * 64 + 160, "something is replaced"
    assert math.exp(found.log_capacity) == pytest.approx(sum(counts))
    assert found.value == pytest.approx(found.margin_loss + math.sqrt(sum(counts) / 300))


def test_its_premises_are_checked(network: Network, data: Data, measures: Measures) -> None:
    found = estimate_bounds(network, data, only=["shin-2"], measures=measures)["shin-2"]
    premises = {premise.text: premise.holds for premise in found.premises}
    assert found.kind == "estimate"
    assert premises["Proposition 1.1"] is False
    assert premises["rho >= 3d"] is False
    assert premises["|W_i|_F >= 1"] is True
    assert premises["layers of one Frobenius norm (96)"] is False
    assert premises["no biases"] is False
    small = trace(_scaled(network, 0.01), data)
    other = estimate_bounds(small, data, only=["shin-2"], measures=measure(small, data, MeasureOptions(samples=4)))
    assert {premise.text: premise.holds for premise in other["shin-2"].premises}["|W_i|_F >= 1"] is False


def _scaled(network: Network, factor: float) -> torch.nn.Module:
    module = copy.deepcopy(network.module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(factor)
    return module


def test_a_larger_margin_keeps_fewer_entries(network: Network, data: Data, measures: Measures) -> None:
    found = [
        estimate_bounds(network, data, EstimateOptions(gamma=Gamma(value=gamma)), only=["shin-2"], measures=measures)
        for gamma in (0.1, 10.0, 100.0)
    ]
    capacities = [one["shin-2"].log_capacity for one in found]
    assert capacities == sorted(capacities, reverse=True)
    assert capacities[0] > capacities[-1]


@pytest.mark.parametrize("form", ["table1", "theory"])
def test_what_is_proven_of_a_layer_covers_what_is_measured(form: str, network: Network, data: Data) -> None:
    """Over draws of the noise no more than eta of the products is above; and the proven number is no idle one."""
    ratios, above = [], []
    for seed in range(4):
        report = compare_with_proposition(network, HeavyTail(form=form, layers="all", seed=seed), data, eta=0.1)
        assert [layer.name for layer in report.layers] == ["fc1", "fc2"]
        for layer in report.layers:
            ratios.append(layer.measured / layer.proven)
            above.append(layer.measured > layer.proven)
        assert (report.promise.measured <= report.promise.bounds).all()
    assert not any(above)
    assert 0.1 < statistics.median(ratios) < 0.9
    assert json.loads(json.dumps(report.to_json()))["layers"][0]["stated"] > 0
    assert "does not hold" in str(report)


def test_the_report_is_about_the_layers_that_are_split(network: Network, data: Data) -> None:
    report = compare_with_proposition(network, HeavyTail(), data)
    (layer,) = report.layers
    split = HeavyTail().split(network)["fc2.weight"]
    change = split.values - split.weights()
    inputs = torch.relu(network.module.fc1(network.module.flatten(images(data)))).detach()  # type: ignore[operator]
    errors = np.abs(inputs.double().numpy() @ change.T) / np.linalg.norm(inputs.double().numpy(), axis=1)[:, None]
    assert layer.measured == pytest.approx(float(np.quantile(errors, 0.95)), rel=1e-5)
    assert layer.exceeding == pytest.approx(float((errors > layer.stated).mean()), abs=1e-3)
    assert layer.kept == split.kept_count


class TestRepeats:
    def test_mean_and_deviation_are_those_of_the_draws(self, network: Network, data: Data) -> None:
        found = repeat_noise(network, data, repeats=4)
        assert data.test is not None
        assert found.original == 1 - error_rate(network.module, data.test)[0] / data.test.count
        assert len(set(found.accuracies)) > 1
        assert found.mean == pytest.approx(sum(found.accuracies) / 4)
        assert found.std == pytest.approx(float(np.std(found.accuracies, ddof=1)))
        later = repeat_noise(network, data, HeavyTail(seed=2), repeats=2)
        assert later.accuracies == found.accuracies[2:]
        assert "% before" in str(found)

    def test_what_a_file_holds_is_what_is_tested(self, network: Network, data: Data) -> None:
        method = HeavyTail(layers="all", bits=4)
        found = repeat_noise(network, data, method, repeats=1, rounded=True)
        assert data.test is not None
        errors, count = error_rate(seal(compress(network, method)).to_module(), data.test)
        assert found.accuracies == (1 - errors / count,)
        assert repeat_noise(network, data, HeavyTail(form="theory", t=0.0), repeats=3).std == 0

    def test_no_draws_are_refused(self, network: Network, data: Data) -> None:
        with pytest.raises(PactError, match="repeats: must be an integer >= 1"):
            repeat_noise(network, data, repeats=0)


class TestOwnNetworks:
    def test_table_1_for_networks_that_are_brought(self, network: Network, data: Data) -> None:
        seen: list[int] = []
        other = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        table = run_table1(
            {"mine": network, "module": (other, data)}, data, repeats=2, progress=lambda done, _: seen.append(done)
        )
        assert seen == [1, 2]
        mine, module = table.rows
        assert mine.variants.keys() == VARIANTS.keys()
        assert len(mine.variants[RECIPE].accuracies) == 2
        assert len(mine.variants[PRUNED].accuracies) == 1
        assert module.shape == (10, 64)
        assert mine.alpha > 1
        assert "mine" in str(table)
        again = TableRow.read(json.loads(json.dumps(table.to_json()))["rows"][0])
        assert again == mine

    def test_a_network_without_data_is_named(self, network: Network) -> None:
        with pytest.raises(PactError, match=r"mine: there are no data.*run_table1\(networks, data\)"):
            run_table1({"mine": network})
        with pytest.raises(PactError, match="networks: there are no networks"):
            run_table1({})


def test_every_test_that_the_page_names_exists() -> None:
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    text = (ROOT / "docs" / "papers" / "shin.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 10
    assert named <= known
    rows = [line for line in text.split("## Corrections")[1].split("Misprints")[0].splitlines() if line[:1] == "|"][2:]
    assert all("`test_" in row for row in rows), "each correction has its test"
