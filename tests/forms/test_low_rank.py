"""LowRank: exact sums, what it refuses before memory is taken, what its parts cost."""

from __future__ import annotations

import time
import tracemalloc
from fractions import Fraction

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
    code_choice,
    code_integers,
    code_short_float,
    code_uint,
)
from netpact.coding.forms import CodedTensor, LowRank, Symbols
from netpact.core.errors import PactError

STEP = ShortFloat(-7, 3)


def draw(form: LowRank, shape: tuple[int, ...], seed: int = 0) -> CodedTensor:
    random = np.random.default_rng(seed)
    symbols = random.integers(-form.limit, form.limit + 1, form.symbol_count(shape))
    return CodedTensor(form, symbols, shape)


def encode(tensor: CodedTensor) -> bytes:
    encoder = Encoder()
    LowRank.code(encoder, tensor.form).code_symbols(encoder, tensor.symbols, tensor.shape, Contexts())
    return encoder.to_bytes()


def in_whole_numbers(tensor: CodedTensor, rows: int, columns: int) -> list[list[Fraction]]:
    """The matrix by the definition, entry by entry, in exact arithmetic."""
    form = tensor.form
    assert isinstance(form, LowRank)
    shifts = [shift for shift, count in enumerate(form.octaves) for _ in range(count)]
    left = [int(symbol) for symbol in tensor.symbols[: rows * form.rank]]
    right = [int(symbol) for symbol in tensor.symbols[rows * form.rank :]]
    step = Fraction(16 + form.step.mantissa, 16) * Fraction(2) ** form.step.exponent
    return [
        [
            step * sum(left[i * form.rank + k] * right[k * columns + j] << shifts[k] for k in range(form.rank))
            for j in range(columns)
        ]
        for i in range(rows)
    ]


@pytest.mark.parametrize("octaves", [(1,), (3,), (1, 2), (0, 0, 2), (1, 0, 1, 1)])
@pytest.mark.parametrize(("shape", "sides"), [((4, 6), (4, 6)), ((5, 2, 2, 2), (5, 8)), ((9, 3, 1, 1), (9, 3))])
def test_weights_are_the_products_and_come_back(
    octaves: tuple[int, ...], shape: tuple[int, ...], sides: tuple[int, int]
) -> None:
    tensor = draw(LowRank(STEP, 6, octaves), shape)
    expected = np.array([[float(entry) for entry in row] for row in in_whole_numbers(tensor, *sides)]).reshape(shape)
    assert np.array_equal(tensor.weights(), expected)
    message = encode(tensor)
    for decoder in (Decoder(message), ReferenceDecoder(message)):
        form = LowRank.code(decoder, None)
        assert form == tensor.form
        assert np.array_equal(form.code_symbols(decoder, None, shape, Contexts()), tensor.symbols)


def test_the_largest_sums_are_exact_in_every_order() -> None:
    """The widest form that is allowed, filled with its largest numbers: one more would not be representable."""
    form = LowRank(ShortFloat(0, 0), 16, (7, *[0] * 18, 15))
    rows, columns = 40, 60
    tensor = draw(form, (rows, columns), seed=3)
    symbols = tensor.symbols.copy()
    symbols[: form.rank] = form.limit  # the first row of P and the first column of Q
    symbols[rows * form.rank :: columns] = form.limit
    tensor = CodedTensor(form, symbols, (rows, columns))
    exact = in_whole_numbers(tensor, rows, columns)
    assert 2**52 < exact[0][0] < 2**53
    assert [[int(weight) for weight in row] for row in tensor.weights()] == exact
    # The transposed product adds in another order.
    rank = form.rank
    left, right = symbols[: rows * rank].reshape(rows, rank), symbols[rows * rank :].reshape(rank, columns)
    turned = np.concatenate([right.T.ravel(), left.T.ravel()])
    assert np.array_equal(CodedTensor(form, turned, (columns, rows)).weights().T, tensor.weights())


@pytest.mark.parametrize(
    ("bits", "octaves", "message"),
    [
        (1, (1,), "bits: 2 to 16 are allowed, got 1"),
        (17, (1,), "bits: 2 to 16 are allowed"),
        (8, (), "octaves: must be 1 to 53 numbers"),
        (8, (1, 0), "the last of them not 0"),
        (8, (2, -1, 1), ">= 0"),
        (2, (0,) * 53 + (1,), "octaves: must be 1 to 53 numbers"),
        (2, (1,) * 53, None),
        (2, (2, *(1,) * 52), r"can reach 2\^53"),
        (16, (1 << 23,), None),
        (16, ((1 << 23) + 513,), r"can reach 2\^53"),
        (16, (0,) * 24 + (1,), r"can reach 2\^53"),
    ],
)
def test_sums_that_could_be_rounded_are_refused(bits: int, octaves: tuple[int, ...], message: str | None) -> None:
    if message is None:
        assert LowRank(STEP, bits, octaves).limit ** 2 * sum(n << k for k, n in enumerate(octaves)) < 2**53
        return
    with pytest.raises(PactError, match=message):
        LowRank(STEP, bits, octaves)


