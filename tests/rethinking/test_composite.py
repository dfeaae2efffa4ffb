"""The statistical form <X, W_X> against an ordinary torch network, for inputs of orders 1 to 4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import netpact
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics import (
    CompositeCNN,
    ConvPool,
    Isometry,
    Window,
    positioning_factors,
    read_network,
)
from netpact.papers.rethinking.statistics.reading import write_network


@st.composite
def networks(draw: st.DrawFn) -> CompositeCNN:
    """Any stride, overlapping pooling, padding; one or two stages. Of order 4, the first mode is one of channels."""
    order = draw(st.integers(1, 4))
    channels = order == 4 or (order > 1 and draw(st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(
        draw(st.integers(2, 3)) if channels and not mode else draw(st.integers(5, 7)) for mode in range(order)
    )
    stages: list[ConvPool] = []
    sizes, before = shape, 1
    for stage in range(draw(st.integers(1, 2))):
        columns = [_mode(draw, sizes[mode], covered=channels and not mode) for mode in range(order)]
        kernel, stride, pooling, step, padding = (tuple(column) for column in zip(*columns, strict=True))
        window = Window(kernel=kernel, stride=stride, pooling=pooling, pooling_stride=step, padding=padding)
        count = draw(st.integers(1, 3))
        ahead = (before,) if stage else ()
        stages.append(ConvPool(rng.standard_normal((count, *ahead, *kernel)), window))
        sizes, before = window.sizes(sizes)[1], count
    output = rng.standard_normal((draw(st.integers(1, 3)), before, *sizes))
    return CompositeCNN(shape, stages, output, intercept=rng.standard_normal())


def _mode(draw: st.DrawFn, size: int, *, covered: bool) -> tuple[int, int, int, int, int]:
    if covered:
        return size, 1, 1, 1, 0
    padding = draw(st.integers(0, 1))
    kernel = draw(st.integers(1, min(3, size + 2 * padding)))
    stride = draw(st.integers(1, 2))
    convolved = (size + 2 * padding - kernel) // stride + 1
    pooling = draw(st.integers(1, min(3, convolved)))
    return kernel, stride, pooling, draw(st.integers(1, 3)), padding


@given(networks())
@settings(max_examples=60, deadline=None)
def test_equal_to_a_torch_network(network: CompositeCNN) -> None:
    inputs = np.random.default_rng(0).standard_normal((3, *network.shape))
    with torch.no_grad():
        expected = write_network(network)(torch.from_numpy(inputs)).numpy()
    scale = 1 + np.abs(expected).max()
    assert np.abs(network.predict(inputs) - expected).max() < 1e-12 * scale
    features = network.features(inputs).reshape(3, -1)
    assert np.abs(features @ network.core.reshape(network.outputs, -1).T + network.intercept - expected).max() < (
        1e-12 * scale
    )


@pytest.mark.parametrize("padding", [0, 1])
def test_a_torch_network_is_read(padding: int) -> None:
    torch.manual_seed(0)
    layers: list[nn.Module] = [
        nn.Conv2d(3, 4, 3, stride=2, padding=padding),
        nn.AvgPool2d(2, stride=1),
        nn.Conv2d(4, 2, 2, padding=padding),
    ]
    images = torch.randn(5, 3, 9, 8)
    flat = nn.Sequential(*layers, nn.Flatten())(images).shape[1]
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, 3))
    network = read_network(module, (3, 9, 8))
    assert np.allclose(network.predict(images.numpy()), module(images).detach().numpy(), atol=1e-5)
    assert network.intercept.any(), "biases are in it"
    assert netpact.CompositeCNN is CompositeCNN


def test_weights_by_hand() -> None:
    """A kernel (a, b), mean of pairs, output (u, v): W_X = (ua, u(a + b), ub + va, v(a + b), vb) / 2."""
    window = Window(kernel=(2,), pooling=2)
    network = CompositeCNN((5,), [ConvPool(np.array([[2.0, 3.0]]), window)], np.array([[5.0, 7.0]]))
    assert (network.weights[0] * 2).tolist() == [10.0, 25.0, 15.0 + 14.0, 35.0, 21.0]
    assert network.core.tolist() == [[10.0, 15.0, 14.0, 21.0]], "the Kronecker product of output and kernel"


def test_isometry_is_that_of_the_kronecker_product() -> None:
    windows = [Window(kernel=(2, 3), pooling=(3, 4))]
    factors = positioning_factors((7, 14), windows)
    values = np.linalg.eigvalsh(np.kron(*factors).T @ np.kron(*factors))
    found = Isometry.of(factors)
    assert found.least == pytest.approx(values[0])
    assert found.largest == pytest.approx(values[-1])
    assert found.least > 0


SMALL: dict[str, Any] = {
    "shape": (5,),
    "stages": [ConvPool(np.ones((1, 2)), Window(kernel=(2,)))],
    "output": np.ones((1, 4)),
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shape": ()}, "integers, one for each mode"),
        ({"shape": (0,)}, ">= 1"),
        ({"stages": []}, "at least one"),
        ({"stages": [1]}, "ConvPool"),
        ({"stages": [ConvPool(np.ones((1, 3)), Window(kernel=(2,)))]}, r"kernels of sizes \(K, 2\)"),
        ({"stages": [ConvPool(np.ones((1, 6)), Window(kernel=(6,)))]}, "do not fit"),
        ({"stages": SMALL["stages"] * 2}, r"\(K, 1, 2\)"),
        ({"output": np.ones((2, 4))}, r"\(1, 4\) or \(outputs, 1, 4\)"),
        ({"output": "nonsense"}, "array of numbers"),
        ({"output": np.full((1, 4), np.nan)}, "not finite"),
    ],
)
def test_wrong_arguments_of_a_network(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PactError, match=said):
        CompositeCNN(**{**SMALL, **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kernel": 3}, "kernel: must be integers"),
        ({"stride": (1, 1)}, "stride: must have 1 entries"),
        ({"pooling": 0}, "pooling, mode 0"),
        ({"padding": -1}, "padding, mode 0"),
        ({"pooling_stride": 1.5}, "pooling_stride"),
    ],
)
def test_wrong_windows(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PactError, match=said):
        Window(**{"kernel": (2,), **changed})


def test_wrong_inputs() -> None:
    with pytest.raises(PactError, match=r"must have the sizes \(samples, 5\), got \(3, 4\)"):
        CompositeCNN(**SMALL).predict(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)], "ReLU is not supported"),
        ([nn.Conv2d(1, 2, 3), nn.Flatten()], "last layer must be linear"),
        ([nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(9, 2)], "9 inputs, 8 come in"),
        ([nn.Conv2d(1, 2, 2, dilation=2), nn.Flatten(), nn.Linear(8, 2)], "dilation"),
        ([nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), nn.Flatten(), nn.Linear(32, 2)], "only zeros"),
        ([nn.Conv2d(1, 2, 3), nn.AvgPool2d(2, padding=1), nn.Flatten(), nn.Linear(8, 2)], "pooling with padding"),
        ([nn.Flatten(), nn.Linear(16, 2)], "at least one convolution"),
    ],
)
def test_networks_that_have_no_such_form(layers: list[nn.Module], said: str) -> None:
    with pytest.raises(PactError, match=said):
        read_network(nn.Sequential(*layers), (1, 4, 4))
