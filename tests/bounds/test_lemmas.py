"""A compressed network beside the lemmas: accuracies by hand, laws by simulation, premises by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from bounds.bound_examples import chain, make_layer, make_stability
from bounds.sign_projection import Matrix, project, run_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from torch import nn

from netpact.algebra.projection import valid_count
from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.datasets import Data, as_data
from netpact.layers import Residual
from netpact.measurements import MeasureOptions, find_structure, measure
from netpact.methods import Quantize, RandomProjection, compress
from netpact.network import trace
from netpact.papers.arora.facts import read_stability
from netpact.papers.arora.lemma_3 import accuracy_for_gamma, failure_shares, log_printed_parameters
from netpact.papers.arora.lemmas import LemmaReport, compare_with_lemmas
from netpact.papers.arora.lemmas.accuracy import (
    filter_accuracy,
    log_amplifications,
    log_layer_counts,
    printed_accuracy,
    valid_accuracy,
)
from netpact.papers.arora.stability import Stability

LINEAR = make_layer(cushion=0.5, interlayer=0.25, units=3)
WIDE = make_layer(cushion=0.8, interlayer=0.5, contraction=2.0, units=2, well_distributed=3.0, overlap=9)
ALL = MeasureOptions(samples=10**6)


def as_samples(inputs: Matrix) -> Data:
    return as_data((inputs.astype(np.float32), np.arange(len(inputs)) % 2), classes=2)


def read(matrices: list[Matrix], inputs: Matrix) -> Stability:
    data = as_samples(inputs)
    network = trace(chain(*matrices), data)
    structure = find_structure(network, _batch(data))
    return read_stability(measure(network, data, ALL), structure)


def _batch(data: Data) -> torch.Tensor:
    return torch.from_numpy(next(iter(data.train.batches(2)))[0])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(eps=st.floats(0.01, 1.0), eta=st.floats(1e-9, 0.5))
def test_accuracy_is_the_inverse_of_the_valid_count(eps: float, eta: float) -> None:
    count = valid_count(eps=eps, eta=eta)
    assert valid_accuracy(count=count, eta=eta) <= eps * (1 + 1e-9)
    if count > 1:
        assert valid_accuracy(count=count - 1, eta=eta) > eps * (1 - 1e-9)


def test_too_few_matrices_have_no_proven_accuracy() -> None:
    """At eps = 1 the exponent is k/12."""
    assert valid_accuracy(count=math.ceil(12 * math.log(400)), eta=0.01) <= 1
    assert valid_accuracy(count=math.floor(12 * math.log(400)), eta=0.01) == math.inf


def test_amplifications_by_hand() -> None:
    """6 c d beta_i / (mu_i mu_i->) with c = 2, d = 2."""
    found = np.exp(log_amplifications(make_stability(LINEAR, WIDE)))
    assert found == pytest.approx([24 / (0.5 * 0.25), 24 * 3 / (0.8 * 0.5)])


def test_counts_of_the_layers_by_hand() -> None:
    """A convolution's accuracy is divided by beta = 3 and by ceil(kappa/s) = 3."""
    stability = make_stability(LINEAR, WIDE)
    shares = failure_shares(stability, samples=7, delta=0.1)
    found = np.exp(log_layer_counts(stability, samples=7, eps=0.5, delta=0.1))
    accuracies = [0.5 * 0.5 * 0.25 / 24, 0.5 * 0.8 * 0.5 / (24 * 3 * 3)]
    assert found == pytest.approx([valid_count(eps=e, eta=s) for e, s in zip(accuracies, shares, strict=True)])


def test_printed_accuracy_is_that_of_the_printed_count() -> None:
    """With one layer of k = the printed total, its eps comes back."""
    stability = make_stability(LINEAR)
    count = round(math.exp(log_printed_parameters(stability, samples=7, eps=0.3, delta=0.1)))
    found = printed_accuracy(stability, count=count, samples=7, delta=0.1) * math.exp(log_amplifications(stability)[0])
    assert found == pytest.approx(0.3, rel=1e-4)


def test_accuracy_of_filters_by_hand() -> None:
    """k = ceil(kappa/s)^2 log^2(1/eta) / eps^2, Q = 1: 9 * log(100)^2 / 0.25."""
    count = math.ceil(9 * math.log(100) ** 2 / 0.25)
    assert filter_accuracy(WIDE, count=count, eta=0.01) == pytest.approx(0.5, rel=1e-2)


