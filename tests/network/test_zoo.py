"""Awkward modules: each is handled the whole way, or refused with every reason in one error."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from network.awkward_modules import HANDLED, REFUSED, VECTOR, Buffered, Shared, Tied, TwoNames, With, drawn
from torch import Tensor, nn

from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.deviations import deviation_bound
from netpact.methods import Quantize, compress
from netpact.network import (
    Network,
    PartialMap,
    UnsupportedNetworkError,
    count_errors,
    stream_activations,
    trace,
)
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify


@pytest.fixture(params=HANDLED)
def awkward(request: pytest.FixtureRequest) -> tuple[nn.Module, Network, Tensor]:
    """A raw module, what trace makes of it, and samples."""
    shape, make = HANDLED[request.param]
    module, data = make(), drawn(*shape)
    network = trace(module, data)
    return copy.deepcopy(module).eval(), network, torch.from_numpy(next(iter(data.train.batches(6)))[0])


def run_with(module: nn.Module, x: Tensor, name: str, call: int, delta: Tensor | None) -> tuple[Tensor, Tensor]:
    """The raw module's logits with delta added to one layer's output, and that output itself."""
    calls: Counter[str] = Counter()
    kept: list[Tensor] = []

    def move(part: nn.Module, inputs: Any, output: Tensor) -> Tensor | None:
        calls[name] += 1
        if calls[name] != call:
            return None
        kept.append(output.detach().clone())
        return output if delta is None else output + delta

    handle = module.get_submodule(name).register_forward_hook(move)
    try:
        logits: Tensor = module(x.clone())
    finally:
        handle.remove()
    return logits, kept[0]


def test_handled_modules_are_seen_as_autograd_sees_them(awkward: tuple[nn.Module, Network, Tensor]) -> None:
    module, network, x = awkward
    (batch,) = stream_activations(network, drawn(*x.shape[1:]).train, batch=6)
    last = len(network.layers) + 1
    generator = torch.Generator().manual_seed(3)
    for layer in network.layers:
        logits, output = run_with(module, x, layer.name, layer.call, None)
        torch.testing.assert_close(batch.outputs[layer.index], output)
        torch.testing.assert_close(batch.logits, logits)
        partial = PartialMap(network, layer.index, (last,), x)
        torch.testing.assert_close(partial.point(), output)
        direction = torch.randn(output.shape, generator=generator)
        weights = torch.randn(logits.shape, generator=generator)
        delta = torch.zeros_like(output, requires_grad=True)
        (pulled,) = torch.autograd.grad(run_with(module, x, layer.name, layer.call, delta)[0], delta, weights)
        torch.testing.assert_close(partial.pull(weights), pulled, rtol=1e-4, atol=1e-5)
        (pushed,) = partial.push(direction)
        torch.testing.assert_close((pushed * weights).sum(), (pulled * direction).sum(), rtol=1e-3, atol=1e-4)


def test_handled_modules_go_into_a_file_and_out(
    awkward: tuple[nn.Module, Network, Tensor], request: pytest.FixtureRequest
) -> None:
    module, network, x = awkward
    compressed = compress(network, Quantize(bits=5))
    fresh = HANDLED[request.node.callspec.params["awkward"]][1]()
    opened = Pact.from_bytes(seal(compressed).to_bytes()).to_module(fresh)
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    assert tensors.keys() == compressed.tensors.keys()
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(torch.from_numpy(compressed.tensors[name].weights()))
        assert torch.equal(opened(x.clone()), module(x.clone()))
    counted = count_errors(opened, drawn(*x.shape[1:]).train, arithmetic="float32")
    assert counted.samples == 6


@pytest.mark.parametrize("make", [Shared, Tied, TwoNames, lambda: Buffered(used=True)])
def test_shared_weights_are_certified_and_verified_in_a_fresh_build(make: Any) -> None:
    data = drawn(*VECTOR, count=30)
    sealed = seal(compress(trace(make(), data), Quantize(bits=4)))
    pact = Pact.from_bytes(certify(sealed, data, model=make).to_bytes())
    assert verify(pact, data, model=make).agreed


@pytest.mark.parametrize("make", [Shared, Tied, TwoNames])
def test_shared_weights_are_coded_once_and_keep_their_bound(make: Any) -> None:
    data = drawn(*VECTOR, count=30)
    network = trace(make(), data)
    compressed = compress(network, Quantize(bits=3))
    assert sum(tensor.symbols.size for tensor in compressed.tensors.values()) == network.parameters
    rows = sum(layer.parameters for layer in network.layers)
    assert rows > network.parameters, "each row tells its module's parameters"
    deviation = deviation_bound(network, compressed, data)
    assert bool((deviation.measured <= deviation.bounds).all())
    assert float(deviation.measured.min()) > 0


def test_the_bound_counts_every_run_of_a_shared_layer() -> None:
    """x -> A (A x) with multiples of the identity: the first run's error is carried on, the second's is added."""
    layer = nn.Linear(3, 3, bias=False)
    module = nn.Sequential(layer, layer)
    other = copy.deepcopy(module)
    with torch.no_grad():
        layer.weight.copy_(2 * torch.eye(3))
        other.get_parameter("0.weight").copy_(2.5 * torch.eye(3))
    data = drawn(3)
    deviation = deviation_bound(module, other, data)
    norms = torch.linalg.vector_norm(torch.from_numpy(next(iter(data.train.batches(6)))[0]).double(), dim=1)
    expected = (2.5 * 0.5 + 0.5 * 2.0) * norms
    torch.testing.assert_close(torch.tensor(deviation.bounds), expected, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_networks_are_refused_by_name(name: str) -> None:
    make, lines = REFUSED[name]
    module = make()
    state = torch.random.get_rng_state()
    with pytest.raises(UnsupportedNetworkError) as raised:
        trace(module, drawn(4))
    assert raised.value.where == type(module).__name__
    assert "docs/networks.md" in raised.value.hint
    for line in lines:
        assert any(line in problem for problem in raised.value.problems), f"{line} is not in {raised.value.problems}"
    assert torch.equal(state, torch.random.get_rng_state())


def test_all_problems_are_named_at_once() -> None:
    module = With(
        lambda s, x: (s.head(x), x),
        scale=nn.Parameter(torch.ones(1).half()),
        kept=torch.ones(2),
    )
    with pytest.raises(UnsupportedNetworkError) as raised:
        trace(module, drawn(4))
    wanted = (
        "scale is torch.float16",
        "kept: outside parameters and buffers",
        "it returns tuple",
    )
    for line in wanted:
        assert sum(line in problem for problem in raised.value.problems) == 1, line
    assert len(raised.value.problems) == len(wanted)


def test_modules_that_cannot_be_copied_or_watched() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these parts of torch warn that they are deprecated
        cases: list[tuple[nn.Module, tuple[str, ...]]] = [
            (
                nn.Sequential(nn.utils.weight_norm(nn.Linear(4, 3))),
                ("0.weight: outside parameters", "it cannot be copied"),
            ),
            (torch.jit.script(nn.Sequential(nn.Linear(4, 3))), ("give the Python module it was made from",)),
            (nn.Sequential(torch.jit.script(nn.Linear(4, 3))), ("0 (RecursiveScriptModule): is compiled to",)),
        ]
    for module, lines in cases:
        with pytest.raises(UnsupportedNetworkError) as raised:
            trace(module, drawn(4))
        assert len(raised.value.problems) == len(lines)
        assert all(line in str(raised.value) for line in lines)


def test_a_module_compiled_in_place_is_copied_without_its_compiler() -> None:
    module = nn.Sequential(nn.Linear(4, 3))
    module._compiled_call_impl = lambda x: 1 / 0  # what module.compile() sets  # type: ignore[assignment]
    assert trace(module, drawn(4)).layers


def test_what_is_no_module() -> None:
    with pytest.raises(PactError, match=r"model: must be a torch.nn.Module, or the path .*, got dict"):
        trace({}, drawn(4))  # type: ignore[arg-type]


def test_one_sample_is_enough_to_see_that_samples_mix() -> None:
    with pytest.raises(UnsupportedNetworkError, match="depend on the other samples"):
        trace(With(lambda s, x: s.head(x + x.mean(0))), drawn(4, count=1, classes=3))
    assert trace(With(), drawn(4, count=1, classes=3)).layers
