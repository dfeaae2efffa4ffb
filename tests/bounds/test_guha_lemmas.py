"""Lemmas 4.1 to 4.4, C.3 and C.4 beside measured errors: simulation, slow formulas, and the valid form as a law."""

from __future__ import annotations

import copy
import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from bounds.bound_examples import chain, some_data
from numpy.typing import NDArray
from torch import nn

from netpact import PactError, RandomPrune, compare_with_pruning_lemmas, compress, seal, trace
from netpact.papers.guha.lemmas import (
    PruningLemmaOptions,
    PruningLemmaReport,
    input_factor,
    log_output_error,
    log_valid_error,
    norm_of_pruned,
)
from netpact.papers.guha.moments import expected_moments, kurtosis, normal_moments, weight_variance
from netpact.papers.guha.pruned import prune_matrices, round_matrices

Matrix = NDArray[np.float64]
SCALES = (0.05, 1.0, 8.0)


def draw_network(seed: int, *, biases: bool, depth: int = 3) -> nn.Sequential:
    random = np.random.default_rng(seed)
    widths = [*(int(one) for one in random.integers(6, 20, depth)), 3]
    matrices = [random.normal(0, 1 / math.sqrt(a), (b, a)) for a, b in pairwise(widths)]
    offsets = tuple(random.normal(0, 0.5, len(matrix)) for matrix in matrices) if biases else ()
    return chain(*matrices, biases=offsets)


