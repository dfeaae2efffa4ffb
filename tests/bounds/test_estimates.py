"""estimate_bounds and its records: the measured bounds by hand and by loops, margins, names, JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from bounds.bound_examples import FIRST, SECOND, chain, make_facts, make_layer, make_stability, some_data
from torch import nn

import netpact
from netpact import Certificate, Estimate, PactError, Promise
from netpact.bounds import RULES, EstimateOptions, Estimates, Gamma, LayerBudget, estimate_bounds
from netpact.bounds.facts import Facts
from netpact.datasets import Data, as_data
from netpact.measurements import MeasureOptions, measure
from netpact.network import Margins

CONVOLUTIONAL = make_stability(
    make_layer(cushion=0.5, interlayer=0.2, well_distributed=1.5, overlap=9),
    make_layer(cushion=0.4, interlayer=0.5, contraction=2.0),
)


def measured_facts() -> Facts:
    """max|f| = 3, gamma = 1/2: max|f|^2 / gamma^2 = 36."""
    return make_facts(FIRST, SECOND, gamma=0.5, stability=CONVOLUTIONAL)


def test_measured_bounds_by_hand() -> None:
    facts = measured_facts()
    one, two = 1 / (0.5 * 0.2) ** 2, 1 / (0.4 * 0.5) ** 2
    expected = {
        "arora-4.1": 4 * 4 * 36 * (one + two),
        "arora-5.1": 4 * 4 * 36 * 1.5**2 * (9 * one + two),
        "arora-figure-2": 36 * (1.5**2 * 9 * one + 4 * two),
    }
    for name, value in expected.items():
        assert math.exp(RULES[name].log_capacity(facts)) == pytest.approx(value, rel=1e-12), name


def test_effective_parameters_of_table_1() -> None:
    """c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2)."""
    effective = [math.exp(layer.log_effective) for layer in CONVOLUTIONAL.layers]
    assert effective == pytest.approx([1.5**2 * 9 / 0.01, 4 / 0.04], rel=1e-12)


def test_shares_of_table_1() -> None:
    """The effective numbers that the paper prints for VGG-19, and its percentages."""
    printed = [
        (1644.87, 1728, 95.18),
        (644654.14, 147456, 437.18),
        (3457882.42, 589824, 586.25),
        (36920.60, 1179648, 3.129),
        (22735.09, 2359296, 0.963),
        (26583.81, 2359296, 1.126),
        (5052.15, 262144, 1.927),
    ]
    for effective, weights, percent in printed:
        layer = LayerBudget("layer", math.log10(effective), weights)
        assert layer.percent == pytest.approx(percent, abs=0.011)
        assert f"of {weights:,} (" in str(layer)
    assert str(LayerBudget("dead", math.inf, 10)) == "dead: infinite of 10"


@pytest.fixture(scope="module")
def small_case() -> tuple[nn.Module, Data, Estimates]:
    """A convolution and a linear layer on 4 x 4 images, without biases; Jacobians at every sample."""
    torch.manual_seed(2)
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3, stride=2, padding=1, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2, bias=False)
    )
    x = np.random.default_rng(0).uniform(size=(12, 1, 4, 4)).astype(np.float32)
    with torch.no_grad():
        labels = model(torch.from_numpy(x)).argmax(dim=1).numpy()
    data = as_data((x, labels), classes=2)
    measures = measure(model, data, MeasureOptions(samples=12, accuracy=0.003))
    return model, data, estimate_bounds(model, data, measures=measures)


def test_figure_2_against_loops_over_samples(small_case: tuple[nn.Module, Data, Estimates]) -> None:
    """Cushions, contraction and spread of the Jacobian from their definitions, sample by sample."""
    model, data, found = small_case
    assert isinstance(model, nn.Sequential)
    conv, last = model[0], model[3]
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(last, nn.Linear)
    weight = last.weight.detach().double().numpy()
    norm = np.linalg.norm
    mu_1, mu_2, ahead, c, beta, outputs, margins = [], [], [], [], [], [], []
    inputs, labels = next(iter(data.train.batches()))
    for x, y in zip(inputs, labels, strict=True):
        with torch.no_grad():
            before = conv(torch.from_numpy(x[None])).double().numpy()[0]
        h = np.maximum(before, 0).ravel()
        f = weight @ h
        jacobian = (weight * (before.ravel() > 0)).reshape(2, 3, 2, 2)
        mu_1.append(norm(before) / (norm(conv.weight.detach().numpy()) * norm(x)))
        mu_2.append(norm(f) / (norm(weight) * norm(h)))
        ahead.append(2 * norm(f) / (norm(jacobian) * norm(before)))
        c.append(norm(before) / norm(h))
        beta.append(max(2 * norm(jacobian[:, :, a, b]) / norm(jacobian) for a in range(2) for b in range(2)))
        outputs.append(norm(f))
        margins.append(f[y] - f[1 - y])
    gamma = sorted(margins)[1]
    # beta is also taken at j = 1, where the Jacobian is the identity and every pixel has the same share: 1.
    first = (max(beta) * 2 * 2) ** 2 / 4 / (min(mu_1) * min([1 / math.sqrt(3), *ahead])) ** 2
    second = max(c) ** 2 / (min(mu_2) / math.sqrt(2)) ** 2
    expected = max(outputs) ** 2 / gamma**2 * (first + second)
    assert found.gammas[0] == pytest.approx(gamma, rel=1e-4)
    assert found["arora-figure-2"].log_capacity == pytest.approx(math.log(expected), abs=0.03)
    assert [layer.effective for layer in found.layers] == pytest.approx([first, second], rel=0.03)
    assert found.layers[0].percent == pytest.approx(100 * first / 27, rel=0.03)


def test_the_same_effective_parameters_as_the_measurements(small_case: tuple[nn.Module, Data, Estimates]) -> None:
    model, data, found = small_case
    measures = measure(model, data, MeasureOptions(samples=12, accuracy=0.003))
    for layer, measured in zip(found.layers, measures.layers, strict=True):
        assert measured.effective_parameters is not None
        assert layer.effective == pytest.approx(measured.effective_parameters.value, rel=1e-9)


def test_what_says_nothing_about_a_network_is_left_out_or_refused(
    small_case: tuple[nn.Module, Data, Estimates],
) -> None:
    model, data, found = small_case
    assert {name for name, _ in found.skipped} == {
        "arora-4.1",
        *("arora-lemma-3", "arora-lemma-3-printed", "arora-lemma-6", "arora-lemma-8"),
        *("guha-5.2", "guha-6.2", "guha-d.1"),
        *("li-e.6", "li-f.1", "shin-2"),
    }
    with pytest.raises(PactError, match=r"lemma-8.*linear classifiers.*2 weight layers"):
        estimate_bounds(model, data, only=["arora-lemma-8"])
    with pytest.raises(PactError, match=r"figure-2.*netpact\.measure"):
        estimate_bounds(model, data, only=["arora-figure-2"])
    independent = {p.text: p.holds for p in found["arora-5.1"].premises}["p-wise independent errors (Lemma 12)"]
    assert independent is False


def test_measurements_of_something_else_are_refused() -> None:
    data, model = some_data(inputs=2, classes=2, count=9), chain(FIRST, SECOND)
    measures = measure(model, data, MeasureOptions(samples=9))
    options = EstimateOptions(gamma=Gamma(value=0.3))
    for other in (chain(FIRST, SECOND + 1), chain(FIRST), chain(FIRST, SECOND, SECOND)):
        with pytest.raises(PactError, match="another network"):
            estimate_bounds(other, data, options, measures=measures)
    with pytest.raises(PactError, match="other data"):
        estimate_bounds(model, some_data(inputs=2, classes=2, count=8), options, measures=measures)
    partly = measure(model, data, MeasureOptions(samples=9, only=("arora_layer_cushion",)))
    with pytest.raises(PactError, match="interlayer cushion was not measured"):
        estimate_bounds(model, data, EstimateOptions(gamma=options.gamma, cushions="plain"), measures=partly)
    with pytest.raises(PactError, match="layer cushion was not measured"):
        estimate_bounds(model, data, EstimateOptions(gamma=options.gamma, cushions="from-initial"), measures=measures)


def test_cushions_relative_to_the_initial_weights() -> None:
    """|A - A_0|_F = |A|_F / 2 in the only layer: the cushion doubles and the effective parameters are a quarter."""
    data, matrix = some_data(inputs=2, classes=2, count=9), SECOND
    measures = measure(chain(matrix), data, MeasureOptions(samples=9), initial=chain(matrix / 2))
    plain, initial = (
        estimate_bounds(
            chain(matrix), data, EstimateOptions(gamma=Gamma(value=0.3), cushions=kind), measures=measures
        ).layers[0]
        for kind in ("plain", "from-initial")
    )
    assert initial.effective == pytest.approx(plain.effective / 4)


def test_unknown_names_are_refused_with_the_list() -> None:
    with pytest.raises(PactError) as caught:
        estimate_bounds(chain(FIRST, SECOND), some_data(inputs=2, classes=2, count=5), only=["neyshabur-2016"])
    assert all(name in str(caught.value) for name in RULES)
    with pytest.raises(PactError, match="with-bias, plain, from-initial"):
        EstimateOptions(cushions="soft")
    with pytest.raises(PactError, match="zeta"):
        EstimateOptions(zeta=1.0)
    with pytest.raises(PactError, match="delta"):
        EstimateOptions(delta=0.0)
    with pytest.raises(PactError, match="unrolled, reshaped"):
        EstimateOptions(convolutions="flat")


def test_only_is_independent_of_the_others() -> None:
    data, model = some_data(inputs=2, classes=2, count=9), chain(FIRST, SECOND)
    options = EstimateOptions(gamma=Gamma(value=0.3))
    everything = estimate_bounds(model, data, options)
    for row in everything.rows:
        alone = estimate_bounds(model, data, options, only=[row.name])
        assert [found.name for found in alone.rows] == [row.name]
        assert alone.rows[0] == row


def test_rows_are_sorted_and_print_on_one_screen() -> None:
    found = estimate_bounds(
        chain(FIRST, SECOND), some_data(inputs=2, classes=2, count=9), EstimateOptions(gamma=Gamma(value=0.3))
    )
    assert [row.log10 for row in found.rows] == sorted(row.log10 for row in found.rows)
    assert "L_gamma" in str(found)
    assert len(str(found).splitlines()) < 30
    with pytest.raises(PactError, match="neyshabur-2015"):
        found["nothing"]


def test_counting_needs_no_margin() -> None:
    """A network that errs everywhere has no margin above 0, and still a number of parameters."""
    x = np.ones((4, 2), dtype=np.float32)
    data = as_data((x, np.zeros(4, dtype=np.int64)), classes=2)
    wrong = chain(np.array([[0.0, 0.0], [1.0, 1.0]]))
    found = estimate_bounds(wrong, data, only=["parameters", "bartlett-2019"])
    assert found.gammas == ()
    assert found["parameters"].value == pytest.approx(1 + 1)
    assert str(found)
    with pytest.raises(PactError, match="gamma must be above 0"):
        estimate_bounds(wrong, data, only=["parameters", "neyshabur-2015"])


MARGINS = Margins(np.array([0.5, -0.1, 0.2, 0.4]), np.ones(4), np.ones(4), "four samples")


def test_gamma_is_a_value_a_quantile_or_a_grid() -> None:
    assert Gamma(value=0.3).candidates(MARGINS) == (0.3,)
    assert Gamma(quantile=0.25).candidates(MARGINS) == (0.2,)
    assert Gamma(grid=(1.0, 2.0)).candidates(MARGINS) == (1.0, 2.0)
    assert Gamma(right_quantile=0.0).candidates(MARGINS) == (0.2,), "the errors are left aside"
    assert Gamma(right_quantile=0.4).candidates(MARGINS) == (0.4,)
    hopeless = Margins(-np.ones(3), np.ones(3), np.ones(3), "all wrong")
    with pytest.raises(PactError, match=r"100\.0 %"):
        Gamma(right_quantile=0.5).candidates(hopeless)
    with pytest.raises(PactError, match=r"25\.0 %.*above that"):
        Gamma(quantile=0.1).candidates(MARGINS)
    for value, quantile in ((None, None), (1.0, 0.1), (0.0, None), (math.inf, None), (None, 1.0)):
        with pytest.raises(PactError, match="gamma"):
            Gamma(value=value, quantile=quantile)
    with pytest.raises(PactError, match="> 0"):
        Gamma(grid=(0.1, -1.0))


def test_a_grid_pays_for_its_choice_and_a_quantile_says_that_it_did_not() -> None:
    data, model = some_data(inputs=2, classes=2, count=40), chain(FIRST, SECOND)

    def run(gamma: Gamma) -> Estimate:
        return estimate_bounds(model, data, EstimateOptions(gamma=gamma), only=["neyshabur-2015"])["neyshabur-2015"]

    single = {value: run(Gamma(value=value)) for value in (0.5, 2.0, 50.0)}
    best = min(single.values(), key=lambda estimate: estimate.value)
    chosen = run(Gamma(grid=(0.5, 2.0, 50.0)))
    assert chosen.gamma == best.gamma
    assert math.exp(chosen.log_capacity) - math.exp(best.log_capacity) == pytest.approx(math.log(3), rel=1e-6)
    assert any("grid of 3" in text for text in chosen.assumptions)
    assert any("chosen by looking" in text for text in run(Gamma(quantile=0.9)).assumptions)
    assert any("fixed before" in text for text in best.assumptions)


def test_margin_loss_and_errors() -> None:
    """Bounds with a margin start at L_gamma, those without at L_0."""
    x = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    data = as_data((x, np.array([0, 1, 0, 0])), classes=2)
    found = estimate_bounds(chain(np.eye(2)), data, EstimateOptions(gamma=Gamma(value=1.0)))
    assert found.losses == (0.75,), "margins are 1, 1, 3 and -1; those at gamma count"
    assert found["neyshabur-2015"].margin_loss == 0.75
    assert found["neyshabur-2015"].value == pytest.approx(0.75 + math.sqrt(2 / 4))
    assert found["parameters"].margin_loss == 0.25
    assert found["parameters"].gamma is None


def test_zeta_leaves_samples_out_and_is_paid_for() -> None:
    """One of 200 samples has a cushion far below the others; zeta / (quantities) of the samples may go."""
    generator = np.random.default_rng(1)
    x = (np.array([1.0, 1.0]) + generator.uniform(0, 0.1, (200, 2))).astype(np.float32)
    x[17] = (1.0, -0.99)
    data = as_data((x, np.arange(200) % 2), classes=2)
    model = chain(np.array([[1.0, 1.0], [1.0, 0.99]]))
    measures = measure(model, data, MeasureOptions(samples=200))
    gamma = Gamma(value=0.001)
    strict, loose, small = (
        estimate_bounds(model, data, EstimateOptions(gamma=gamma, zeta=zeta), only=["figure-2"], measures=measures)
        for zeta in (0.0, 0.02, 0.019)
    )
    assert loose.rows[0].log10 < strict.rows[0].log10 - 2
    assert small.rows[0].log10 == strict.rows[0].log10, "a quarter of zeta for each of four quantities: no sample yet"
    assert loose.rows[0].zeta == 0.02
    root = math.exp(0.5 * (loose.rows[0].log_capacity - math.log(200)))
    assert loose.rows[0].value == pytest.approx(loose.losses[0] + 0.02 + root)
    assert "Corollary C.1" in loose.rows[0].theorem


def test_estimates_are_a_type_of_their_own_and_say_so() -> None:
    row = Estimate(name="a", log_capacity=5.0, margin_loss=0.1, samples=10, theorem="b", ignored=("constants",))
    assert row.kind == "estimate"
    assert not isinstance(row, (Certificate, Promise))
    assert str(row).startswith("estimate a: ")
    assert "ignores  constants" in str(row)
    assert row.value == pytest.approx(0.1 + math.sqrt(math.exp(5) / 10))
    assert row.log10 == pytest.approx(5 / math.log(10))
    with pytest.raises(PactError, match="not a number"):
        replace(row, log_capacity=math.nan)
    with pytest.raises(PactError, match="samples must be >= 1"):
        replace(row, samples=0)


@pytest.mark.parametrize(("log_capacity", "log10"), [(5000.0, 5000 / math.log(10)), (math.inf, None)])
def test_json_holds_no_infinite_numbers(log_capacity: float, log10: float | None) -> None:
    row = Estimate(name="a", log_capacity=log_capacity, margin_loss=0.1, samples=10, theorem="b")
    assert row.value == math.inf
    assert ("capacity infinite" if log10 is None else f"capacity 1e{log10:.2f}") in str(row)
    record = json.loads(json.dumps(row.to_json(), allow_nan=False))
    assert record.keys() >= {"name", "kind", "value", "log10", "theorem", "assumptions", "ignored"}
    assert record["value"] is None
    assert record["log10"] == pytest.approx(log10)
    assert record["kind"] == "estimate"


def test_batch_norm_is_folded_before_anything_is_read() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
    norm = model[2]
    assert isinstance(norm, nn.BatchNorm1d)
    with torch.no_grad():
        norm.weight.fill_(10.0)
    data = some_data(inputs=2, classes=2, count=9)
    options = EstimateOptions(gamma=Gamma(value=0.3))
    found = estimate_bounds(model, data, options)["neyshabur-2015"]
    assert {premise.text: premise.holds for premise in found.premises}[
        "every layer with weights is linear or a convolution"
    ]
    linear, last = model[1], model[4]
    assert isinstance(linear, nn.Linear)
    assert isinstance(last, nn.Linear)
    sizes = 10 / math.sqrt(1 + norm.eps) * float(linear.weight.detach().norm()), float(last.weight.detach().norm())
    assert found.log_capacity == pytest.approx(2 * math.log(math.prod(sizes) / 0.3), rel=1e-5)


def test_skips_and_biases_are_told_as_premises() -> None:
    class Skipping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.one(x))
            out: torch.Tensor = self.two(h + x)
            return out

    data, options = some_data(inputs=2, classes=2, count=9), EstimateOptions(gamma=Gamma(value=0.3))
    said = {p.text: p.holds for p in estimate_bounds(Skipping(), data, options)["neyshabur-2015"].premises}
    assert said["the layers form a chain without skips"] is False
    assert said["no biases"] is False
    plain = {p.text: p.holds for p in estimate_bounds(chain(FIRST, SECOND), data, options)["neyshabur-2015"].premises}
    assert False not in plain.values()


def test_public_names() -> None:
    assert netpact.estimate_bounds is estimate_bounds
    assert netpact.Estimate is Estimate
