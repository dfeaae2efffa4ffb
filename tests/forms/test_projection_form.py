"""Projection: sums of signed symbols, what it refuses before memory is taken, and damaged messages of it."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from coding.reference_range_decoder import ReferenceDecoder
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.coding import (
    Contexts,
    Decoder,
    Encoder,
    Meter,
    ShortFloat,
    code_flag,
    code_short_float,
    code_uint,
)
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.forms import VARIANTS, CodedTensor, Projection, Uniform
from netpact.core.errors import PactError
from netpact.models import Architecture

STEP = ShortFloat(-7, 3)
SHAPES = [(4, 6), (5, 2, 2, 2), (9, 3, 1, 1), (30,)]
each_variant = pytest.mark.parametrize("variant", list(VARIANTS))


def draw(form: Projection, shape: tuple[int, ...], seed: int = 0) -> CodedTensor:
    return CodedTensor(form, np.random.default_rng(seed).integers(-99, 100, form.symbol_count(shape)), shape)


def encode(tensor: CodedTensor) -> bytes:
    encoder = Encoder()
    Projection.code(encoder, tensor.form).code_symbols(encoder, tensor.symbols, tensor.shape, Contexts())
    return encoder.to_bytes()


@each_variant
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_rows", [False, True])
def test_weights_are_the_sums_and_come_back(variant: str, shape: tuple[int, ...], by_rows: bool) -> None:
    rows = shape[0] if by_rows else 1
    size = int(np.prod(shape)) // rows
    form = Projection(STEP, max(1, size // 2), variant, seed=2**32 - 1, layer=7, by_rows=by_rows)
    tensor = draw(form, shape)
    # The matrices are the sums of unit vectors of coefficients.
    matrices = form.projector(size).combine(np.eye(form.count, dtype=np.int64))
    expected = [
        [sum(int(q) * int(m) for q, m in zip(own, column, strict=True)) * 19 / 2**11 for column in matrices.T]
        for own in tensor.symbols.reshape(rows, form.count)
    ]
    assert tensor.weights().tolist() == np.array(expected).reshape(shape).tolist()
    message = encode(tensor)
    for decoder in (Decoder(message), ReferenceDecoder(message)):
        found = Projection.code(decoder, None)
        assert found == form
        assert np.array_equal(found.code_symbols(decoder, None, shape, Contexts()), tensor.symbols)


@each_variant
def test_seed_and_layer_choose_the_matrices(variant: str) -> None:
    tensors = [draw(Projection(STEP, 40, variant, seed=s, layer=n), (9, 9)) for s, n in ((0, 0), (0, 1), (1, 0))]
    weights = np.stack([tensor.weights().ravel() for tensor in tensors])
    assert np.abs(np.corrcoef(weights) - np.eye(3)).max() < 0.5


def test_rows_share_their_matrices() -> None:
    form = Projection(STEP, 3, "signs", by_rows=True)
    symbols = np.array([1, 2, 3, 1, 2, 3, 0, 0, 0])
    weights = form.weights(symbols, (3, 5))
    assert np.array_equal(weights[0], weights[1])
    assert not weights[2].any()
    assert np.array_equal(weights[0], Projection(STEP, 3, "signs").weights(symbols[:3], (5,)))


def test_what_the_form_costs() -> None:
    """Scale (exponent -7 is number 13), count - 1 = 99, variant 1, seed 0, layer 3, by rows?"""
    meter = Meter()
    Projection.code(meter, Projection(STEP, 100, "signs", layer=3))
    assert meter.total == (1 + 2 * 3 + 4) + (1 + 2 * 6) + 3 + 1 + 5 + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "gaussian"}, "variant: 'gaussian' is not known; allowed: hadamard, signs"),
        ({"count": 0}, "count: must be an integer from 1 to"),
        ({"count": 2**32}, "count: must be an integer from 1 to"),
        ({"seed": -1}, "seed: must be an integer from 0 to"),
        ({"seed": 2**32}, "seed"),
        ({"layer": 2**32}, "layer"),
    ],
)
def test_bad_parameters(change: dict[str, int | str], message: str) -> None:
    options: dict[str, int | str] = {"count": 3, "variant": "signs", **change}
    with pytest.raises(PactError, match=message):
        Projection(STEP, **options)  # type: ignore[arg-type]


def hostile_form(*, count: int = 5, variant: int = 1, seed: int = 0, layer: int = 0, by_rows: bool = False) -> bytes:
    """The parameters as the form's code writes them, without the checks of the record."""
    encoder = Encoder()
    code_short_float(encoder, STEP)
    for number in (count - 1, variant, seed, layer):
        code_uint(encoder, number)
    code_flag(encoder, by_rows)
    return encoder.to_bytes()


