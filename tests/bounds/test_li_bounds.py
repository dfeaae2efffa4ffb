"""Theorems 4.5, E.6 and F.1 three ways: the paper's own table, loops over ranks, and decisions that are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from bounds.li_networks import Drawn, draw_cnn, draw_fc, draw_residual, terms_by_definition, with_decay
from torch import nn

from netpact import PactError, estimate_bounds, measure
from netpact.bounds import EstimateOptions, Estimates, Gamma
from netpact.bounds.bound import option_records
from netpact.datasets import ArraySamples, as_data
from netpact.layers import CPConv2d
from netpact.measurements import MeasureOptions
from netpact.measurements.tensors import tensor_properties
from netpact.methods.ranks_from_margin import find_ranks
from netpact.papers.li.effective import count_effective
from netpact.papers.li.published import TABLE_4

DRAWS: dict[str, Callable[[int], Drawn]] = {"li-4.5": draw_cnn, "li-e.6": draw_fc, "li-f.1": draw_residual}
CHEAP = MeasureOptions(samples=1, only=("frobenius",))
# The columns of Table 4 that follow from the others.
RATIOS = (
    *(0.980324, 1.003255, 1.002767, 1.001180, 1.000658, 1.001831, 1.001831),
    *(0.998511, 0.969883, 0.752065, 0.148572, 0.017969, 0.052592),
)
ARORA_RATIOS = (
    *(6.208693, 1.727460, 1.586479, 6.172423, 2.771464, 6.635754, 26.019596),
    *(0.311767, 0.040645, 0.037078, 0.018006, 0.017032, 0.058481),
)
APPENDIX_A_5 = (22, 268, 364, 553, 750, 1125, 1085, 1444, 1496, 715, 310, 109, 374)


def test_table_4_is_ranks_times_the_numbers_of_a_component() -> None:
    """Every printed number is an integer times s + o + 9 + 1; the first two ranks are those that A.5 names, too."""
    for layer, ratio, other in zip(TABLE_4, RATIOS, ARORA_RATIOS, strict=True):
        assert layer.ours == layer.rank * layer.per_component
        assert layer.ours / layer.weights == pytest.approx(ratio, abs=1e-6)
        assert layer.arora / layer.weights == pytest.approx(other, abs=1e-5)
    ranks = [layer.rank for layer in TABLE_4]
    assert ranks == [22, 268, 366, 555, 749, 1132, 1132, 1514, 2213, 1716, 339, 41, 120]
    assert ranks[:2] == list(APPENDIX_A_5[:2])


def test_table_4_is_not_bounded_by_the_number_of_parameters() -> None:
    """A.2 says "upper bounded by the total number of parameters in original network"; six of its layers exceed it.

    As many components as have the layer's number of parameters, rounded up, and one number more for each of them.
    """
    above = [layer for layer in TABLE_4 if layer.ours > layer.weights]
    assert len(above) == 6
    assert max(layer.ours / layer.weights for layer in above) < 1.004


def test_the_count_of_a_component_is_that_of_table_4() -> None:
    """R (s + o + kx ky + 1) of a convolution from 64 to 64 channels: 138 numbers for each component."""
    torch.manual_seed(0)
    network = nn.Sequential(CPConv2d(64, 64, 3, 268, padding=1), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten())
    samples = ArraySamples(torch.rand(2, 64, 4, 4).numpy(), np.array([0, 1]), "noise", 64)
    properties = tensor_properties(network.eval(), samples)
    (found,) = count_effective(properties, find_ranks(properties, eps=1e-9))
    assert (found.rank, found.parameters, found.weights) == (268, TABLE_4[1].ours, TABLE_4[1].weights)
    assert found.ratio == pytest.approx(RATIOS[1], abs=1e-6)


def estimate(drawn: Drawn, name: str, *, gamma: float, form: str = "valid") -> Estimates:
    data = as_data(drawn.samples)
    options = EstimateOptions(gamma=Gamma(value=gamma), tensor_form=form)
    return estimate_bounds(drawn.network, data, options, only=[name], measures=measure(drawn.network, data, CHEAP))


def ranks_by_loops(drawn: Drawn, *, eps: float, printed: bool) -> list[int]:
    """Algorithms 3 and 4 from the definitions: layer by layer from the last one, one component more at a time."""
    sizes = [term.components for term in terms_by_definition(drawn).layers]
    ranks = list(sizes)
    for k in reversed(range(len(sizes))):
        for rank in range(1, sizes[k] + 1):
            tried = [*ranks[:k], rank, *ranks[k + 1 :]]
            if terms_by_definition(drawn, ranks=tried, printed=printed).shares[k] <= eps / len(sizes):
                ranks[k] = rank
                break
    return ranks


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_capacities_by_loops_over_the_ranks(name: str, printed: bool) -> None:
    drawn = with_decay(DRAWS[name](4))
    gamma, norm = 0.5, tensor_properties(drawn.network, drawn.samples).output_norm
    found = estimate(drawn, name, gamma=gamma * 2 * norm, form="printed" if printed else "valid")[name]
    ranks = ranks_by_loops(drawn, eps=gamma, printed=printed)
    layers = tensor_properties(drawn.network, drawn.samples).layers
    assert any(rank < layer.rank for rank, layer in zip(ranks, layers, strict=True)), "something is dropped"
    counts = [
        rank * (sum(len(factor) for factor in layer.components.factors) + 1)
        for rank, layer in zip(ranks, layers, strict=True)
    ]
    assert [layer.effective for layer in found.layers] == pytest.approx(counts)
    assert math.exp(found.log_capacity) == pytest.approx(sum(counts))
    assert found.value == pytest.approx(found.margin_loss + math.sqrt(sum(counts) / len(drawn.inputs)))


@pytest.mark.parametrize("name", DRAWS)
def test_decisions_with_the_margin_are_kept(name: str) -> None:
    """Lemma D.6: L_0 of the compressed network is at most L_gamma of the network, on the samples."""
    dropped = 0
    for seed in range(10):
        drawn = with_decay(DRAWS[name](seed))
        with torch.no_grad():
            logits = drawn.network.double()(drawn.inputs.double())
        drawn.network.float()
        top = logits.topk(2, dim=1).values
        margins, labels = top[:, 0] - top[:, 1], logits.argmax(dim=1)
        gamma = float(margins.quantile(0.5))
        properties = tensor_properties(drawn.network, drawn.samples)
        ranks = [layer.rank for layer in find_ranks(properties, margin=gamma).layers]
        dropped += sum(layer.rank for layer in properties.layers) - sum(ranks)
        with torch.no_grad():
            other = drawn.compressed(ranks)(drawn.inputs.double()).argmax(dim=1)
        assert bool((other == labels)[margins > gamma].all()), seed
    assert dropped > 10, "it would hold of a network that nothing is dropped from"


@pytest.mark.parametrize("name", DRAWS)
def test_which_bound_is_about_which_network(name: str) -> None:
    drawn = DRAWS[name](1)
    assert estimate(drawn, name, gamma=0.1)[name].kind == "estimate"
    for other in DRAWS.keys() - {name}:
        with pytest.raises(PactError, match="it is about"):
            estimate(drawn, other, gamma=0.1)


def test_what_has_no_cp_form_is_left_out_with_a_reason() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(4, 4, 3, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).eval()
    data = as_data(ArraySamples(torch.rand(6, 4, 6, 6).numpy(), np.arange(6) % 3, "noise", 3))
    with pytest.raises(PactError, match="groups"):
        estimate_bounds(network, data, only=["li-4.5"], measures=measure(network, data, CHEAP))


def test_measurements_are_asked_for_and_must_be_of_the_network() -> None:
    data = as_data(ArraySamples(draw_fc(1).inputs.numpy(), np.arange(12) % 4, "noise", 4))
    network, other = (nn.Sequential(nn.Linear(16, 4)).eval() for _ in range(2))
    with pytest.raises(PactError, match="needs the measurements"):
        estimate_bounds(network, data, only=["li-e.6"])
    with pytest.raises(PactError, match="of another network"):
        estimate_bounds(network, data, only=["li-e.6"], measures=measure(other, data, CHEAP))


def test_premises_and_what_is_ignored() -> None:
    drawn = draw_cnn(1)
    valid = estimate(drawn, "li-4.5", gamma=0.01)["li-4.5"]
    assert not valid.failing
    assert any("Lemma D.7" in text for text in valid.ignored)
    printed = estimate(drawn, "li-4.5", gamma=0.01, form="printed")["li-4.5"]
    assert "the error lemma as printed" in [premise.text for premise in printed.failing]
    wide = estimate(drawn, "li-4.5", gamma=1e6)["li-4.5"]
    assert [premise.text for premise in wide.failing] == ["gamma <= 2 max|f|"]
    with pytest.raises(PactError, match="allowed: valid, printed"):
        option_records()["tensor_form"](tensor_form="true")


def test_each_estimate_has_its_layers_in_json_and_text() -> None:
    drawn = with_decay(draw_cnn(4))
    found = estimate(drawn, "li-4.5", gamma=0.1)
    (row,) = json.loads(json.dumps(found.to_json()))["estimates"]
    assert [layer["name"] for layer in row["layers"]] == [layer.name for layer in found["li-4.5"].layers]
    assert list(found.budgets) == [("li-4.5",)]
    assert "effective parameters by li-4.5" in str(found)
