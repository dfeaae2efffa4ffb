"""The whole way for each deep family: trace, compress, seal, open, certify, verify."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netpact.coding.format import Pact, seal
from netpact.datasets import ArraySamples, Data
from netpact.layers import ChannelAffine
from netpact.methods import Quantize, compress
from netpact.models import Architecture, build
from netpact.network import ToleranceRun, trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify

SHAPE = (1, 8, 8)
SMALL = [
    Architecture(8, (2,), SHAPE, 3),
    Architecture(9, (11, 4, 1), SHAPE, 3),
    Architecture(9, (11, 4, 2), SHAPE, 3),
    Architecture(10, (8, 4, 1), SHAPE, 3),
    Architecture(10, (8, 4, 2), SHAPE, 3),
    Architecture(11, (8, 4, 2), SHAPE, 3),
    Architecture(12, (10, 1, 2), SHAPE, 3),
    Architecture(13, (10, 4, 1), SHAPE, 3),
    Architecture(13, (10, 4, 2), SHAPE, 3),
]


def drawn(count: int = 24) -> Data:
    x = np.random.default_rng(0).random((count, *SHAPE)).astype(np.float32)
    return Data("drawn", 3, ArraySamples(x, np.arange(count) % 3, "drawn", 3))


@pytest.mark.parametrize("architecture", SMALL, ids=str)
def test_the_whole_way(architecture: Architecture) -> None:
    data = drawn()
    network = trace(build(architecture), data)
    assert network.architecture == architecture
    sealed = seal(compress(network, Quantize(bits=4)))
    pact = Pact.from_bytes(certify(sealed, data, most_near_ties=1).to_bytes())
    assert verify(pact, data).agreed
    module = pact.to_module()
    logits = ToleranceRun(module, "float32")(next(iter(data.train.batches(24)))[0])
    with torch.no_grad():
        plain = module(torch.from_numpy(next(iter(data.train.batches(24)))[0]))
    assert bool(((plain.double() - logits.values).abs() <= logits.spread).all())


def test_the_rounding_of_a_channel_affine_is_covered() -> None:
    layer = ChannelAffine(3)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        layer.weight.uniform_(-3, 3, generator=generator)
        layer.bias.uniform_(-3, 3, generator=generator)
    inputs = torch.randn(64, 3, 5, 4, generator=generator)
    found = ToleranceRun(layer, "float32")(inputs.numpy())
    wanted = layer.weight.double().view(3, 1, 1) * inputs.double() + layer.bias.double().view(3, 1, 1)
    torch.testing.assert_close(found.values, wanted.detach(), rtol=1e-14, atol=1e-14)
    difference = (layer(inputs).detach().double() - found.values).abs()
    assert bool((difference <= found.spread).all())
    assert float(difference.max()) > 0.01 * float(found.spread.max())
