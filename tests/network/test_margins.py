"""Margins and output norms against the obvious computation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from network.awkward_modules import With, drawn
from torch import nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.network import Margins, Network, margins, measure_margins, trace


def identity(classes: int = 3) -> Network:
    """The logits are the sample itself."""
    layer = nn.Linear(classes, classes, bias=False)
    nn.init.eye_(layer.weight)
    return trace(layer, drawn(classes, classes=classes))


def rows(*values: list[float], labels: list[int]) -> ArraySamples:
    return ArraySamples(np.array(values, dtype=np.float32), np.array(labels), "rows", len(values[0]))


def test_margins_are_those_of_the_definition() -> None:
    samples = rows([3, 1, 2], [1, 1, 0], [0, -4, 3], [2, 2, 2], labels=[0, 0, 1, 2])
    found = measure_margins(identity(), samples)
    assert found.margins.tolist() == [1, 0, -7, 0]
    assert found.sup_norms.tolist() == [3, 1, 4, 2]
    np.testing.assert_allclose(found.norms, np.sqrt([14, 2, 25, 12]), rtol=1e-15)
    assert (found.count, found.name) == (4, "rows")


def test_shares_count_ties_as_errors() -> None:
    found = Margins(np.array([1.0, 0.0, -7.0, 0.0]), np.ones(4), np.ones(4), "four")
    assert [found.share_below(gamma) for gamma in (-8, -7, -0.5, 0, 0.5, 1, np.inf)] == [
        0,
        0.25,
        0.25,
        0.75,
        0.75,
        1,
        1,
    ]
    with pytest.raises(PactError, match="gamma: must be a number, got NaN"):
        found.share_below(float("nan"))


def test_quantiles_are_margins_with_no_more_below() -> None:
    values = np.random.default_rng(0).standard_normal(37)
    found = Margins(values, np.ones(37), np.ones(37), "drawn")
    for share in np.linspace(0, 1, 21):
        quantile = found.quantile(float(share))
        assert quantile in values
        assert np.count_nonzero(values < quantile) <= share * 37
        above = values[values > quantile]
        assert not len(above) or np.count_nonzero(values < above.min()) > share * 37
    assert (found.quantile(0.0), found.quantile(1.0)) == (values.min(), values.max())
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(PactError, match="share: must be a finite number >= 0 and <= 1"):
            found.quantile(share)


def test_batches_do_not_matter_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    network = trace(With(), drawn(4))
    samples = drawn(4, count=50).train
    whole = measure_margins(network, samples)
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(margins, "rows_in_cache", lambda shape: 16)
    again = measure_margins(network, samples, progress=lambda done, total: told.append((done, total)))
    assert told == [(16, 50), (32, 50), (48, 50), (50, 50)]
    np.testing.assert_allclose(again.margins, whole.margins, rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        logits = network.module(torch.from_numpy(next(iter(samples.batches(50)))[0]))
    _, labels = next(iter(samples.batches(50)))
    wrong = sum(int(row.argmax()) != label for row, label in zip(logits, labels, strict=True))
    assert whole.share_below(0.0) == wrong / 50
    assert "50 margins on drawn" in str(whole)
    assert whole.to_json()["error"] == wrong / 50


def test_bad_input_is_refused() -> None:
    network = identity()
    with pytest.raises(PactError, match=r"model: must be a torch.nn.Module, or the path .*, got dict"):
        measure_margins({}, drawn(3).train)  # type: ignore[arg-type]
    with pytest.raises(PactError, match=r"takes inputs of shape \(3,\) and has 3 classes, the samples have \(4,\)"):
        measure_margins(network, drawn(4).train)
    nn.init.constant_(network.module.get_parameter("weight"), 1e38)
    with pytest.raises(PactError, match="sample 0: NaN or infinite logits"):
        measure_margins(network, rows([3, 3, 3], labels=[0]))