def test_accuracy_for_a_margin() -> None:
    """gamma / (sqrt 2 max|f|), never above 1."""
    assert accuracy_for_gamma(0.6, output_norm=3.0) == pytest.approx(0.2 / math.sqrt(2))
    assert accuracy_for_gamma(90.0, output_norm=3.0) == 1.0
    assert accuracy_for_gamma(0.1, output_norm=0.0) == 1.0


@pytest.mark.parametrize("count", [0, True, 2.0])
def test_counts_are_whole_numbers(count: int) -> None:
    with pytest.raises(PactError, match="count: must be an integer >= 1"):
        valid_accuracy(count=count, eta=0.1)


def draw(matrices: list[Matrix], counts: list[int], generator: np.random.Generator) -> list[Matrix]:
    return [project(a, count=k, generator=generator) for a, k in zip(matrices, counts, strict=True)]


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_law_counts_for_an_accuracy_of_the_outputs_keep_it(seed: int) -> None:
    """Chains without biases: |f - f^| <= eps |f| on all samples in at least 1 - delta/2 of the draws."""
    generator = np.random.default_rng(seed)
    matrices = [generator.standard_normal(shape) for shape in ((3, 2), (3, 3), (2, 3))]
    inputs, eps, delta = generator.uniform(0.2, 1.0, (3, 2)), 0.5, 0.2
    logs = log_layer_counts(read(matrices, inputs), samples=3, eps=eps, delta=delta)
    assert max(logs) < math.log(1e15), "a dead sample: take another seed"
    exact = run_chain(matrices, inputs)[-1]

    def failures(counts: list[int], draws: int) -> int:
        errors = (run_chain(draw(matrices, counts, generator), inputs)[-1] - exact for _ in range(draws))
        return sum(bool((np.linalg.norm(e, axis=1) > eps * np.linalg.norm(exact, axis=1)).any()) for e in errors)

    found = failures([round(math.exp(one)) for one in logs], 150)
    assert binomtest(found, 150, delta / 2, alternative="greater").pvalue > 0.01
    few = failures([3, 3, 3], 50)
    assert binomtest(few, 50, delta / 2, alternative="greater").pvalue < 1e-6, "the law can fail"


@pytest.mark.parametrize("seed", [1, 2])
def test_report_gives_the_accuracy_back_that_the_counts_are_for(seed: int) -> None:
    generator = np.random.default_rng(seed)
    matrices = [generator.standard_normal(shape) for shape in ((3, 2), (2, 3))]
    inputs = generator.uniform(0.2, 1.0, (3, 2))
    logs = log_layer_counts(read(matrices, inputs), samples=3, eps=0.5, delta=0.2)
    counts = [round(math.exp(one)) for one in logs]
    rough = chain(*draw(matrices, counts, generator))
    data, told = as_samples(inputs), {"0": counts[0], "2": counts[1]}
    exact = chain(*matrices)
    report = compare_with_lemmas(exact, rough, data, measure(exact, data, ALL), counts=told, delta=0.2)
    lemma = {row.name: row for row in report.lemmas}
    assert lemma["lemma-3"].eps == pytest.approx(0.5, rel=1e-6)
    assert lemma["lemma-3-printed"].eps < lemma["lemma-3"].eps
    assert report.relative_error <= 0.5
    assert (report.promise.measured <= report.promise.promised).all()
    assert [layer.count for layer in report.layers] == counts


def test_measured_numbers_by_loops() -> None:
    generator = np.random.default_rng(4)
    first = [generator.standard_normal(shape) for shape in ((3, 2), (2, 3))]
    second = [matrix + 0.1 * generator.standard_normal(matrix.shape) for matrix in first]
    inputs = generator.uniform(0.2, 1.0, (5, 2))
    report = compare_with_lemmas(chain(*first), chain(*second), as_samples(inputs))
    norm = np.linalg.norm
    outputs = list(zip(run_chain(first, inputs), run_chain(second, inputs), strict=True))
    for layer, (a, b), (x, y) in zip(report.layers, zip(first, second, strict=True), outputs, strict=True):
        assert layer.change == pytest.approx(norm(a - b) / norm(a), rel=1e-5)
        worst = max(norm(one - other) / norm(one) for one, other in zip(x, y, strict=True))
        assert layer.output_change == pytest.approx(worst, rel=1e-4)
        assert layer.count is layer.product_error is None
    assert report.relative_error == pytest.approx(report.layers[-1].output_change, rel=1e-4)
    # Not projected: eps_i = |A^ - A|_op / |A|_F, without probability.
    stability = read(first, inputs)
    shares = [norm(a - b, 2) / norm(a) for a, b in zip(first, second, strict=True)]
    expected = max(np.exp(log_amplifications(stability)) * shares)
    assert report.lemmas[0].eps == pytest.approx(expected, rel=1e-4)


