"""What a form says that it takes covers what it does take: memory by measurement, work by its growth with the sizes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from netpact.algebra.symmetry import Symmetry
from netpact.coding import Bits, Contexts, Decoder, Encoder, ShortFloat
from netpact.coding.coder import Model
from netpact.coding.forms import (
    FORMS,
    Codebook,
    Difference,
    Exact,
    Factor,
    Form,
    KeptInNoise,
    LowRank,
    Projected,
    Projection,
    Relative,
    Scaled,
    Sketched,
    Sparse,
    SparseMatrix,
    Symbols,
    Symmetric,
    Ternary,
    TernaryMap,
    TernaryTemplate,
    Uniform,
    Zero,
    unnest,
)
from netpact.coding.forms.sparse import DROPPED

SIZE = 1 << 16
STEP = ShortFloat(-8, 0)
RANDOM = np.random.default_rng(0)
BOOK = Codebook((None,) * 256)
FIXED = 200_000  # bytes that do not grow with the tensor


def signed(limit: int, count: int = SIZE) -> Symbols:
    return RANDOM.integers(-limit, limit + 1, count)


def some(share: float, symbols: Symbols) -> Symbols:
    return np.where(RANDOM.random(len(symbols)) < share, symbols, DROPPED)


def symmetric(
    inner: Form, group: str, shape: tuple[int, ...], *, inputs: bool, outputs: bool, side: int = 1
) -> tuple[Form, Symbols, tuple[int, ...]]:
    form = Symmetric(inner, Symmetry(group, inputs, outputs), rows=side, columns=side)
    return form, signed(1, form.symbol_count(shape)), shape


def sketch(form: Sketched, shape: tuple[int, ...], share: float = 0.002) -> tuple[Form, Symbols, tuple[int, ...]]:
    sketcher = form.sketcher(shape)
    entries = np.where(RANDOM.random(sketcher.shape) < share, 3, 0)
    return form, sketcher.measure_integers(entries).ravel(), shape


CASES: dict[str, tuple[Form, Symbols, tuple[int, ...]]] = {
    "zero": (Zero(), np.zeros(0, dtype=np.int64), (SIZE,)),
    "uniform": (Uniform(STEP), signed(8), (SIZE,)),
    "uniform, all long": (Uniform(STEP), np.full(SIZE, (1 << 32) - 1), (SIZE,)),
    "uniform, long": (Uniform(STEP), RANDOM.integers(1 << 9, 1 << 32, SIZE), (SIZE,)),
    "uniform, zeros": (Uniform(STEP), np.zeros(SIZE, dtype=np.int64), (SIZE,)),
    "ternary": (Ternary(STEP), signed(1), (SIZE,)),
    "ternary, ones": (Ternary(STEP), np.ones(SIZE, dtype=np.int64), (SIZE,)),
    "ternary, rare": (Ternary(STEP), (RANDOM.random(SIZE) < 0.005).astype(np.int64), (SIZE,)),
    "codebook": (BOOK, RANDOM.integers(0, 256, SIZE), (SIZE,)),
    "codebook, one value": (BOOK, np.zeros(SIZE, dtype=np.int64), (SIZE,)),
    "exact": (Exact(), RANDOM.integers(0, 1 << 30, SIZE), (SIZE,)),
    "ternary-map, no images": (TernaryMap(STEP), signed(1), (SIZE,)),
    "ternary-map": (TernaryMap(STEP), signed(1), (64, 16, 8, 8)),
    "ternary-template, no images": (TernaryTemplate(corner=True), signed(1), (SIZE,)),
    "ternary-template": (TernaryTemplate(corner=True), signed(1), (64, 16, 8, 8)),
    "ternary-template by maps": (TernaryTemplate(maps=True), signed(1), (64, 16, 8, 8)),
    "ternary-template, most maps": (TernaryTemplate(maps=True), signed(1), (SIZE // 256, 256)),
    "relative": (Relative(STEP), signed(8), (SIZE,)),
    "difference": (Difference(Uniform(STEP)), signed(8), (SIZE,)),
    "scaled rows": (Scaled(Uniform(STEP)), signed(8, SIZE + 256), (256, SIZE // 256)),
    "scaled entries": (Scaled(Uniform(STEP)), signed(8, 2 * SIZE), (SIZE,)),
    "scaled columns": (Scaled(BOOK, columns=True), np.abs(signed(8, SIZE + 256)), (SIZE // 256, 256)),
    "sparse, all kept": (Sparse(Uniform(STEP)), RANDOM.integers(1 << 9, 1 << 32, SIZE), (SIZE,)),
    "sparse": (Sparse(BOOK), some(0.3, RANDOM.integers(0, 256, SIZE)), (SIZE,)),
    "sparse, rare": (Sparse(Exact()), some(0.005, RANDOM.integers(0, 1 << 30, SIZE)), (SIZE,)),
    "sparse, exact": (Sparse(Exact()), RANDOM.integers(0, 1 << 30, SIZE), (SIZE,)),
    "sparse matrix, all kept": (SparseMatrix(Uniform(STEP)), RANDOM.integers(1 << 9, 1 << 32, SIZE), (256, 256)),
    "sparse matrix": (SparseMatrix(BOOK), some(0.3, RANDOM.integers(0, 256, SIZE)), (256, 256)),
    "sparse matrix, one plane": (SparseMatrix(Ternary(STEP)), some(0.05, signed(1, 4 * SIZE)), (512, 512)),
    "sparse matrix, rare": (SparseMatrix(Ternary(STEP)), some(0.005, signed(1)), (64, 4, 16, 16)),
    "sparse matrix, a vector": (SparseMatrix(Ternary(STEP)), some(0.3, signed(1)), (SIZE,)),
    "projected": (Projected(BOOK, SIZE, "hadamard"), RANDOM.integers(0, 256, SIZE), (SIZE,)),
    "projected signs": (Projected(Ternary(STEP), 128, "signs"), signed(1, 128), (SIZE,)),
    "all levels": (
        Difference(Projected(Scaled(Sparse(Uniform(STEP))), 64, "hadamard", by_rows=True)),
        np.concatenate([signed(8, SIZE // 256), some(0.5, signed(8, SIZE // 4))]),
        (SIZE // 256, 256),
    ),
    "symmetric": symmetric(Ternary(STEP), "p4m", (64, 16, 8, 8), inputs=True, outputs=True),
    "symmetric by a mirror": symmetric(Ternary(STEP), "mirror", (64, 16, 8, 8), inputs=True, outputs=True),
    "symmetric, from an image": symmetric(TernaryTemplate(), "p4", (64, 16, 8, 8), inputs=False, outputs=True),
    "symmetric head": symmetric(Ternary(STEP), "p4m", (64, 1024), inputs=True, outputs=False, side=8),
    "symmetric zeros": symmetric(Zero(), "p4m", (64, 16, 8, 8), inputs=True, outputs=True),
    "symmetric, no images": symmetric(Ternary(STEP), "p4", (256, 256), inputs=True, outputs=True),
    "symmetric, nothing tied": symmetric(Ternary(STEP), "p4m", (SIZE,), inputs=True, outputs=True),
    "symmetric scales": symmetric(Scaled(Uniform(STEP)), "mirror", (SIZE,), inputs=False, outputs=True),
    "noise, nothing kept": (KeptInNoise(Zero(), STEP), np.zeros(0, dtype=np.int64), (SIZE,)),
    "noise, few kept": (KeptInNoise(Sparse(BOOK), STEP), some(0.1, RANDOM.integers(0, 256, SIZE)), (SIZE,)),
    "noise everywhere": (KeptInNoise(Exact(), STEP, everywhere=True), RANDOM.integers(0, 1 << 30, SIZE), (SIZE,)),
    "sketched": sketch(Sketched(STEP, 80, 80, 5, rounds=120), (256, 256), 0.001),
    "sketched, nearly as large": sketch(Sketched(STEP, 250, 250, 4, rounds=16), (256, 256)),
    "sketched, one side": sketch(Sketched(STEP, 16, 1000, 4, rounds=64), (16, 4096)),
    "first factor": (Factor(STEP, (30, 100)), signed(1 << 9), (256, SIZE // 256)),
    "second factor": (Factor(STEP, (30, 100), second=True), signed(1 << 9), (SIZE // 256, 256)),
    "low-rank": (LowRank(STEP, 4, (64,)), signed(7, 64 * 512), (256, 256)),
    "low-rank, wide": (LowRank(STEP, 4, (8,)), signed(7, 8 * (8 + SIZE // 8)), (8, SIZE // 8)),
    "signs": (Projection(STEP, 128, "signs"), signed(3, 128), (SIZE,)),
    "signs by rows": (Projection(STEP, 16, "signs", by_rows=True), signed(3, SIZE // 4), (SIZE // 64, 64)),
    "hadamard": (Projection(STEP, SIZE // 8, "hadamard"), signed(3, SIZE // 8), (SIZE,)),
    "hadamard, all rows": (Projection(STEP, SIZE, "hadamard"), signed(3), (SIZE,)),
    "hadamard, half empty": (Projection(STEP, 5, "hadamard"), signed(3, 5), (SIZE // 2 + 1,)),
    "hadamard by rows": (Projection(STEP, 64, "hadamard", by_rows=True), signed(3, SIZE // 4), (SIZE // 256, 256)),
}


class Spy:
    """A decoder that notes the most that was charged."""

    def __init__(self, message: bytes) -> None:
        self._decoder, self.memory = Decoder(message), 0

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        return self._decoder.bits(values, count, model)

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self.memory = max(self.memory, memory)


def peak_bytes(work: Callable[[], object]) -> int:
    work()  # what is kept from the first call on does not count
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_every_form_is_measured() -> None:
    assert {type(form) for form, _, _ in CASES.values()} == set(FORMS.values())


@pytest.mark.parametrize("name", CASES)
def test_reading_and_writing_take_no_more_memory_than_was_charged(name: str) -> None:
    """Beside the symbols themselves, which are charged as kept."""
    form, symbols, shape = CASES[name]
    encoder = Encoder()
    form.code_symbols(encoder, symbols, shape, Contexts())
    message = encoder.to_bytes()
    spy = Spy(message)
    form.code_symbols(spy, None, shape, Contexts())
    reading = peak_bytes(lambda: form.code_symbols(Spy(message), None, shape, Contexts()))
    writing = peak_bytes(lambda: form.code_symbols(Encoder(), symbols, shape, Contexts()))
    # Decisions at even odds go to the coder a million at a time, in 32 bits each.
    fixed = FIXED + (8 << 20 if any(isinstance(part, Exact) for part in unnest(form)) else 0)
    assert reading <= spy.memory + 8 * len(symbols) + fixed
    # The symbols are there already when they are written again for the comparison.
    assert writing <= spy.memory + fixed


@pytest.mark.parametrize("name", CASES)
def test_making_the_weights_takes_no_more_memory_than_was_charged(name: str) -> None:
    form, symbols, shape = CASES[name]
    assert peak_bytes(lambda: form.weights(symbols, shape)) <= form.effort(shape).memory + FIXED


def test_work_grows_as_the_work_does() -> None:
    few, many = (Sketched(STEP, 60, 60, 4, rounds=rounds).effort((256, 256)).work for rounds in (8, 800))
    assert 60 < many / few < 100
    assert LowRank(STEP, 4, (256,)).effort((512, 512)).work > 200 * 512 * 512 // 8
    signs = [Projection(STEP, count, "signs").effort((1 << 20,)).work for count in (1 << 8, 1 << 12, 1 << 16)]
    assert 10 < signs[1] / signs[0] < 20
    assert 10 < signs[2] / signs[1] < 20
    rows = [Projection(STEP, 64, "signs", by_rows=True).effort((rows, 64)).work for rows in (1000, 100_000)]
    assert 90 < rows[1] / rows[0] < 110
    one, two = (Projection(STEP, 1, "hadamard").effort((size,)).work for size in (1 << 16, (1 << 16) + 1))
    assert 1.9 < two / one < 2.2  # padded to the next power of two
    places = TernaryMap(STEP).effort((1, 1, 64, 64)).work
    assert places >= 4096 * 50_000  # a call of the coder for each place, though there is one image only
    for form in (Zero(), Uniform(STEP), BOOK, Exact(), Relative(STEP)):
        assert form.effort((1000, 1000)).work >= 1_000_000
