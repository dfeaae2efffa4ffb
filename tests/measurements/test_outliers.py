"""Measurements with the worst samples left out, against sorting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from measurements.measured_nets import image_samples, make

from netpact import MeasureOptions, Measures, measure
from netpact.core.errors import PactError
from netpact.measurements import leave_out_outliers


@pytest.fixture(scope="module")
def found() -> Measures:
    return measure(make("stride, groups, in place"), image_samples(20), MeasureOptions(samples=20, draws=1))


def test_each_quantity_leaves_out_its_own_worst_samples(found: Measures) -> None:
    trimmed = leave_out_outliers(found, 0.1)
    for before, after in zip(found.layers, trimmed.layers, strict=True):
        for name, quantity in before.quantities():
            own = dict(after.quantities())[name]
            if quantity.samples is None:
                continue
            ordered = np.sort(quantity.samples)
            assert own.value == (ordered[2] if quantity.side == "least" else ordered[-3])
        for end, pair in before.interlayer_cushions.items():
            assert pair.samples is not None
            assert after.interlayer_cushions[end].value == np.sort(pair.samples)[2]
    assert found.margins is not None
    assert found.margins.samples is not None
    assert trimmed.margins is not None
    assert trimmed.margins.value == np.sort(found.margins.samples)[2] > found.margins.value


def test_effective_parameters_are_counted_anew(found: Measures) -> None:
    for before, after in zip(found.layers, leave_out_outliers(found, 0.1).layers, strict=True):
        parts = [after.activation_contraction, after.well_distributed]
        cushions = [after.arora_layer_cushion, after.min_interlayer_cushion]
        above = np.prod([part.value for part in parts if part is not None])
        below = np.prod([part.value for part in cushions if part is not None])
        assert after.effective_parameters is not None
        assert before.effective_parameters is not None
        assert after.effective_parameters.value == pytest.approx(after.cover * (above / below) ** 2)
        assert after.effective_parameters.value < before.effective_parameters.value
    assert max(layer.cover for layer in found.layers) > 1, "or the test says nothing of windows"


def test_nothing_left_out_changes_nothing(found: Measures) -> None:
    assert leave_out_outliers(found, 0.0).to_json() == found.to_json()


def test_what_cannot_be_counted_is_refused(found: Measures) -> None:
    only = measure(
        make("stride, groups, in place"), image_samples(20), MeasureOptions(samples=5, only=("effective_parameters",))
    )
    with pytest.raises(PactError, match="zeta: effective_parameters is computed again from activation_contraction"):
        leave_out_outliers(only, 0.1)
    with pytest.raises(PactError, match="zeta: must be a finite number >= 0 and < 1, got 1"):
        leave_out_outliers(found, 1.0)