def biased_case() -> tuple[LemmaReport, float]:
    """One layer whose bias takes almost all of A h away, with the k for which Lemma 3 as printed has eps = 1."""
    matrix, x = np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([[0.7, 0.5]])
    bias = 0.0005 - (x @ matrix.T)[0]
    exact = chain(matrix, biases=(bias,))
    data = as_samples(x)
    mu = float(np.linalg.norm(x @ matrix.T) / (np.linalg.norm(matrix) * np.linalg.norm(x)))
    count = math.ceil(2 * math.log(1 * 1 * 2 / 0.05) * (6 * math.sqrt(2) / mu) ** 2)
    rough = chain(project(matrix, count=count, generator=np.random.default_rng(5)), biases=(bias,))
    report = compare_with_lemmas(exact, rough, data, measure(exact, data, ALL), counts={"0": count})
    return report, float(np.linalg.norm(x @ matrix.T + bias))


def test_with_biases_the_printed_lemma_is_violated_and_the_premise_named() -> None:
    report, norm = biased_case()
    valid, printed = report.lemmas
    assert printed.eps == pytest.approx(1.0, abs=1e-3)
    assert printed.eps <= 1
    assert report.relative_error > 50
    assert report.promise.measured[0] > 50 * norm
    assert [premise.text for premise in printed.failing] == ["cushions of outputs with bias, where there are biases"]
    assert printed.output_error is None
    assert valid.eps > report.relative_error
    assert [premise.text for premise in valid.failing] == ["eps <= 1"]
    assert "cushions of outputs with bias, where there are biases: fails" in str(report)


def small_mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


def small_conv() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(16, 10, bias=False)
    )


def few(digits: Data, count: int = 24) -> Data:
    inputs, labels = next(iter(digits.train.batches(count)))
    return as_data((inputs, labels), classes=10)


@pytest.mark.parametrize(("make", "variant"), [(small_mlp, "signs"), (small_mlp, "hadamard"), (small_conv, "signs")])
def test_a_projected_network(make: Callable[[], nn.Module], variant: str, digits: Data) -> None:
    """Every number has its kind in words, the table fits, and measured <= promised."""
    data = few(digits)
    network = trace(make(), data)
    pact = seal(compress(network, RandomProjection(keep=0.6, variant=variant)))
    report = compare_with_lemmas(network, pact, data)
    assert (report.promise.measured <= report.promise.promised).all()
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80
    assert all(word in text for word in ("measured", "deviation bound", "estimate"))
    record = report.to_json()
    json.dumps(record, allow_nan=False)
    assert {row["kind"] for row in record["estimates"]} == {"estimate"}  # type: ignore[attr-defined]
    assert record["promise"]["kind"] == "promise"  # type: ignore[index]
    failing = {premise.text for lemma in report.lemmas for premise in lemma.failing}
    assert ("independent signs in every projected layer" in failing) == (variant == "hadamard")
    assert "rho >= 3d" in failing
    assert "the biases are encoded exactly" in failing
    assert [layer.count for layer in report.layers] == [round(0.6 * layer.weights) for layer in report.layers]
    if make is small_conv:
        assert [lemma.name for lemma in report.lemmas] == ["lemma-14"]
        assert "p-wise independent errors (Lemma 12)" in failing
        assert report.layers[0].filter_error is not None
        assert report.layers[1].filter_error is None
    else:
        assert [lemma.name for lemma in report.lemmas] == ["lemma-3", "lemma-3-printed"]


