"""The fixed stem outside its range: pixels from 0 to 255 as floats.

The stem computes in whole numbers below 2^24, which holds for inputs from 0 to 1. The adversary hands over floats up to
255: the sums pass 2^24, and another order of the same sums gives other features while the certificate allows for no
rounding at all. Also tried: a single bad sample deep in the data, negative numbers, and huge ones in a plain run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.layers import SobelOptions, contour, orient, oriented, sobel
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import count_errors, trace
from netpact.pacts.certification import certify
from netpact.pacts.verification.recount import count_anew

MODELS = ("oriented:8-4-4-4-1", "contours:4-2-2-1", "sobel:8-5-4-4-2-5")
STEMS = (
    partial(orient, orientations=32, inhibition=1, cell=12, stride=4, straighten=False, mirror=True),
    partial(contour, cells=12, rows=11, columns=5, straighten=False, mirror=True),
    partial(sobel, options=SobelOptions(32, 1, 12, 4, 1, straighten=True, resize=True, mirror=True)),
)


def images(count: int = 20, scale: float = 1.0, bad: tuple[int, float] | None = None) -> Data:
    x = np.random.default_rng(0).integers(0, 256, (count, 1, 12, 12)).astype(np.float32) / np.float32(255) * scale
    if bad is not None:
        x[bad[0], 0, 5, 5] = bad[1]
    return Data("images", 2, ArraySamples(x.astype(np.float32), np.arange(count) % 2, "images", 2))


def net(model: str) -> torch.nn.Module:
    return build(parse_model(model, input_shape=(1, 12, 12), classes=2))


@pytest.mark.parametrize("model", MODELS)
def test_trace_refuses_inputs_outside_the_range(model: str) -> None:
    with pytest.raises(PactError, match=r"sample 0: the stem of this network takes inputs from 0 to 1, got .* to 2"):
        trace(net(model), images(scale=255))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", [255.0, -1.0, 1.0001, 3e38])
def test_one_bad_sample_is_named_wherever_it_is(value: float, model: str) -> None:
    """When errors are counted, counted again, and when two networks are compared: past the first batch, too."""
    module, data = net(model), images(700, bad=(613, value))
    for count in (
        lambda: count_errors(module, data.train, arithmetic="float32"),
        lambda: count_anew(module, data.train, "float32"),
        lambda: promised_error(trace(module, images()), module, data),
    ):
        with pytest.raises(PactError, match="sample 613: the stem of this network takes inputs from 0 to 1"):
            count()


@pytest.mark.parametrize("model", MODELS)
def test_certify_refuses_them(model: str) -> None:
    pact = seal(compress(trace(net(model), images()), Quantize(bits=4)))
    assert certify(pact, images()).certificate is not None
    with pytest.raises(PactError, match="takes inputs from 0 to 1"):
        certify(pact, images(scale=255))


@pytest.mark.parametrize("stem", STEMS)
def test_a_plain_run_cuts_them_off_and_stays_exact(stem: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.from_numpy(next(iter(images(4, scale=255, bad=(2, -7.0)).train.batches(4)))[0])
    assert torch.equal(stem(x), stem(x.clamp(0, 1)))
    assert float(stem(x * 1e30).abs().max()) < 2.0**24


def test_the_largest_sums_stay_below_the_exact_range() -> None:
    """For every allowed number of orientations: all positive taps at 255, in every place of the largest cell."""
    slope, smooth = (-2, -3, 0, 3, 2), (1, 3, 4, 3, 1)
    for count in range(1, oriented.MAX_ORIENTATIONS + 1):
        largest = 0
        for k in range(count):
            c, s = (round(16 * f(2 * math.pi * k / count)) for f in (math.cos, math.sin))
            taps = [c * slope[i] * smooth[j] + s * slope[j] * smooth[i] for i in range(5) for j in range(5)]
            largest = max(largest, 255 * sum(max(0, tap) for tap in taps))
        assert 16 * largest < 2**24
        assert count * largest < 2**24
        assert 16 * largest // 64 * oriented.MAX_CELL**2 < 2**24