@pytest.mark.parametrize(
    ("options", "shape", "reason"),
    [
        ({"count": 601}, (20, 30), "601 coefficients for a vector of 600 weights"),
        ({"count": 31, "by_rows": True}, (20, 30), "31 coefficients for a vector of 30 weights"),
        ({"count": 10**9}, (20, 30), "1,000,000,000 coefficients"),
        ({"count": 10**9, "variant": 0}, (20, 30), "1,000,000,000 coefficients"),
        ({"count": 2**40}, (20, 30), "count: must be an integer from 1 to 4,294,967,295"),
        ({"count": 70_000}, (10_000, 1000), r"more than 2\^36 signs .*hadamard"),
        ({"count": 1000, "by_rows": True}, (100_000, 1000), r"more than 2\^36 signs"),
        ({"variant": 2}, (20, 30), "names variant 2, known are 0 to 1"),
        ({"seed": 2**32}, (20, 30), "seed: must be an integer"),
        ({"layer": 2**33}, (20, 30), "layer: must be an integer"),
    ],
)
def test_hostile_parameters_are_refused_before_memory_is_taken(
    options: dict[str, Any], shape: tuple[int, ...], reason: str
) -> None:
    decoder = Decoder(hostile_form(**options))
    start = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(PactError, match=reason):
            Projection.code(decoder, None).code_symbols(decoder, None, shape, Contexts())
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 5


def sealed(form: Projection, symbols: list[int]) -> Pact:
    """A linear network of 3 classes and 4 inputs with this weight tensor."""
    bias = CodedTensor(Uniform(STEP), np.zeros(3, dtype=np.int64), (3,))
    weight = CodedTensor(form, np.array(symbols, dtype=np.int64), (3, 4))
    return seal(Compressed(Architecture(1, (), (4,), 3), {"fc1.weight": weight, "fc1.bias": bias}))


def test_sums_that_could_round_are_refused() -> None:
    """As many of the largest symbols as two million weights may have: their sums may reach 2^53."""
    form = Projection(STEP, (1 << 21) + 2, "hadamard")
    with pytest.raises(PactError, match="coefficients: the magnitudes"):
        form.weights(np.full(form.count, 2**32 - 1), (form.count,))


@each_variant
def test_the_largest_scale_stays_finite(variant: str) -> None:
    """Exact sums are below 2^53 and scales below 2^64: their product is a float32."""
    module = sealed(Projection(ShortFloat(63, 15), 2, variant), [2**32 - 1, 1]).to_module()
    assert all(bool(tensor.isfinite().all()) for tensor in module.parameters())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 7)), min_size=1, max_size=4),
    variant=st.sampled_from(list(VARIANTS)),
    by_rows=st.booleans(),
)
def test_damaged_messages_are_refused_or_valid(flips: list[tuple[int, int]], variant: str, by_rows: bool) -> None:
    form = Projection(STEP, 3, variant, seed=1, layer=1, by_rows=by_rows)
    tensor = draw(form, (3, 4))
    message = bytearray(sealed(form, tensor.symbols.tolist()).message)
    for place, bit in flips:
        message[place % len(message)] ^= 1 << bit
    try:
        module = Pact(bytes(message)).to_module(max_parameters=1000)
    except PactError:
        return
    assert all(bool(tensor.isfinite().all()) for tensor in module.parameters())
