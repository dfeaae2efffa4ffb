"""The rows of Li et al. 2020: a network by hand, CP layers, and that nobody pays for them who did not ask."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from measurements.measured_nets import image_samples, make, vector_samples
from torch import nn

from netpact import PactError
from netpact.layers import CPConv2d, CPLinear
from netpact.layers.ranks import largest_rank
from netpact.measurements import QUANTITIES, MeasureOptions, Measures, leave_out_outliers, measure, tensor_properties

NAMES = (
    "li_layer_cushion",
    "reshaping_factor",
    "tensorization_factor",
    "tensor_noise_bound",
    "low_rankness",
    "cp_spectrum",
    "cp_spectrum_normalised",
)


@pytest.fixture(scope="module")
def by_hand() -> Measures:
    """diag(3, 2, 1, .1), ReLU, then 3 x 4 with one entry; x as 2 x 2 matrices: the identity, and one of rank one."""
    first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 3, bias=False)
    first.weight.data.copy_(torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.1])))
    second.weight.data.zero_()[0, 0] = 2.0
    samples = vector_samples([[1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 0, 0]], classes=3)
    return measure(nn.Sequential(first, nn.ReLU(), second), samples, MeasureOptions(only=NAMES, rank=2))


def test_by_hand(by_hand: Measures) -> None:
    first, second = by_hand.layers
    size = math.sqrt(14.01)
    wanted = [math.sqrt(9.01) / (size * math.sqrt(2)), math.sqrt(13) / (size * math.sqrt(2)), 3 / size]
    assert first.li_layer_cushion.samples == pytest.approx(wanted, rel=1e-6)
    assert first.li_layer_cushion.value == pytest.approx(wanted[0], rel=1e-6)
    # The logits are twice the first entry; the last layer receives (3, 0, 0, .1), (3, 2, 0, 0) and (3, 0, 0, 0).
    assert second.li_layer_cushion.value == pytest.approx(6 / (2 * math.sqrt(13)), rel=1e-6)
    assert first.reshaping_factor.value == pytest.approx(1.0)  # of (1, 1; 0, 0), whose rank is 1
    assert [entry.value for entry in first.cp_spectrum.values()] == pytest.approx([3, 2, 1, 0.1], rel=1e-6)
    assert first.cp_spectrum_normalised[4].value == pytest.approx(0.1 / 3, rel=1e-6)
    assert first.low_rankness.value == 0.75
    # Singular vectors: the largest one counts. Two of them are kept.
    assert first.tensorization_factor.value == pytest.approx(3, rel=1e-6)
    assert first.tensor_noise_bound.value == pytest.approx(1, rel=1e-6)
    assert list(second.cp_spectrum) == [1]
    assert second.tensor_noise_bound.value < 1e-12


def test_they_are_in_json_and_in_tables(by_hand: Measures) -> None:
    record = by_hand.layers[0].to_json()
    assert record["cp_spectrum"]["2"]["value"] == pytest.approx(2)  # type: ignore[index]
    assert "zeta" in str(by_hand)
    assert [row.name for row in by_hand.columns()] == list(NAMES[:5])
    trimmed = leave_out_outliers(by_hand, 0.34).layers[0].li_layer_cushion
    assert trimmed.value > by_hand.layers[0].li_layer_cushion.value


def test_a_spectrum_alone_is_shown_without_notes_on_what_was_not_measured() -> None:
    samples = image_samples(3)
    module = nn.Sequential(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(96, 3))
    alone = measure(module, samples, MeasureOptions(only=("cp_spectrum",)))
    first = alone.layers[0].cp_spectrum
    told = str(alone)
    assert f"  0: CP spectrum {first[1].value:.3g}, {first[2].value:.3g}, " in told
    assert f"... ({len(first)} numbers)" in told
    assert "biases" not in told
    both = measure(module, samples, MeasureOptions(only=("cp_spectrum", "arora_layer_cushion"), samples=2))
    assert "biases" in str(both)
    assert "CP spectrum" not in str(both)


def test_only_who_asks_pays_for_them() -> None:
    found = measure(make("pooling"), image_samples(3), MeasureOptions(samples=2, draws=1))
    assert not any(name in layer.found or name in layer.pairs for layer in found.layers for name in NAMES)
    assert all(QUANTITIES[name].asked for name in NAMES)


def test_a_cp_layer_has_its_numbers_at_its_first_part() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(CPConv2d(2, 6, 3, 5), nn.ReLU(), nn.Flatten(), CPLinear(96, 3, 7))
    samples = image_samples(20)
    found = measure(module, samples, MeasureOptions(only=NAMES))
    records = tensor_properties(module, samples).layers
    named = {layer.name: layer for layer in found.layers if layer.found}
    assert list(named) == ["0.pointwise_in", "3.in_rows"]
    for layer, record in zip(named.values(), records, strict=True):
        assert layer.li_layer_cushion.value == pytest.approx(record.cushion, rel=1e-6)
        assert [entry.value for entry in layer.cp_spectrum.values()] == record.spectrum.tolist()
        kept = min(record.rank, largest_rank([len(factor) for factor in record.components.factors]))
        assert layer.tensorization_factor.value == float(record.tensorization()[kept])
        assert layer.tensor_noise_bound.value == float(record.noise()[kept])
        assert layer.low_rankness.value == record.low_rankness()
    assert named["0.pointwise_in"].reshaping_factor is None
    assert named["3.in_rows"].reshaping_factor.value == pytest.approx(records[1].reshaping)
    assert np.isfinite(named["3.in_rows"].li_layer_cushion.samples).all()


def test_errors_and_forecast() -> None:
    with pytest.raises(PactError, match="rank"):
        MeasureOptions(rank=0)
    with pytest.raises(PactError, match="groups"):
        measure(make("stride, groups, in place"), image_samples(3), MeasureOptions(only=("low_rankness",)))
    told: list[str] = []
    seen: list[tuple[int, int]] = []
    options = MeasureOptions(only=("low_rankness", "li_layer_cushion"))
    measure(
        make("pooling"),
        image_samples(4),
        options,
        announce=lambda cost: told.append(str(cost)),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert "3 layers decomposed" in told[0]
    assert all(done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1]