def test_lemma_14_by_hand(digits: Data) -> None:
    """Lemma 13 at the convolution, Lemma 2 at the linear layer; a convolution that was not projected by its norm."""
    data = few(digits)
    network = trace(small_conv(), data)
    measures = measure(network, data, MeasureOptions(samples=24))
    stability = read_stability(measures, find_structure(network, _batch(data)))
    conv, ahead = stability.layers[0], np.exp(log_amplifications(stability))
    shares = failure_shares(stability, samples=24, delta=0.05)
    for place, counts in enumerate(({"0": 10**4, "4": 10**8}, {"0": 10**8, "4": 10**4})):
        report = compare_with_lemmas(network, network.module, data, measures, counts=counts)
        alone = [filter_accuracy(conv, count=10**4, eta=shares[0]), valid_accuracy(count=10**4, eta=shares[1])][place]
        assert report.lemmas[0].eps == pytest.approx(ahead[place] * alone, rel=1e-6)
    report = compare_with_lemmas(network, compress(network, Quantize(bits=6)), data, measures)
    sizes = [float(network.module.get_parameter(f"{name}.weight").detach().double().norm()) for name in (0, 4)]
    own = [part.change / size for part, size in zip(report.promise.layers, sizes, strict=True)]
    expected = max(ahead[0] * own[0] * 8 / conv.well_distributed, ahead[1] * own[1])  # 8 x 8 places
    assert report.lemmas[0].eps == pytest.approx(expected, rel=1e-6)


def test_skips_are_named(digits: Data) -> None:
    data = few(digits)
    body = Residual(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), nn.Identity())
    network = trace(nn.Sequential(nn.Flatten(), nn.Linear(64, 8), body, nn.ReLU(), nn.Linear(8, 10)), data)
    report = compare_with_lemmas(network, compress(network, Quantize(bits=8)), data)
    for lemma in report.lemmas:
        assert "the layers form a chain without skips" in [premise.text for premise in lemma.failing]


def test_the_network_itself_is_no_distance_away(digits: Data) -> None:
    data = few(digits)
    network = trace(small_mlp(), data)
    report = compare_with_lemmas(network, network.module, data)
    assert report.relative_error == 0
    assert {layer.change for layer in report.layers} == {layer.output_change for layer in report.layers} == {0.0}
    assert {lemma.eps for lemma in report.lemmas} == {0.0}


def test_a_network_that_is_one_layer_tells_its_count() -> None:
    data = as_samples(np.random.default_rng(4).uniform(0.2, 1.0, (5, 20)))
    network = trace(nn.Linear(20, 2, bias=False), data)
    report = compare_with_lemmas(network, compress(network, RandomProjection(keep=30)), data)
    assert [layer.count for layer in report.layers] == [30]


def test_long_names_and_numbers_still_fit() -> None:
    generator = np.random.default_rng(4)
    matrices = [generator.standard_normal(shape) for shape in ((3, 2), (2, 3))]
    module = nn.Sequential()
    for number, part in enumerate(chain(*matrices)):
        module.add_module(f"a_very_long_name_of_a_layer_in_some_network_{number}", part)
    data = as_samples(generator.uniform(0.2, 1.0, (5, 2)))
    names = {name: 10**9 for name, part in module.named_modules() if isinstance(part, nn.Linear)}
    text = str(compare_with_lemmas(module, module, data, counts=names))
    assert max(map(len, text.splitlines())) <= 80
    assert "network_0" in text


def test_what_it_refuses(digits: Data) -> None:
    data = few(digits)
    network = trace(small_mlp(), data)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 10)).eval()
    with pytest.raises(PactError, match="batch norm in 2: the lemmas are about"):
        compare_with_lemmas(module, module, data)
    with pytest.raises(PactError, match="counts: a compressed network has its own counts"):
        compare_with_lemmas(network, compress(network, Quantize()), data, counts={"1": 3})
    with pytest.raises(PactError, match="counts"):
        compare_with_lemmas(network, network.module, data, counts={"fc9": 3})
    with pytest.raises(PactError, match="compressed: must be a Pact, a Compressed or a"):
        compare_with_lemmas(network, "mlp.pact", data)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="delta"):
        compare_with_lemmas(network, network.module, data, delta=0.0)
    other = measure(network, few(digits, 12), MeasureOptions(samples=2))
    with pytest.raises(PactError, match="measures: the measurements are of other data"):
        compare_with_lemmas(network, network.module, data, other)
