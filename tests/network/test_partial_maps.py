"""Activations, partial maps and their derivatives against autograd on whole networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.datasets import ArraySamples
from netpact.errors import PactError
from netpact.network import Network, PartialMap, stream_activations, trace


class Skips(nn.Module):
    """In-place activations, an addition around a layer, pooling, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 3, 3, padding=1)
        self.second = nn.Conv2d(3, 3, 3, padding=1)
        self.third = nn.Conv2d(3, 2, 3, padding=1)
        self.head = nn.Linear(2 * 3 * 3, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.first(x))
        x = self.act(x + self.second(x))
        x = nn.functional.max_pool2d(self.act(self.third(x)), 2)
        return self.head(x.flatten(1))


def make_plain() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 7), nn.Tanh(), nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 4))


@pytest.fixture(params=["skips", "plain"])
def network(request: pytest.FixtureRequest) -> Network:
    torch.manual_seed(0)
    module = Skips() if request.param == "skips" else make_plain()
    return trace(module, samples())


def samples(count: int = 10) -> ArraySamples:
    random = np.random.default_rng(1)
    return ArraySamples(random.random((count, 1, 6, 6)).astype(np.float32), np.arange(count) % 4, "small", 4)


def whole_batch() -> Tensor:
    return torch.from_numpy(samples().inputs.copy())


def test_activations_are_those_of_the_layers(network: Network) -> None:
    parts = dict(network.module.named_modules())
    batches = list(stream_activations(network, samples(), batch=4))
    assert [len(batch.labels) for batch in batches] == [4, 4, 2]
    with torch.no_grad():
        expected = network.module(whole_batch())
        torch.testing.assert_close(torch.cat([batch.logits for batch in batches]), expected)
        for batch in batches:
            assert set(batch.inputs) == set(batch.outputs) == {layer.index for layer in network.layers}
            for layer in network.layers:
                again = parts[layer.name](batch.inputs[layer.index])
                torch.testing.assert_close(again, batch.outputs[layer.index])
                assert layer is network.layers[-1] or bool((again < 0).any()), "before the activation, not after"


def test_a_partial_map_gives_what_the_network_gives(network: Network) -> None:
    last = len(network.layers) + 1
    (whole,) = stream_activations(network, samples(), batch=10)
    for start in range(1, last):
        ends = tuple(range(start + 1, last + 1))
        partial = PartialMap(network, start, ends, whole_batch())
        torch.testing.assert_close(partial.point(), whole.outputs[start])
        with torch.no_grad():
            found = partial(partial.point())
            moved = partial(partial.point() + 1.0)
        for end, value, other in zip(ends, found, moved, strict=True):
            torch.testing.assert_close(value, whole.logits if end == last else whole.outputs[end])
            assert not torch.allclose(value, other)


@pytest.mark.parametrize("start", [1, 2])
def test_derivatives_are_those_of_the_full_jacobian(network: Network, start: int) -> None:
    last = len(network.layers) + 1
    ends = tuple(range(start + 1, last + 1))
    partial = PartialMap(network, start, ends, whole_batch()[:3])
    generator = torch.Generator().manual_seed(start)
    x = partial.point()
    direction = torch.randn(x.shape, generator=generator)
    pushed = partial.push(direction)
    weights = [torch.randn(value.shape, generator=generator) for value in pushed]
    pulled = partial.pull(*weights)
    expected = torch.zeros_like(x)
    for sample in range(3):
        alone = PartialMap(network, start, ends, whole_batch()[sample : sample + 1])
        jacobians = torch.func.jacrev(alone)(x[sample : sample + 1])
        for jacobian, found, weight in zip(jacobians, pushed, weights, strict=True):
            matrix = jacobian.reshape(found[sample].numel(), -1)
            product = (matrix @ direction[sample].flatten()).reshape(found[sample].shape)
            torch.testing.assert_close(found[sample], product, rtol=1e-4, atol=1e-5)
            expected[sample] += (matrix.T @ weight[sample].flatten()).reshape(x[sample].shape)
    torch.testing.assert_close(pulled, expected, rtol=1e-4, atol=1e-5)


def test_the_network_is_left_as_it_was(network: Network) -> None:
    partial = PartialMap(network, 1, (2,), whole_batch())
    with pytest.raises(RuntimeError):
        partial(torch.zeros(1, 99))
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in network.module.modules())


@pytest.mark.parametrize(("start", "ends"), [(0, (1,)), (1, (1,)), (2, (1,)), (1, (9,)), (1, ())])
def test_pairs_that_are_none_are_refused(network: Network, start: int, ends: tuple[int, ...]) -> None:
    with pytest.raises(PactError, match="partial map"):
        PartialMap(network, start, ends, whole_batch())
