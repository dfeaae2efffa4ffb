"""Norms of Jacobians: every pair against the full Jacobian, and standard errors that are honest."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from measurements.measured_nets import KINDS, image_samples, make
from torch import nn

from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, as_data
from netpact.measurements import Structure, find_structure, measure_jacobians
from netpact.measurements.folded import fold_for_measuring
from netpact.network import Network, PartialMap

ROWS = "netpact.measurements.jacobians.EXACT_ROWS"


def prepare(module: nn.Module, samples: ArraySamples) -> tuple[Network, Structure, torch.Tensor]:
    network, _ = fold_for_measuring(module, as_data(samples))
    inputs = torch.from_numpy(samples.inputs.copy())
    return network, find_structure(network, inputs[:2]), inputs


def full_jacobian(network: Network, pair: tuple[int, int], sample: torch.Tensor) -> torch.Tensor:
    """(outputs, channels or units, pixels) of one sample, by torch.func.jacrev."""
    partial = PartialMap(network, pair[0], (pair[1],), sample)
    point = partial.point()
    (jacobian,) = torch.func.jacrev(partial)(point)
    matrix = jacobian.detach().reshape(-1, *point.shape[1:]).double()
    return matrix.flatten(2) if matrix.dim() == 4 else matrix[:, :, None]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_add_up_to_the_full_jacobian(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROWS, 10**9)
    network, structure, inputs = prepare(make(kind), image_samples(3))
    found = measure_jacobians(network, structure, inputs, accuracy=0.1, seed=Seed(0))
    convolutions = {layer.index for layer in structure.layers if layer.kind == "conv2d"}
    for start in structure.indices:
        for end in structure.ends(start):
            for sample in range(3):
                full = full_jacobian(network, (start, end), inputs[sample : sample + 1])
                if (start, end) not in found:
                    assert not bool(full.any())
                    continue
                pair = found[start, end]
                assert pair.norm_error is None
                assert pair.norm[sample] == pytest.approx(float(full.norm()), rel=1e-4)
                assert (pair.peak is not None) == (start in convolutions)
                if pair.peak is not None:
                    pixels = full.square().sum(dim=(0, 1)).sqrt()
                    expected = math.sqrt(len(pixels)) * float(pixels.max() / full.norm())
                    assert pair.peak[sample] == pytest.approx(expected, rel=1e-4)


def test_layers_side_by_side_are_no_pair() -> None:
    network, structure, inputs = prepare(make("branches"), image_samples(2))
    found = measure_jacobians(network, structure, inputs, accuracy=0.5, seed=Seed(0))
    assert set(found) == {(1, 3), (2, 3)}


def test_averages_after_the_last_layer_make_the_logits_an_end_of_their_own() -> None:
    network, structure, inputs = prepare(make("pooled output"), image_samples(2))
    assert (structure.indices, structure.logits) == ((1, 2), 3)
    assert set(measure_jacobians(network, structure, inputs, accuracy=0.5, seed=Seed(0))) == {(1, 2), (1, 3), (2, 3)}


@pytest.mark.parametrize("kind", ["stride, groups, in place", "residual", "dense"])
def test_probes_agree_within_their_errors(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, structure, inputs = prepare(make(kind), image_samples(4))
    monkeypatch.setattr(ROWS, 10**9)
    exact = measure_jacobians(network, structure, inputs, accuracy=0.1, seed=Seed(0))
    monkeypatch.setattr(ROWS, 0)
    found = measure_jacobians(network, structure, inputs, accuracy=0.04, seed=Seed(1))
    assert found.keys() == exact.keys()
    for pair, norm in found.items():
        assert norm.norm_error is not None
        # One output has no spread at all: signs of one number all have the same square.
        assert (np.abs(norm.norm - exact[pair].norm) <= 5 * norm.norm_error + 1e-5 * exact[pair].norm).all()
        assert (norm.norm_error <= 0.04 * norm.norm).all() or norm.passes == 512
        expected = exact[pair].peak
        if norm.peak is not None and norm.peak_error is not None and expected is not None:
            # The most over pixels is never far below, and above by what the noise of the pixels adds.
            assert (norm.peak >= expected - 5 * norm.peak_error - 1e-5).all()
            assert (norm.peak <= expected * 1.3).all()


def test_standard_errors_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two standard errors of 16 probes cover about 93 % (Student's t of 15), of many probes 95 %.

    One sample stands in every row of the batch, and each row has probes of its own.
    """
    network, structure, inputs = prepare(make("pooling"), image_samples(2))
    monkeypatch.setattr(ROWS, 10**9)
    exact = measure_jacobians(network, structure, inputs[:1], accuracy=0.1, seed=Seed(0))
    monkeypatch.setattr(ROWS, 0)
    many = inputs[:1].repeat(400, 1, 1, 1)
    for accuracy, lowest in ((1.0, 0.9), (0.05, 0.9)):
        found = measure_jacobians(network, structure, many, accuracy=accuracy, seed=Seed(2))
        for pair in ((1, 2), (1, 3)):
            norm = found[pair]
            assert norm.norm_error is not None
            covered = np.abs(norm.norm - exact[pair].norm) <= 2 * norm.norm_error
            assert lowest <= covered.mean() <= 0.98


def test_probing_goes_on_until_it_is_accurate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROWS, 0)
    network, structure, inputs = prepare(make("pooling"), image_samples(2))
    rough = measure_jacobians(network, structure, inputs, accuracy=1.0, seed=Seed(0))[1, 2]
    fine = measure_jacobians(network, structure, inputs, accuracy=0.02, seed=Seed(0))[1, 2]
    assert rough.passes == 16 < fine.passes < 512
    assert fine.norm_error is not None
    assert (fine.norm_error / fine.norm).max() <= 0.02


def test_one_seed_gives_one_answer_whatever_the_layers_gradients_are_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROWS, 0)
    network, structure, inputs = prepare(make("pooling"), image_samples(2))
    first = measure_jacobians(network, structure, inputs, accuracy=0.5, seed=Seed(4))
    for parameter in network.module.parameters():
        parameter.requires_grad_(False)
    second = measure_jacobians(network, structure, inputs, accuracy=0.5, seed=Seed(4))
    assert all((first[pair].norm == second[pair].norm).all() for pair in first)


def test_a_linear_map_has_the_norm_of_its_matrix() -> None:
    """J = A exactly where no activation lies between."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(72, 6), nn.Linear(6, 3))
    network, structure, inputs = prepare(module, image_samples(2))
    found = measure_jacobians(network, structure, inputs, accuracy=0.1, seed=Seed(0))
    last = network.module.get_submodule("2").weight
    assert isinstance(last, torch.Tensor)
    assert found[1, 2].norm == pytest.approx(float(last.detach().double().norm()), rel=1e-6)
    assert found[1, 2].norm_error is None
