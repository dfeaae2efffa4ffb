"""Tails of layers: fits by hand, the matrices of a convolution, conventions, warnings, layers without a fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from measurements.measured_nets import vector_samples
from torch import nn

import netpact
from netpact import MeasureOptions, PactError, Seed, TailOptions, fit_power_law, measure, measure_tails
from netpact.measurements.tails import LayerTails
from netpact.measurements.tails.eigenvalues import layer_spectrum
from netpact.reports.tail_figures import draw_tails

untyped: Any = netpact
QUICK = TailOptions(stable=False)


def linear(weight: torch.Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight = nn.Parameter(weight)
    return layer


def pareto(alpha: float, shape: tuple[int, int], seed: int = 0) -> torch.Tensor:
    """Magnitudes of density w^-alpha from 1 on, with random signs."""
    random = np.random.default_rng(seed)
    return torch.from_numpy((random.pareto(alpha - 1, shape) + 1) * random.choice([-1.0, 1.0], shape))


def only(module: nn.Module, options: TailOptions = QUICK) -> LayerTails:
    (layer,) = measure_tails(module, options).layers
    return layer


def test_eigenvalues_by_hand() -> None:
    """diag(1, 2, ..., 2^11) with two rows of zeros: the eigenvalues are 4^k.

    In units of log 4 the logarithms are 0, ..., 11. From 1 on, alpha - 1 = 12 / (66 log 4), and the model's survival at
    4^k is exp(-12 k / 66), at k = 1 .834 against 11/12; all distances are at most .167 = 1 - exp(-12/66), where the
    steps of 1/12 = .083 are: from a later start the steps are longer.
    """
    weight = torch.zeros(14, 20)
    weight[:12, :12] = torch.diag(-(2.0 ** torch.arange(12)))
    found = only(linear(weight))
    assert found.eigenvalues is not None
    fit = found.eigenvalues.fit
    assert (fit.count, found.eigenvalues.zeros) == (12, 2)
    logs = np.log(4.0 ** np.arange(12) / fit.xmin)
    tail = logs[logs > -1e-9]
    assert fit.alpha == pytest.approx(1 + len(tail) / tail.sum(), rel=1e-12)
    assert fit.alpha_stderr == pytest.approx((fit.alpha - 1) / math.sqrt(len(tail)), rel=1e-12)
    assert fit == replace(
        fit_power_law(4.0 ** np.arange(12)),
        alpha=fit.alpha,
        ks=fit.ks,
        log_likelihood=fit.log_likelihood,
        alpha_stderr=fit.alpha_stderr,
    )
    assert found.stable_rank == pytest.approx(sum(4.0**k for k in range(12)) / 4.0**11)
    assert found.weights is not None
    assert (found.weights.fit.count, found.weights.zeros) == (12, 14 * 20 - 12)
    assert found.weights.alpha == pytest.approx(fit_power_law(2.0 ** np.arange(12)).alpha)


def test_the_two_conventions() -> None:
    """powerlaw and Table 1 of Shin 2021: density w^-alpha; his propositions: w^-(alpha + 1)."""
    found = only(linear(pareto(3.5, (50, 100)))).weights
    assert found is not None
    assert abs(found.alpha - 3.5) < 3 * found.fit.alpha_stderr
    assert abs(found.tail_index - 2.5) < 3 * found.fit.alpha_stderr
    assert found.to_json()["tail_index"] == found.to_json()["alpha"] - 1  # type: ignore[operator]


def test_matrices_of_a_convolution() -> None:
    conv = nn.Conv2d(6, 5, (2, 3), bias=False)
    weight = conv.weight.detach().double().numpy()
    whole = np.linalg.svd(weight.reshape(5, -1), compute_uv=False) ** 2
    slices = np.concatenate(
        [np.linalg.svd(weight[:, :, i, j], compute_uv=False) ** 2 for i in range(2) for j in range(3)]
    )
    assert layer_spectrum(conv.weight.detach(), "matrix").values == pytest.approx(np.sort(whole), rel=1e-10)
    assert layer_spectrum(conv.weight.detach(), "slices").values == pytest.approx(np.sort(slices), rel=1e-9)
    taken = only(conv, replace(QUICK, convolution="slices"))
    assert taken.eigenvalues is not None
    assert taken.eigenvalues.fit.alpha == pytest.approx(fit_power_law(slices).alpha)
    assert taken.stable_rank is None, "there is no one matrix"
    assert only(nn.Conv1d(20, 12, 3)).eigenvalues is not None
    matrix = linear(torch.randn(12, 30, generator=torch.Generator().manual_seed(0)))
    assert only(matrix, replace(QUICK, convolution="slices")).eigenvalues == only(matrix).eigenvalues


def test_parts_of_a_long_side_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(13, 40, generator=torch.Generator().manual_seed(0))
    whole = layer_spectrum(weight, "matrix").values
    monkeypatch.setattr("netpact.measurements.tails.eigenvalues._ENTRIES", 50)
    assert layer_spectrum(weight, "matrix").values == pytest.approx(whole, rel=1e-10)
    assert layer_spectrum(weight.T, "matrix").values == pytest.approx(whole, rel=1e-10)
    for size in (1e-150, 1e150):
        assert layer_spectrum(weight.double() * size, "matrix").values == pytest.approx(whole * size**2, rel=1e-10)


def test_nothing_is_said_against_a_power_law() -> None:
    """In 40 layers whose weights have one, the rule says something in a few: its p-values are below 0.1."""
    told = [
        bool(only(linear(pareto(2.5, (40, 50), seed)), replace(QUICK, eigenvalues=False)).warnings)
        for seed in range(40)
    ]
    assert sum(told) <= 12


@pytest.mark.parametrize("name", ["standard_normal", "laplace", "uniform"])
def test_light_tails_are_told(name: str) -> None:
    """A short end of them may look like a power law; the largest tenth does not."""
    told = []
    for seed in range(10):
        numbers = getattr(np.random.default_rng(seed), name)(size=(100, 200)) - (name == "uniform") / 2
        found = only(linear(torch.from_numpy(numbers)), replace(QUICK, eigenvalues=False))
        told.append(found.warnings[0])
        assert found.weights is not None
        assert found.weights.tenth["exponential"].ratio == pytest.approx(_ratio(np.abs(numbers).ravel()))
    assert all(words.startswith("no power law established for the weights") for words in told)
    assert all("tenth" in words for words in told)


def _ratio(sizes: np.ndarray) -> float:
    """Log-likelihood of a power law less that of an exponential tail, on the largest tenth."""
    tail = np.sort(sizes)[-len(sizes) // 10 :]
    start, count = tail[0], len(tail)
    exponent, scale = count / np.log(tail / start).sum(), (tail - start).mean()
    power = count * math.log(exponent / start) - (1 + exponent) * np.log(tail / start).sum()
    return float(power - (-count * math.log(scale) - count))


def test_few_numbers_are_told() -> None:
    few = only(linear(pareto(2.5, (4, 10)))).weights
    assert few is not None
    assert few.warnings[0] == f"only {few.fit.tail_count} numbers in the tail"
    assert few.fit.tail_count < 50
    assert few.tenth == {}


def test_a_bootstrap_rejects() -> None:
    random = np.random.default_rng(0)
    uniform = linear(torch.from_numpy(random.uniform(1, 2, (20, 30))))
    rejected = only(uniform, TailOptions(repeats=20, stable=False, eigenvalues=False)).weights
    assert rejected is not None
    assert rejected.p_value is not None
    assert (rejected.p_value < 0.1) == any("p-value" in words for words in rejected.warnings)
    assert rejected == only(uniform, TailOptions(repeats=20, stable=False, eigenvalues=False)).weights
    other = only(uniform, TailOptions(repeats=20, stable=False, eigenvalues=False, seed=Seed(1))).weights
    assert other is not None
    assert other.fit == rejected.fit


@pytest.mark.parametrize(
    ("weight", "missing"),
    [
        (torch.zeros(20, 30), {"weights": "there are 0", "eigenvalues": "there are 0", "stable": "half"}),
        (
            torch.full((20, 30), 0.5),
            {"weights": "all 600 numbers are 0.5", "eigenvalues": "there are 1", "stable": "half"},
        ),
        (torch.eye(12), {"weights": "all 12 numbers are 1", "eigenvalues": "all 12 numbers are 1", "stable": "half"}),
        (torch.randn(2, 3), {"weights": "there are 6", "eigenvalues": "there are 2", "stable": "50 numbers or more"}),
    ],
)
def test_layers_without_a_fit(weight: torch.Tensor, missing: dict[str, str]) -> None:
    tails = measure_tails(nn.Sequential(linear(weight), linear(pareto(3.0, (20, 20)))), TailOptions())
    first, second = tails.layers
    assert (first.weights, first.eigenvalues, first.stable) == (None, None, None)
    assert first.missing is not None
    assert first.missing.keys() == missing.keys()
    for what, words in missing.items():
        assert words in first.missing[what]
    assert second.weights is not None
    assert "-" in str(tails)
    assert all(any(words in warning for warning in tails.warnings) for words in missing.values())
    assert len(draw_tails(tails)) == 1


def test_shared_weights_count_once_and_other_layers_not_at_all() -> None:
    first = nn.Linear(10, 10)
    second = nn.Linear(10, 10)
    second.weight = first.weight
    tails = measure_tails(nn.Sequential(first, nn.BatchNorm1d(10), second, nn.Embedding(5, 5)), QUICK)
    assert [layer.name for layer in tails.layers] == ["0"]
    assert only(nn.Linear(10, 12)).name == "linear"


def test_the_record() -> None:
    module = nn.Sequential(linear(pareto(2.5, (30, 40))), nn.ReLU(), linear(pareto(4.0, (10, 30), 1)))
    seen: list[tuple[int, int]] = []
    tails = measure_tails(module, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1500, 1500)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    record: Any = tails.to_json()
    assert record["convolution"] == "matrix"
    assert record["layers"][0]["weights"]["alpha"] == tails.layer("0").weights.alpha  # type: ignore[union-attr]
    assert record["layers"][0]["weights"]["comparisons"].keys() == {"exponential", "laplace", "log-normal", "gaussian"}
    rows = tails.display_rows()
    assert [row["layer"] for row in rows] == ["0", "2"]
    assert "alpha" in str(tails)
    figures = draw_tails(tails)
    assert len(figures) == 2
    (start, end) = [row for row in figures[0].numbers if str(row["curve"]).startswith("weights: alpha")]
    slope = (end["log10 of the share above"] - start["log10 of the share above"]) / math.log10(  # type: ignore[operator]
        end["size, over the start of the tail (logarithmic)"]  # type: ignore[arg-type]
    )
    assert slope == pytest.approx(1 - tails.layers[0].weights.alpha)  # type: ignore[union-attr]
    with pytest.raises(PactError, match="layer"):
        tails.layer("1")


def test_quantities_are_those_of_the_record() -> None:
    module = nn.Sequential(linear(pareto(2.5, (60, 40)).float()), nn.ReLU(), linear(pareto(3.0, (10, 60), 1).float()))
    data = vector_samples([[1.0] * 40, [0.5] * 40], classes=10)
    names = [
        *(
            f"weight_{end}"
            for end in ("alpha", "tail_index", "tail_start", "tail_count", "tail_ks", "tail_over_gaussian")
        ),
        "eigenvalue_alpha",
        "weight_tail_p_value",
        "stable_alpha",
        "stable_beta",
        "stable_scale",
    ]
    options = MeasureOptions(only=tuple(names), tails=TailOptions(repeats=3))
    found, tails = measure(module, data, options), measure_tails(module, TailOptions(repeats=3))
    for layer, told in zip(found.layers, tails.layers, strict=True):
        assert told.weights is not None
        assert told.eigenvalues is not None
        assert told.stable is not None
        assert layer.weight_alpha.value == told.weights.alpha
        assert layer.weight_alpha.stderr == told.weights.fit.alpha_stderr
        assert layer.weight_tail_index.value == told.weights.alpha - 1
        assert layer.weight_tail_start.value == told.weights.fit.xmin
        assert layer.weight_tail_count.value == told.weights.fit.tail_count
        assert layer.weight_tail_ks.value == told.weights.fit.ks
        assert layer.weight_tail_over_gaussian.value == told.weights.comparisons["gaussian"].normalized_ratio
        assert layer.weight_tail_p_value.value == told.weights.p_value
        assert layer.eigenvalue_alpha.value == told.eigenvalues.alpha
        assert layer.stable_alpha.value == told.stable.alpha
        assert layer.stable_beta.value == told.stable.beta
        assert layer.stable_scale.value == told.stable.scale
    assert any(words in str(found) for words in found.warnings)
    first = tails.layers[0].weights
    assert first is not None
    assert first.fit.tail_count > 1000
    assert f" {first.fit.tail_count:,} " in str(found)
    assert "e+03" not in str(found)
    record: Any = found.to_json()
    assert record["warnings"] == list(found.warnings)


def test_quantities_of_layers_without_a_fit() -> None:
    data = vector_samples([[1.0] * 20, [0.5] * 20], classes=12)
    options = MeasureOptions(only=("weight_alpha", "eigenvalue_alpha", "stable_alpha", "weight_tail_p_value"))
    found = measure(nn.Sequential(linear(torch.full((12, 20), 0.5))), data, options)
    assert found.layers[0].found == {}
    assert len(found.warnings) == 3
    assert "all 240 numbers are 0.5" in str(found)
    assert measure(nn.Sequential(nn.Linear(20, 12)), data, MeasureOptions(only=("stable_rank",))).warnings == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"convolution": "fft"}, "matrix"),
        ({"repeats": -1}, "repeats"),
        ({"weights": 1}, "True or False"),
        ({"seed": 3}, "seed"),
    ],
)
def test_wrong_options(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PactError, match=message):
        untyped.TailOptions(**arguments)


def test_wrong_arguments() -> None:
    with pytest.raises(PactError, match="torch module"):
        untyped.measure_tails(3)
    with pytest.raises(PactError, match="TailOptions"):
        untyped.measure_tails(nn.Linear(3, 3), 5)
    with pytest.raises(PactError, match="no linear layers"):
        measure_tails(nn.ReLU())
    with pytest.raises(PactError, match="NaN"):
        measure_tails(linear(torch.full((3, 3), math.nan)))
    with pytest.raises(PactError, match="have no values"):
        measure_tails(nn.Linear(3, 3, device="meta"))
    with pytest.raises(PactError, match="tails"):
        untyped.MeasureOptions(tails=3)