def draw_data(network: nn.Sequential, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    first = network[0]
    assert isinstance(first, nn.Linear)
    x = np.random.default_rng(seed).normal(size=(15, first.in_features)).astype(np.float32)
    return x, np.arange(15) % 3


@pytest.mark.parametrize("scale", SCALES)
def test_lemma_4_1_by_simulation(scale: float) -> None:
    """Two million normal weights of variance 0.04, pruned: moments within five standard errors, and not further."""
    random = np.random.default_rng(1)
    w = random.normal(0, 0.2, 2_000_000)
    delta = np.where(random.random(w.size) < np.exp(-(w**2) / (scale * 0.04)), -w, 0.0)
    found = normal_moments(scale=scale, variance=0.04)
    for numbers, said in ((delta == 0, found.kept), (delta**2, found.second), (delta**4, found.fourth)):
        error = float(np.std(numbers)) / math.sqrt(w.size)
        assert abs(float(np.mean(numbers)) - said) < 5 * error
        assert error < 0.02 * said, "or it would hold of any number"
    assert abs(delta.mean()) < 5 * float(delta.std()) / math.sqrt(w.size)


def test_moments_of_given_weights_by_loops() -> None:
    weight = np.random.default_rng(0).laplace(0.1, 0.3, (7, 5))
    variance = sum((w - weight.mean()) ** 2 for w in weight.flat) / 35
    pruned = [math.exp(-(w**2) / (0.7 * variance)) for w in weight.flat]
    found = expected_moments(torch.from_numpy(weight), scale=0.7)
    assert found.kept == pytest.approx(1 - sum(pruned) / 35)
    assert found.second == pytest.approx(sum(p * w**2 for p, w in zip(pruned, weight.flat, strict=True)) / 35)
    assert found.fourth == pytest.approx(sum(p * w**4 for p, w in zip(pruned, weight.flat, strict=True)) / 35)
    assert weight_variance(torch.from_numpy(weight)) == pytest.approx(variance)
    fourth = sum((w - weight.mean()) ** 4 for w in weight.flat) / 35
    assert kurtosis(torch.from_numpy(weight)) == pytest.approx(fourth / variance**2)


def test_moments_of_normal_weights_are_those_of_the_lemma() -> None:
    weight = torch.from_numpy(np.random.default_rng(3).normal(0, 0.5, (1200, 1200)))  # more than one block
    found, said = expected_moments(weight, scale=2.0), normal_moments(scale=2.0, variance=0.25)
    assert (found.kept, found.second, found.fourth) == pytest.approx((said.kept, said.second, said.fourth), rel=0.01)


def test_extreme_scales_have_no_cancellation() -> None:
    assert normal_moments(scale=1e18, variance=1.0).kept == pytest.approx(1e-18)
    assert normal_moments(scale=1e-18, variance=1.0).kept == pytest.approx(1.0)


def test_lemma_4_2_by_its_formula() -> None:
    d, psi, rows, columns = 3.0, 0.2, 8, 5
    slow = math.sqrt(d**1.5 * psi / (d + 2) ** 1.5) * (math.sqrt(rows) + math.sqrt(columns))
    slow += (3 * rows * columns * d**2.5 * psi**2 / (d + 2) ** 2.5) ** 0.25
    found = norm_of_pruned(rows=rows, columns=columns, variance=psi, scale=d, constant=2.0)
    assert found == pytest.approx(2 * slow)


def test_kappa_by_its_definition() -> None:
    found = input_factor(rows=50, columns=20, samples=1000, failure=0.02, a=2.0, b=0.25)
    t = found / math.sqrt(20)
    assert 1000 * 2.0 * math.exp(-0.25 * t**2 * 50) == pytest.approx(0.02)
    assert input_factor(rows=20, columns=50, samples=1000, failure=0.02) == 1


@pytest.mark.parametrize("biases", [False, True])
def test_the_valid_form_is_a_law(biases: bool) -> None:
    """measured <= deviation bound <= valid form, with biases or without; and neither is far away."""
    ratios, shares = [], []
    for seed in range(5):
        network = draw_network(seed, biases=biases)
        data = draw_data(network, seed)
        for scale in SCALES:
            report = compare_with_pruning_lemmas(network, scale, data, PruningLemmaOptions(step=0.05, seed=seed))
            assert 0 < report.error <= report.deviation.bounds.max() <= report.valid
            ratios.append(report.error / report.valid)
            shares.append(report.deviation.bounds.max() / report.valid)
    assert np.median(ratios) > 0.02
    assert np.median(shares) > 0.2


@torch.no_grad()
def test_the_valid_form_by_loops() -> None:
    network = draw_network(2, biases=True)
    x, y = draw_data(network, 2)
    report = compare_with_pruning_lemmas(network, 1.0, (x, y), PruningLemmaOptions(step=0.1))
    names = [layer.name for layer in report.layers]
    other = round_matrices(prune_matrices(network, scale=1.0, seed=0, names=names), dict.fromkeys(names, 0.1))
    layers, others = ([one for one in each if isinstance(one, nn.Linear)] for each in (network, other.children()))
    matrices = [(one.weight.double(), two.weight.double()) for one, two in zip(layers, others, strict=True)]
    biases = [one.bias.double() for one in layers]
    found = []
    for row in torch.from_numpy(x):
        h, total = row.double(), 0.0
        for place, (matrix, changed) in enumerate(matrices):
            moved = float(torch.linalg.matrix_norm(changed - matrix, 2) * h.norm())
            for a, b in matrices[place + 1 :]:
                moved *= float(torch.linalg.matrix_norm(a, 2) + torch.linalg.matrix_norm(b - a, 2))
            total += moved
            h = torch.relu(matrix @ h + biases[place])
        found.append(total)
    assert report.valid == pytest.approx(max(found), rel=1e-4)


def test_the_printed_lemmas_by_their_formulas() -> None:
    network = draw_network(4, biases=False)
    data = draw_data(network, 4)
    report = compare_with_pruning_lemmas(network, 0.5, data, PruningLemmaOptions(step=0.02, delta=0.1))
    norms = [layer.norm for layer in report.layers]
    product, inputs = math.prod(norms), data[0].shape[1]
    eps = len(norms) / 0.1
    changes = [
        eps * norm_of_pruned(rows=one.rows, columns=one.columns, variance=one.variance, scale=0.5)
        for one in report.layers
    ]
    assert report.expected == pytest.approx(changes)
    rounded = [one + 0.02 * layer.nonzeros for one, layer in zip(changes, report.layers, strict=True)]
    kappa = math.prod(
        input_factor(rows=one.rows, columns=one.columns, samples=15, failure=0.1 / 3) for one in report.layers
    )
    for name, sizes, factor in (
        ("4.3", changes, 1),
        ("4.4", rounded, 1),
        ("C.3", changes, kappa),
        ("C.4", rounded, kappa),
    ):
        slow = math.e * inputs * product * factor * sum(a / b for a, b in zip(sizes, norms, strict=True))
        assert report.lemma(name).bound == pytest.approx(slow), name
    assert not any(one.violated for one in report.printed)
    assert report.lemma("4.3").failure == 0.1
    assert report.lemma("C.4").failure == 0.2


def test_masks_are_those_of_the_method_and_nested() -> None:
    network = draw_network(5, biases=True)
    data = draw_data(network, 5)
    report = compare_with_pruning_lemmas(network, 2.0, data, PruningLemmaOptions(seed=7))
    compressed = compress(trace(network, data), RandomPrune(scale=2.0, seed=7, bits=12))
    decoded = compare_with_pruning_lemmas(network, compressed, data)
    assert [one.nonzeros for one in decoded.layers] == [one.nonzeros for one in report.layers]
    more = compare_with_pruning_lemmas(network, 4.0, data, PruningLemmaOptions(seed=7))
    assert all(one.nonzeros <= two.nonzeros for one, two in zip(more.layers, report.layers, strict=True))


def test_a_file_has_lemma_b_2_and_its_biases(tmp_path: Path) -> None:
    network = draw_network(6, biases=True)
    data = draw_data(network, 6)
    path = tmp_path / "pruned.pact"
    seal(compress(trace(network, data), RandomPrune(scale=1.0, bits=4))).write(path)
    report = compare_with_pruning_lemmas(network, path, data)
    assert [one.name for one in report.printed] == ["B.2"]
    assert report.scale is None
    assert report.expected == ()
    assert any(layer.shift > 0 for layer in report.layers), "biases are rounded in the file"
    assert 0 < report.error <= report.deviation.bounds.max() <= report.valid
    assert "another network" in str(report)


def test_moved_biases_are_in_the_valid_form() -> None:
    """At x = 0, with the weights as they were: nothing else is left of it."""
    network = draw_network(3, biases=True)
    x, y = draw_data(network, 3)
    other = copy.deepcopy(network)
    with torch.no_grad():
        for part in other:
            if isinstance(part, nn.Linear):
                part.bias.add_(0.5)
    report = compare_with_pruning_lemmas(network, other, (np.zeros_like(x), y))
    assert 0 < report.error <= report.deviation.bounds.max() <= report.valid
    assert report.error > 0.05 * report.valid


def test_report_in_text_and_json(report: PruningLemmaReport) -> None:
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "Lemma 4.3",
        "Lemma C.4",
        "deviation bound",
        "(estimate, C = 1, wrong with probability 0.05)",
        "no biases: fails",
    ):
        assert words in text
    told = json.loads(json.dumps(report.to_json()))
    assert told["error"] == report.error
    assert [one["lemma"] for one in told["printed"]] == ["4.3", "4.4", "C.3", "C.4"]
    assert {one["kind"] for one in told["printed"]} == {"estimate"}


