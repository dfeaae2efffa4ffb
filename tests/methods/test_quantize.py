"""Quantize: the best step, codebooks, and tensors at the edge."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.coding import ShortFloat
from netpact.coding.forms import Codebook, Exact, Ternary, Uniform, Zero
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, compress, fitting
from netpact.network import Network, trace

Array = NDArray[np.float64]


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def squared_error(values: Array, step: float, limit: int) -> float:
    rounded = [min(max(round(v / step), -limit), limit) * step for v in values.ravel()]
    return sum((v - w) ** 2 for v, w in zip(values.ravel(), rounded, strict=True))


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_the_step_is_the_best_that_a_message_can_hold(bits: int, scale: float) -> None:
    """By brute force over every step within three octaves of the one that just reaches the largest entry."""
    values = drawn(7, 11, seed=bits) * scale
    form = fitting.fit_uniform_step(values, bits=bits)
    assert isinstance(form, Uniform)
    limit = 2 ** (bits - 1) - 1
    widest = float(np.abs(values).max()) / limit
    candidates = [ShortFloat(e, m) for e in range(-60, 60) for m in range(16)]
    candidates = [step for step in candidates if widest / 8 * 1.06 <= step.value <= widest * 1.03]
    best = min(squared_error(values, step.value, limit) for step in candidates)
    assert squared_error(values, form.step.value, limit) <= best * (1 + 1e-9)


def test_a_codebook_is_no_worse_than_an_even_grid_on_clustered_weights() -> None:
    random = np.random.default_rng(4)
    values = random.choice([-3.0, -0.1, 0.07, 1.0, 1.4, 6.0, 0.5], 600) + 0.01 * random.standard_normal(600)
    even = fitting.round_uniform(values, fitting.fit_uniform_step(values, bits=3), bits=3).weights()
    book = fitting.round_codebook(values, fitting.fit_codebook(values, bits=3)).weights()
    assert np.square(values - book).sum() < 0.5 * np.square(values - even).sum()


def test_codebook_symbols_name_the_nearest_value() -> None:
    values = drawn(400)
    coded = fitting.round_codebook(values, fitting.fit_codebook(values, bits=4))
    assert isinstance(coded.form, Codebook)
    entries = coded.form.weights(np.arange(16), (16,))
    nearest = np.abs(values[:, None] - entries).min(axis=1)
    assert np.allclose(np.abs(values - coded.weights()), nearest, rtol=0, atol=1e-12)


@pytest.mark.parametrize("density", [0.001, 0.25, 1.0])
def test_ternary_keeps_the_largest_and_their_mean(density: float) -> None:
    values = drawn(20, 10)
    symbols = fitting.ternary_symbols(values, density=density)
    kept = max(1, round(density * 200))
    assert np.count_nonzero(symbols) == kept
    assert np.abs(values.ravel()[symbols != 0]).min() >= np.abs(values.ravel()[symbols == 0]).max(initial=0)
    assert np.array_equal(symbols[symbols != 0], np.sign(values.ravel()[symbols != 0]))
    form = fitting.fit_ternary_step(values, symbols)
    assert isinstance(form, Ternary)
    assert form.step.value == pytest.approx(np.sort(np.abs(values.ravel()))[-kept:].mean(), rel=1 / 31)


def classifier(weight: Array) -> Network:
    module = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(weight))
        module.bias.zero_()
    x = np.ones((4, weight.shape[1]), dtype=np.float32)
    samples = ArraySamples(x, np.array([0, 1, 0, 1]), "ones", weight.shape[0])
    return trace(module, Data("ones", weight.shape[0], samples))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("grid", ["uniform", "codebook", "ternary"])
def test_a_tensor_of_zeros_stays_zero(grid: str, shared: bool) -> None:
    coded = compress(classifier(np.zeros((2, 3))), Quantize(grid=grid, shared=shared)).tensors
    assert not coded["weight"].weights().any()
    assert isinstance(coded["bias"].form, Zero)


@pytest.mark.parametrize("grid", ["uniform", "codebook", "ternary"])
def test_two_entries(grid: str) -> None:
    coded = compress(classifier(np.array([[0.75], [-0.75]])), Quantize(grid=grid, density=1.0)).tensors
    assert coded["weight"].weights().ravel().tolist() == pytest.approx([0.75, -0.75], rel=1 / 31)


@pytest.mark.parametrize("grid", ["uniform", "codebook", "ternary"])
@pytest.mark.parametrize("exponent", [-50, 50])
def test_the_scale_does_not_matter(grid: str, exponent: int) -> None:
    """Powers of two go through unchanged: the symbols are those of the weights at scale one."""
    weight = drawn(4, 30).astype(np.float32).astype(np.float64)
    here = compress(classifier(weight), Quantize(grid=grid)).tensors["weight"]
    there = compress(classifier(weight * 2.0**exponent), Quantize(grid=grid)).tensors["weight"]
    assert np.array_equal(here.symbols, there.symbols)
    assert np.array_equal(here.weights() * 2.0**exponent, there.weights())


def test_sixteen_bits_are_nearly_lossless(mixed: Network) -> None:
    coded = compress(mixed, Quantize(bits=16)).tensors
    for name, parameter in mixed.module.named_parameters():
        if parameter.dim() >= 2:
            exact = parameter.detach().double().numpy()
            assert np.abs(coded[name].weights() - exact).max() < 1e-4 * np.abs(exact).max(), name


def test_buffers_are_kept_exactly(mixed: Network) -> None:
    coded = compress(mixed, Quantize(bits=2)).tensors
    assert isinstance(coded["1.running_mean"].form, Exact)
    assert coded["1.num_batches_tracked"].weights() == 1


def test_shared_means_one_form(mixed: Network) -> None:
    coded = compress(mixed, Quantize(bits=5, shared=True)).tensors
    assert coded["0.weight"].form == coded["5.weight"].form
    assert coded["0.bias"].form == coded["5.bias"].form
    apart = compress(mixed, Quantize(bits=5)).tensors
    assert apart["0.weight"].form != apart["5.weight"].form
