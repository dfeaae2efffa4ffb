"""Activations, partial maps and their derivatives against autograd on whole networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network.awkward_modules import Shared, drawn, spread_norm
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.layers import ChannelAffine, DenseStep, Residual
from netpact.network import Network, PartialMap, stream_activations, trace
from netpact.network.watching import watching


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


SIDE = 5
ACTIVATIONS: tuple[type[nn.Module], ...] = (nn.ReLU, nn.Tanh, nn.GELU, nn.LeakyReLU, nn.Sigmoid, nn.SiLU)


@st.composite
def image_networks(draw: st.DrawFn) -> nn.Module:
    """Chains of blocks of every kind that keep two channels, with one convolution that may stand in several places."""
    torch.default_generator.manual_seed(draw(st.integers(0, 999)))
    again = nn.Conv2d(2, 2, 3, padding=1)
    channels, side = 2, SIDE
    parts: list[nn.Module] = [nn.Conv2d(1, 2, 3, padding=1, bias=draw(st.booleans()))]
    kinds = draw(st.lists(st.sampled_from(sorted(_BLOCKS)), min_size=1, max_size=3))
    for kind in kinds:
        parts.append(draw(st.sampled_from(ACTIVATIONS))())
        if kind == "shared":
            parts += [again, nn.ReLU(inplace=True), again] if channels == 2 else []
            continue
        block, channels, side = _BLOCKS[kind](channels, side)
        parts.append(block)
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * side * side, 3))


_BLOCKS: dict[str, Any] = {
    "groups": lambda c, n: (nn.Conv2d(c, 2 * c, 3, padding=1, groups=2, bias=False), 2 * c, n),
    "dilation": lambda c, n: (nn.Conv2d(c, c, 3, padding=2, dilation=2), c, n),
    "stride": lambda c, n: (nn.Conv2d(c, c, 3, padding=1, stride=2), c, (n + 1) // 2),
    "circular": lambda c, n: (nn.Conv2d(c, c, 3, padding=1, padding_mode="circular"), c, n),
    "skip": lambda c, n: (Residual(nn.Conv2d(c, c, 3, padding=1), nn.Sequential()), c, n),
    "two ways": lambda c, n: (Residual(nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 3, padding=1)), c, n),
    "dense": lambda c, n: (DenseStep(nn.Sequential(nn.ReLU(), nn.Conv2d(c, 2, 3, padding=1))), c + 2, n),
    "max pool": lambda c, n: (nn.MaxPool2d(3, stride=1, padding=1), c, n),
    "average pool": lambda c, n: (nn.AvgPool2d(3, stride=1, padding=1), c, n),
    "norm": lambda c, n: (spread_norm(nn.BatchNorm2d(c)), c, n),
    "affine": lambda c, n: (ChannelAffine(c), c, n),
    "shared": None,
}


def outputs_if_moved(network: Network, x: Tensor, start: int, delta: Tensor) -> dict[int, Tensor]:
    """By hooks of our own: every layer's output, and the logits, with delta added to the output of layer `start`."""
    calls: Counter[str] = Counter()
    found: dict[int, Tensor] = {}
    order = {(layer.name, layer.call): layer.index for layer in network.layers}

    def move(name: str, output: Tensor) -> Tensor:
        calls[name] += 1
        index = order[name, calls[name]]
        found[index] = output + delta if index == start else output.clone()
        return found[index].clone()

    handles = [
        network.module.get_submodule(name).register_forward_hook(lambda _, __, output, name=name: move(name, output))
        for name in {layer.name for layer in network.layers}
    ]
    try:
        found[len(network.layers) + 1] = network.module(x)
    finally:
        for handle in handles:
            handle.remove()
    return found


def check_derivatives(network: Network, x: Tensor, start: int) -> None:
    """One sample: J v and J^T w from the full Jacobian, for every later layer."""
    ends = tuple(range(start + 1, len(network.layers) + 2))
    partial = PartialMap(network, start, ends, x)
    generator = torch.Generator().manual_seed(start)
    point = partial.point()
    direction = torch.randn(point.shape, generator=generator)
    pushed = partial.push(direction)
    weights = [torch.randn(value.shape, generator=generator) for value in pushed]
    expected = torch.zeros_like(point)
    zero = torch.zeros_like(point)
    for end, found, weight in zip(ends, pushed, weights, strict=True):
        jacobian = torch.autograd.functional.jacobian(
            lambda delta, end=end: outputs_if_moved(network, x, start, delta)[end], zero
        )
        matrix = jacobian.reshape(found.numel(), point.numel())
        product = (matrix @ direction.flatten()).reshape(found.shape)
        torch.testing.assert_close(found, product, rtol=1e-3, atol=1e-4)
        expected += (matrix.T @ weight.flatten()).reshape(point.shape)
    torch.testing.assert_close(partial.pull(*weights), expected, rtol=1e-3, atol=1e-4)


@given(image_networks(), st.integers(0, 5))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_derivatives_of_random_networks(module: nn.Module, choice: int) -> None:
    network = trace(module, drawn(1, SIDE, SIDE))
    check_derivatives(network, torch.rand(1, 1, SIDE, SIDE), 1 + choice % len(network.layers))


@pytest.mark.parametrize("start", [1, 2, 3, 4, 5])
def test_every_run_of_a_shared_layer_has_a_map_of_its_own(start: int) -> None:
    network = trace(Shared(), drawn(4))
    check_derivatives(network, torch.rand(1, 4), start)


def test_runs_are_counted_anew_in_every_run_of_the_network() -> None:
    network = trace(Shared(), drawn(4))
    seen: list[int] = []

    def look(index: int, given: Tensor, output: Tensor) -> Tensor:
        seen.append(index)
        return output

    with watching(network, look):
        network.module(torch.rand(2, 4))
        network.module(torch.rand(2, 4))
    assert seen == [1, 2, 3, 4, 5] * 2


def test_a_run_that_trace_did_not_see_is_told() -> None:
    class Growing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.times = 1
            self.again, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(self.times):
                x = torch.tanh(self.again(x))
            return self.head(x)

    network = trace(Growing(), drawn(4))
    network.module.times = 2  # type: ignore[assignment]
    with pytest.raises(PactError, match="Growing: run 2 of again was not there when the network was traced"):
        list(stream_activations(network, drawn(4).train))


def test_layers_before_the_start_are_not_run_again(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their outputs are kept from one run; the modules are left as they were."""
    start, last = 2, len(network.layers) + 1
    ran: list[str] = []
    for kind in {type(network.module.get_submodule(layer.name)) for layer in network.layers}:
        monkeypatch.setattr(kind, "forward", _counting(kind.forward, ran))
    partial = PartialMap(network, start, (last,), whole_batch())
    expected = partial(partial.point())
    once = len(ran)
    assert once == 2 * len(network.layers) - start
    partial.push(partial.point())
    partial.pull(*(torch.ones_like(value) for value in expected))
    assert len(ran) == once + 2 * (len(network.layers) - start)
    assert not any("forward" in part.__dict__ for part in network.module.modules())


def _counting(forward: Callable[..., Tensor], ran: list[str]) -> Callable[..., Tensor]:
    def run(self: nn.Module, x: Tensor) -> Tensor:
        ran.append(type(self).__name__)
        return forward(self, x)

    return run