@pytest.fixture(scope="module")
def report() -> PruningLemmaReport:
    network = draw_network(8, biases=True)
    return compare_with_pruning_lemmas(network, 1.0, draw_data(network, 8))


def test_wrong_arguments(report: PruningLemmaReport) -> None:
    data = some_data(inputs=4, classes=3, count=6)
    network = chain(np.eye(3, 4) + 0.1)
    for pruned in (0.0, -1.0, math.nan):
        with pytest.raises(PactError, match="must be a finite number > 0"):
            compare_with_pruning_lemmas(network, pruned, data)
    for wrong in (None, True, [1.0]):
        with pytest.raises(PactError, match="the d of Algorithm 1"):
            compare_with_pruning_lemmas(network, wrong, data)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="PruningLemmaOptions"):
        compare_with_pruning_lemmas(network, 1.0, data, {"step": 1})  # type: ignore[arg-type]
    for name in ("constant", "a", "b"):
        with pytest.raises(PactError, match=name):
            PruningLemmaOptions(**{name: 0.0})  # type: ignore[arg-type]
    with pytest.raises(PactError, match="step"):
        PruningLemmaOptions(step=-1.0)
    with pytest.raises(PactError, match="allowed"):
        report.lemma("4.5")
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).eval()
    images = (np.random.default_rng(0).random((6, 1, 4, 4)).astype(np.float32), np.arange(6) % 3)
    with pytest.raises(PactError, match="not linear"):
        compare_with_pruning_lemmas(conv, 1.0, images)
    with pytest.raises(PactError, match="variance"):
        expected_moments(torch.ones(3, 3), scale=1.0)
    with pytest.raises(PactError, match="one number for each"):
        log_output_error(norms=[1.0], changes=[1.0, 2.0], lipschitz=[1.0], input_size=1.0)
    with pytest.raises(PactError, match="a row for each"):
        log_valid_error(report.layers, np.ones((1, 4)))
