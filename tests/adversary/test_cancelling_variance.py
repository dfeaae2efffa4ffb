"""Batch norm whose running variance is negative: var + eps cancels, and rounding decides what is left.

With running_var = -float32(1e-5) and eps = 1e-5 the sum is a small positive number in float64, where errors are
counted, and zero or negative in float32: infinity or NaN. Also tried: eps = 0 with a vanishing variance,
folding, deviation bounds.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from netpact.coding.format import Compressed, seal
from netpact.coding.forms import CodedTensor, Exact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import count_errors, fold_batch_norm, trace
from netpact.pacts.certification import certify

CANCELS = -float(np.float32(1e-5))


def data() -> Data:
    x = np.random.default_rng(0).random((12, 3, 8, 8)).astype(np.float32)
    return Data("drawn", 2, ArraySamples(x, np.arange(12) % 2, "drawn", 2))


def net(variance: float, *, eps: float = 1e-5) -> nn.Module:
    module = build(parse_model("resnet:8-1-1", input_shape=(3, 8, 8), classes=2)).eval()
    norm = next(part for part in module.modules() if isinstance(part, nn.BatchNorm2d))
    assert norm.running_var is not None
    norm.running_var.fill_(variance)
    norm.eps = eps
    return module


BAD = [(CANCELS, 1e-5), (-1e-6, 1e-5), (0.0, 0.0), (1e-38, 0.0)]


@pytest.mark.parametrize(("variance", "eps"), BAD)
def test_errors_are_not_counted(variance: float, eps: float) -> None:
    for arithmetic in ("float32", "float64"):
        with pytest.raises(PactError, match="batch_norm with a negative running variance"):
            count_errors(net(variance, eps=eps), data().train, arithmetic=arithmetic)


def test_a_file_that_holds_such_a_norm_is_not_certified() -> None:
    pact = seal(compress(trace(net(1.0), data()), Quantize(bits=6)))
    bad = seal(_with_variance(compress(trace(net(1.0), data()), Quantize(bits=6))))
    assert certify(pact, data()).certificate is not None
    with pytest.raises(PactError, match="batch_norm with a negative running variance"):
        certify(bad, data())


def _with_variance(compressed: Compressed) -> Compressed:
    name = next(name for name in compressed.tensors if name.endswith("running_var"))
    old = compressed.tensors[name]
    bits = np.full(int(np.prod(old.shape)), np.float32(CANCELS)).view(np.uint32).astype(np.int64)
    return replace(compressed, tensors={**compressed.tensors, name: CodedTensor(Exact(), bits, old.shape)})


def test_trace_names_it() -> None:
    (named,) = trace(net(CANCELS), data()).unruled
    assert named.startswith("batch_norm with a negative running variance")
    assert trace(net(1.0), data()).unruled == ()


@pytest.mark.parametrize("bad", [0, 1])
def test_no_deviation_is_bounded(bad: int) -> None:
    pair = [net(1.0), net(1.0)]
    pair[bad] = net(CANCELS)
    with pytest.raises(PactError, match="negative running variance"):
        promised_error(pair[0], pair[1], data())


def test_it_is_not_folded() -> None:
    with pytest.raises(PactError, match="a negative running variance"):
        fold_batch_norm(net(CANCELS), data())


def test_ordinary_norms_are_not_touched() -> None:
    module = net(1e-4)
    twin = copy.deepcopy(module)
    assert count_errors(module, data().train, arithmetic="float32").samples == 12
    assert bool(torch.equal(module(torch.zeros(1, 3, 8, 8)), twin(torch.zeros(1, 3, 8, 8))))
