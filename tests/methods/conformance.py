"""What every compression method promises: give its instances in growing size, get the whole suite."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from netpact.coding.format import Compressed, Pact, own_slots, seal
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples
from netpact.methods import METHODS, Method, compress
from netpact.network import Network

_FOUND: dict[tuple[Method, int], tuple[Network, Compressed]] = {}


def few(data: Data) -> Samples:
    """Enough for laws, which hold for any samples."""
    return data.train.take(slice(300), name="few")  # type: ignore[attr-defined]


def compress_once(network: Network, method: Method, digits: Data) -> Compressed:
    """What the laws look at; that a second run gives the same is a law of its own. The network is kept with its id."""
    key = method, id(network)
    if key not in _FOUND:
        _FOUND[key] = network, compress(network, method, samples=few(digits))
    return _FOUND[key][1]


class MethodConformance:
    """Subclass it as TestSomething and fill in the two lists. One more law, on a fresh process, runs over all of them.

    sizes  instances whose message grows from one to the next
    bad    options that the method refuses at construction
    linear whether it takes a network of one linear layer, and can be made again from its repr in a fresh process
    """

    sizes: ClassVar[list[Method]]
    bad: ClassVar[list[dict[str, Any]]]
    linear: ClassVar[bool] = True

    @pytest.fixture(params=["linear", "mixed"])
    def network(self, request: pytest.FixtureRequest) -> Network:
        network: Network = request.getfixturevalue(request.param)
        return network

    def test_the_message_decodes_to_the_same_symbols(self, network: Network, digits: Data) -> None:
        for method in self.sizes:
            compressed = compress_once(network, method, digits)
            module = network.module if network.is_own_module else None
            decoded = Pact.from_bytes(seal(compressed).to_bytes()).decode(module)
            assert list(decoded.tensors) == list(compressed.tensors)
            for name, tensor in compressed.tensors.items():
                assert decoded.tensors[name].form == tensor.form, name
                assert np.array_equal(decoded.tensors[name].symbols, tensor.symbols), name
                assert np.array_equal(decoded.tensors[name].weights(), tensor.weights()), name

    def test_every_tensor_is_coded(self, network: Network, digits: Data) -> None:
        for method in self.sizes:
            compressed = compress_once(network, method, digits)
            coded = compressed.tensors
            assert [(name, coded[name].shape) for name in coded] == [
                (slot.name, slot.shape) for slot in own_slots(network.module, compressed.rewrites)
            ]
            kept = {slot.name for slot in own_slots(network.module, compressed.rewrites)}  # batch norm may be folded
            for name, buffer in network.module.named_buffers():
                assert name not in kept or np.array_equal(coded[name].weights(), buffer.double().numpy()), name

    def test_the_message_grows_with_the_parameter(self, network: Network, digits: Data) -> None:
        lengths = [len(seal(compress_once(network, method, digits)).message) for method in self.sizes]
        assert lengths == sorted(lengths)
        assert len(set(lengths)) == len(lengths)

    def test_the_same_input_gives_the_same_bytes(self, network: Network, digits: Data) -> None:
        for method in self.sizes:
            again = compress(network, method, samples=few(digits))
            assert seal(again).message == seal(compress_once(network, method, digits)).message

    def test_the_network_is_left_as_it_was(self, network: Network, digits: Data) -> None:
        before = {name: tensor.clone() for name, tensor in network.module.state_dict().items()}
        hooks = [len(part._forward_hooks) for part in network.module.modules()]
        compress(network, self.sizes[0], samples=few(digits))
        after = network.module.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert hooks == [len(part._forward_hooks) for part in network.module.modules()]
        assert not network.module.training

    def test_bad_options_die_at_construction(self) -> None:
        for options in self.bad:
            with pytest.raises(PactError) as raised:
                type(self.sizes[0])(**options)
            # Which option it was stands in the error.
            assert raised.value.where in options or set(options) == {"body_bits"}, options

    def test_it_is_registered_and_frozen(self) -> None:
        method = self.sizes[0]
        assert METHODS[method.name] is type(method)
        assert isinstance(method, Method)
        assert hash(method) == hash(type(method)(**vars(method)))
