"""The spectra of layers, and threshold pruning, against what is known by construction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.layers import CPConv2d
from netpact.models import build, initialise, parse_model
from netpact.papers.li.layer_properties import measure_properties
from netpact.papers.li.pruning import measure_pruning, prune_by_threshold
from netpact.papers.li.spectrum import decompose_to, layer_spectra

KNOWN = (8.0, 2.0, 1.0, 0.004)


def known_layer() -> CPConv2d:
    """Components of known amplitude in an order that is not theirs, one of them 0."""
    torch.manual_seed(0)
    layer = CPConv2d(3, 5, 3, 5, padding=1, stride=2, bias=True)
    sizes = torch.tensor([1.0, 8.0, 0.0, 0.004, 2.0])
    with torch.no_grad():
        for part in (layer.pointwise_in.weight, layer.depthwise.weight):
            part /= part.flatten(1).norm(dim=1)[:, None, None, None]
        out = layer.pointwise_out.weight
        out *= (sizes / out.flatten(1).norm(dim=0))[None, :, None, None]
    return layer


def first(module: nn.Module) -> CPConv2d:
    layer = next(iter(module.children()))
    assert isinstance(layer, CPConv2d)
    return layer


def network() -> nn.Sequential:
    return nn.Sequential(known_layer(), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(), nn.Linear(45, 4)).eval()


def samples(count: int = 64) -> ArraySamples:
    random = np.random.default_rng(1)
    inputs = random.standard_normal((count, 3, 6, 6)).astype(np.float32)
    return ArraySamples(inputs, random.integers(0, 4, count), "drawn", 4)


def test_of_a_cp_layer_its_own() -> None:
    (found,) = layer_spectra(network(), seed=Seed(0))
    assert found.name == "0"
    assert found.parameters == 5 * 3 * 9
    assert found.amplitudes == pytest.approx((*KNOWN, 0.0), rel=1e-5)
    assert found.error == 0


def test_of_a_dense_layer_by_decomposition() -> None:
    """1x1 convolutions have no spectrum in the paper's sense, and batch norm is no part of it."""
    torch.manual_seed(0)
    convolution = nn.Conv2d(6, 8, 3)
    module = nn.Sequential(convolution, nn.BatchNorm2d(8), nn.Conv2d(8, 4, 1), nn.Conv2d(4, 4, 3, groups=4))
    (found,) = layer_spectra(module, seed=Seed(0))
    assert found.name == "0"
    assert found.error <= 1e-3
    kernel = convolution.weight.detach()
    again = decompose_to(convolution, seed=Seed(0).child("0"))
    assert again.weights.tolist() == pytest.approx(found.amplitudes)
    assert float((again.to_dense() - kernel).norm() / kernel.norm()) <= 1.01e-3


def test_decomposition_of_low_rank_stops_early() -> None:
    found = decompose_to(known_layer().dense(), seed=Seed(0))
    assert found.relative_error <= 1e-3
    assert found.rank <= 5 * 3 * 9 // (5 + 3 + 9)
    # One channel: the exact form is of no higher rank than any other.
    assert decompose_to(nn.Conv2d(1, 1, 3), seed=Seed(0)).relative_error < 1e-6


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, 5), (1e-4, 4), (0.1, 3), (0.125, 3), (0.2, 2), (0.3, 1)])
def test_pruning_keeps_the_components_from_the_threshold_on(threshold: float, kept: int) -> None:
    """1/8 and 2/8 are at 0.125 and 0.25 of the largest."""
    module = network()
    if threshold == 0.125:
        threshold = 0.1249  # the norms are rounded
    other = prune_by_threshold(module, threshold)
    layer = first(other)
    assert layer.rank == kept
    assert layer.spectrum().tolist() == pytest.approx(KNOWN[:kept], rel=1e-5)
    assert layer.depthwise.stride == (2, 2)
    # What is dropped is what is missing: the dense kernels differ by the other components.
    rest = first(module).dense().weight - layer.dense().weight
    assert float(rest.detach().norm()) <= sum(KNOWN[kept:]) * 1.001 + 1e-12
    if kept < 4:
        assert float(rest.detach().norm()) > 0
    assert first(module).rank == 5, "the given one stays as it is"


def test_rows_of_pruning() -> None:
    """A named network, so that its file can be opened; one component of one layer is 0."""
    test = samples()
    module = build(parse_model("cp-vgg:11-2-100-1", input_shape=(3, 6, 6), classes=4))
    initialise(module, Seed(0))
    layer = module.get_submodule("conv4")
    assert isinstance(layer, CPConv2d)
    with torch.no_grad():
        layer.pointwise_out.weight[:, 3] = 0
    module.eval()
    rows = measure_pruning(module, Data("drawn", 4, samples(), test), (0.0, 1e-9, 1.0))
    whole = sum(one.numel() for one in module.parameters())
    assert [row.parameters for row in rows[:2]] == [whole, whole - sum(layer.modes)]
    assert rows[1].kept[3] == rows[0].kept[3] - 1 == layer.rank - 1
    assert set(rows[2].kept) == {1}
    assert rows[0].accuracy == rows[1].accuracy, "a component of weight 0 says nothing"
    with torch.no_grad():
        right = module(torch.tensor(test.inputs)).argmax(dim=1) == torch.tensor(test.labels)
    assert rows[0].accuracy == pytest.approx(float(right.float().mean()))
    # 8 bits for each weight lose little of it; fewer weights take fewer bytes.
    assert all(abs(row.sealed_accuracy - row.accuracy) <= 0.1 for row in rows)
    assert rows[2].message_bytes < rows[1].message_bytes
    assert all(1 - row.sealed_accuracy <= row.bound <= 1 for row in rows)


def test_a_layer_of_zeros_keeps_one_component() -> None:
    module = network()
    nn.init.zeros_(first(module).pointwise_out.weight)
    other = prune_by_threshold(module, 0.1)
    assert first(other).rank == 1
    inputs = torch.tensor(samples(4).inputs)
    assert torch.equal(other(inputs), module(inputs))


def test_properties_of_one_layer_by_hand() -> None:
    """1 and 2 components of three: t and xi are sums of lambda times the largest gain of each kernel."""
    torch.manual_seed(0)
    module = nn.Sequential(CPConv2d(3, 4, 1, 3, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 4))
    data = Data("drawn", 4, samples(), samples())
    (found,) = measure_properties(module, data)
    spectrum = first(module).spectrum()  # kernels of one pixel have gain 1
    assert found.components == 3
    assert found.tensorization == pytest.approx(float(spectrum[0]))
    assert found.noise == pytest.approx(float(spectrum[1:].sum()))
    assert found.whole == pytest.approx(float(spectrum.sum()))
    inputs = torch.tensor(data.train.inputs)  # type: ignore[attr-defined]
    with torch.no_grad():
        before, after = inputs.flatten(1).norm(dim=1), module[:3](inputs).norm(dim=1)
    weight = first(module).dense().weight.detach()
    assert found.cushion == pytest.approx(float((after / before).min() / weight.norm()), rel=1e-4)
    assert 1 <= found.kept <= found.kept_validly <= 3