def hostile_form(*, octaves: list[int], announced: int) -> bytes:
    """The parameters of a form as its code writes them, without the checks of the record."""
    encoder = Encoder()
    code_short_float(encoder, STEP)
    code_choice(encoder, 3, 4)
    code_uint(encoder, announced - 1)
    for count in octaves:
        code_uint(encoder, count)
    return encoder.to_bytes()


def refuse(message: bytes, shape: tuple[int, ...]) -> str:
    decoder = Decoder(message)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(PactError) as caught:
            LowRank.code(decoder, None).code_symbols(decoder, None, shape, Contexts())
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 1
    return str(caught.value)


def test_hostile_parameters_are_refused_before_memory_is_taken() -> None:
    assert "no rank of 1000000000" in refuse(hostile_form(octaves=[10**9], announced=1), (20, 30))
    assert "no rank of 21" in refuse(hostile_form(octaves=[10, 11], announced=2), (20, 30))
    assert "no rank of 21" in refuse(hostile_form(octaves=[21], announced=1), (30, 20))
    assert "announces 1000000000 shifts" in refuse(hostile_form(octaves=[], announced=10**9), (20, 30))
    assert "can reach 2^53" in refuse(hostile_form(octaves=[0, 0, 0, 0, 0, 0, 0, 0, 2**40], announced=9), (20, 30))
    assert "last of them not 0" in refuse(hostile_form(octaves=[3, 0], announced=2), (20, 30))


def test_numbers_beyond_the_bits_are_refused_when_read() -> None:
    form = LowRank(STEP, 4, (2,))
    symbols = draw(form, (5, 5)).symbols
    symbols[3] = form.limit + 1
    encoder = Encoder()
    LowRank.code(encoder, form)
    contexts = Contexts()
    wide = LowRank(STEP, 16, (2,))
    wide.code_symbols(encoder, symbols, (5, 5), contexts)
    decoder = Decoder(encoder.to_bytes())
    with pytest.raises(PactError, match=r"within \+-7"):
        LowRank.code(decoder, None).code_symbols(decoder, None, (5, 5), Contexts())
    with pytest.raises(PactError, match=r"within \+-7"):
        CodedTensor(form, symbols, (5, 5)).weights()


def measure(form: LowRank, symbols: Symbols, shape: tuple[int, ...]) -> float:
    meter = Meter()
    form.code_symbols(meter, symbols, shape, Contexts())
    return meter.total


def test_components_of_another_shift_have_contexts_of_their_own() -> None:
    """Long numbers in the first octave and short ones in the second: counted apart they are cheaper than together."""
    shape = (300, 200)
    random = np.random.default_rng(2)
    left, right = (random.integers(-100, 101, (n, 4)) for n in shape)
    left[:, 2:] //= 60
    right[:, 2:] //= 60
    symbols = np.concatenate([left.ravel(), right.T.ravel()])
    apart, together = (measure(LowRank(STEP, 8, octaves), symbols, shape) for octaves in ((2, 2), (4,)))
    meter = Meter()
    for part in (left[:, :2], left[:, 2:], right[:, :2], right[:, 2:]):
        code_integers(meter, part.T.ravel(), part.size, Contexts())
    assert apart < 0.97 * together
    assert apart == pytest.approx(meter.total, rel=0.01)


def test_contexts_go_on_to_the_next_tensor_of_the_form() -> None:
    form, shape = LowRank(STEP, 4, (2, 1)), (30, 30)
    tensors = [draw(form, shape, seed) for seed in (0, 1)]
    contexts, meter, costs = Contexts(), Meter(), []
    for tensor in tensors:
        before = meter.total
        form.code_symbols(meter, tensor.symbols, shape, contexts)
        costs.append(meter.total - before)
    assert costs[1] < measure(form, tensors[1].symbols, shape) - 10


@settings(max_examples=200, deadline=None, derandomize=True)
@given(message=st.binary(max_size=40))
def test_any_bytes_are_refused_or_valid(message: bytes) -> None:
    decoder = Decoder(message)
    try:
        form = LowRank.code(decoder, None)
        symbols = form.code_symbols(decoder, None, (6, 2, 2), Contexts())
    except PactError:
        return
    assert np.isfinite(CodedTensor(form, symbols, (6, 2, 2)).weights()).all()
