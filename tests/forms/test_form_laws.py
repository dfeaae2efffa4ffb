"""Laws that every registered form obeys: give a constructor and a plain reference, get the whole suite."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from algebra.orbits import free_sides, slow_owners
from coding.reference_range_decoder import ReferenceDecoder

from netpact.algebra.stream import Stream
from netpact.algebra.stream.gaussian_table import gaussian_table
from netpact.algebra.symmetry import Symmetry
from netpact.coding import Coder, Contexts, Decoder, Encoder, Meter, ShortFloat
from netpact.coding.forms import (
    FORMS,
    MAX_CODEBOOK_BITS,
    Codebook,
    CodedTensor,
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
    Weights,
    Zero,
    is_one_to_one,
    matrix_sides,
)
from netpact.coding.forms.sparse import DROPPED
from netpact.coding.transcript import Transcript
from netpact.core.errors import PactError

# Append-only: a tag that has been written into a file keeps its meaning for ever.
TAGS = {
    0: "zero",
    1: "uniform",
    2: "ternary",
    3: "codebook",
    4: "exact",
    5: "ternary-map",
    6: "projection",
    7: "low-rank",
    8: "relative",
    9: "scaled",
    10: "sparse",
    11: "projected",
    12: "difference",
    13: "factor",
    14: "sketched",
    15: "heavy-tail",
    16: "sparse-matrix",
    17: "ternary-template",
    18: "symmetric",
}
STEP = ShortFloat(-3, 5)


@dataclass(frozen=True)
class Case:
    """form       what is tested
    draw       symbols for so many entries
    reference  the weight of one symbol, computed in the plainest way
    bad        symbols that must be refused
    dense      all weights, where they are not those of single symbols
    sparse     integers for so many rows and columns, where the symbols are their sketch
    """

    form: Form
    draw: Callable[[np.random.Generator, int], Symbols]
    reference: Callable[[int], float]
    bad: tuple[int, ...] = ()
    dense: Callable[[Symbols, tuple[int, ...]], Weights] | None = None
    sparse: Callable[[np.random.Generator, tuple[int, int]], Symbols] | None = None


def short_value(value: tuple[bool, ShortFloat] | None) -> float:
    if value is None:
        return 0.0
    size = (16 + value[1].mantissa) / 16 * 2.0 ** value[1].exponent
    return -size if value[0] else size


def codebook_case(bits: int) -> Case:
    values = [None, *((index % 2 == 1, ShortFloat(index % 9 - 4, index % 16)) for index in range(1, 1 << bits))]
    return Case(
        Codebook(tuple(values)),
        lambda random, count: np.minimum(random.geometric(0.3, count) - 1, (1 << bits) - 1),
        lambda symbol: short_value(values[symbol]),
        (-1, 1 << bits, 2**63 - 1, -(2**63)),
    )


def float_bits(random: np.random.Generator, count: int) -> Symbols:
    return random.standard_normal(count).astype(np.float32).view(np.uint32).astype(np.int64)


def outer_product(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    """Of rank 1: entry (i, j) is the product of symbol i and symbol (rows + j), times 21/128."""
    if 0 in shape:
        return np.zeros(shape)
    rows = shape[0] if shape else 1
    return np.array([int(a) * int(b) * 21 / 128 for a in symbols[:rows] for b in symbols[rows:]]).reshape(shape)


def signs_of_one_matrix(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    """One symbol times one matrix of signs, which are every eighth of the stream, times 21/128."""
    signs = Stream(4, "projection signs", 2).signs(0, 8 * math.prod(shape))[::8]
    return np.array([int(symbols[0]) * int(sign) * 21 / 128 for sign in signs]).reshape(shape)


def scale(symbol: int) -> float:
    return (1 + symbol % 4 / 4) * 2.0 ** (symbol // 4)


def scaled_rows(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    rows = 0 if 0 in shape else shape[0] if shape else 1
    width = math.prod(shape) // max(1, rows)
    return np.array(
        [scale(int(symbols[place // width])) * int(s) * 21 / 128 for place, s in enumerate(symbols[rows:])]
    ).reshape(shape)


def scaled_and_dropped(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    dropped = np.where(symbols == DROPPED, 0, symbols)
    return scaled_rows(dropped, shape)


def scaled_columns(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    columns = 0 if 0 in shape else math.prod(shape[1:])
    return np.array(
        [scale(int(symbols[place % columns])) * BOOK(int(s)) for place, s in enumerate(symbols[columns:])]
    ).reshape(shape)


def all_levels(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    """One coefficient a row, times signs that are the same for all rows; a scale for each row, some rows dropped."""
    if 0 in shape:
        return np.zeros(shape)
    rows = shape[0] if shape else 1
    signs = Stream(4, "projection signs", 2).signs(0, 8 * math.prod(shape[1:]))[::8]
    own = [
        scale(int(s)) * (0 if c == DROPPED else int(c) * 21 / 128) for s, c in zip(*np.split(symbols, 2), strict=True)
    ]
    return np.array([[c * int(sign) for sign in signs] for c in own[:rows]]).reshape(shape)


def some_dropped(random: np.random.Generator, count: int) -> Symbols:
    """Scales, then symbols of which every third is dropped."""
    drawn = random.integers(-9, 10, count)
    drawn[count // 2 :: 3] = DROPPED
    return drawn


def indices_behind_scales(random: np.random.Generator, count: int) -> Symbols:
    return np.minimum(random.geometric(0.3, count) - 1, 3)


def noise(place: int) -> float:
    """Entry by entry: 16 bits of the stream each, std 21/128, mean 5/256 of it."""
    half = int(Stream(4, "heavy-tail noise", 2).words(place // 2, 1)[0]) >> 16 * (place % 2) & 0xFFFF
    magnitude = int(gaussian_table()[half % 2048])
    return float((Fraction(-magnitude if half >> 15 else magnitude, 2**20) + Fraction(5, 256)) * Fraction(21, 128))


def noise_beside(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    """Noise where nothing is kept, and where a 0 is kept."""
    kept = [0.0 if symbol == DROPPED else BOOK(int(symbol)) for symbol in symbols]
    found = np.array([one or noise(place) for place, one in enumerate(kept)], dtype=np.float32)
    return found.astype(np.float64).reshape(shape)


def noise_everywhere(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    sums = [int(symbol) * 21 / 128 + noise(place) for place, symbol in enumerate(symbols)]
    return np.array(sums, dtype=np.float32).astype(np.float64).reshape(shape)


def few_entries(random: np.random.Generator, sides: tuple[int, int]) -> Symbols:
    matrix = np.zeros(sides, dtype=np.int64)
    for place in random.integers(0, max(1, matrix.size), 3):
        matrix.reshape(-1)[place : place + 1] = random.integers(1, 9)
    return matrix


def shortest_with_this_sketch(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
    """The law that uses it draws with seed 1."""
    drawn = few_entries(np.random.default_rng(1), matrix_sides(shape))
    if drawn.size:
        assert np.array_equal(SKETCHED.sketcher(shape).measure(drawn).ravel(), symbols)
    return drawn.reshape(shape) * 21 / 128


def entry_by_entry(reference: Callable[[int], float]) -> Callable[[Symbols, tuple[int, ...]], Weights]:
    return lambda symbols, shape: np.array([reference(int(one)) for one in symbols], dtype=np.float64).reshape(shape)


def tied(
    form: Symmetric, inner: Callable[[Symbols, tuple[int, ...]], Weights]
) -> Callable[[Symbols, tuple[int, ...]], Weights]:
    """The inner form's weights of the free entries, each at every entry that the group takes it to."""
    symmetry, places = form.symmetry, form.rows * form.columns
    ways = {"inputs": symmetry.inputs, "outputs": symmetry.outputs}

    def dense(symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if 0 in shape:
            return np.zeros(shape)
        outputs, inputs = matrix_sides(shape)
        grid = (outputs, inputs, 1, 1) if inputs % places else (outputs, inputs // places, form.rows, form.columns)
        if len(shape) == 4:
            grid = shape
        free = inner(symbols, free_sides(symmetry.group, grid, **ways)).ravel()
        owners = slow_owners(symmetry.group, grid, **ways).ravel()
        return np.array([free[owner] for owner in owners]).reshape(shape)

    return dense


MIRRORED = Symmetric(Ternary(STEP), Symmetry("mirror", inputs=False, outputs=True))
TURNED = Symmetric(TernaryTemplate(corner=True, maps=True), Symmetry("p4m", inputs=True, outputs=True))
HEAD = Symmetric(Sparse(codebook_case(2).form), Symmetry("p4m", inputs=True, outputs=False), rows=3, columns=3)
ROWS = Symmetric(Scaled(Sparse(Uniform(STEP))), Symmetry("p4", inputs=True, outputs=True))
SKETCHED = Sketched(STEP, 200, 40, 5, rounds=80, seed=4, layer=2)
BOOK = codebook_case(2).reference
CASES = {
    "zero": Case(Zero(), lambda random, count: np.zeros(0, dtype=np.int64), lambda symbol: 0.0),
    "uniform": Case(
        Uniform(STEP),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: symbol * 21 / 128,
        (2**32, -(2**32), -(2**63)),
    ),
    "relative": Case(
        Relative(STEP),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: symbol * 21 / 128,
        (2**32, -(2**32), -(2**63)),
    ),
    "uniform, wide": Case(
        Uniform(ShortFloat(-20, 15)),
        lambda random, count: random.integers(-(2**19) + 1, 2**19, count),
        lambda symbol: symbol * 31 / 2**24,
    ),
    "ternary": Case(
        Ternary(STEP),
        lambda random, count: random.choice([-1, 0, 0, 0, 1], count),
        lambda symbol: symbol * 21 / 128,
        (2, -2, 2**40, -(2**63)),
    ),
    "ternary-map": Case(
        TernaryMap(STEP),
        lambda random, count: random.choice([-1, 0, 0, 0, 1], count),
        lambda symbol: symbol * 21 / 128,
        (2, -2, 2**40, -(2**63)),
    ),
    **{
        f"ternary-template {form.edge} {form.corner} {form.maps}": Case(
            form, lambda random, count: random.choice([-1, 0, 0, 0, 1], count), float, (2, -2, 2**40, -(2**63))
        )
        for form in TernaryTemplate.every()
    },
    "low-rank": Case(
        LowRank(STEP, 5, (1,)),
        lambda random, count: random.integers(-15, 16, count),
        lambda symbol: 0.0,
        (16, -16, 2**40, -(2**63)),
        outer_product,
    ),
    "projection": Case(
        Projection(STEP, 1, "signs", seed=4, layer=2),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: 0.0,
        (2**32, -(2**32), -(2**63)),
        signs_of_one_matrix,
    ),
    "scaled": Case(
        Scaled(Uniform(STEP)),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: 0.0,
        (129, -129, 2**40, -(2**63)),
        scaled_rows,
    ),
    "scaled columns of a codebook": Case(
        Scaled(codebook_case(2).form, columns=True),
        indices_behind_scales,
        lambda symbol: 0.0,
        (),
        scaled_columns,
    ),
    "sparse codebook": Case(
        Sparse(codebook_case(2).form),
        lambda random, count: random.choice([DROPPED, DROPPED, DROPPED, 0, 1, 2, 3], count),
        lambda symbol: 0.0 if symbol == DROPPED else BOOK(symbol),
        (-1, 4, DROPPED + 1, -(2**63)),
    ),
    "sparse, rare": Case(
        Sparse(Exact()),
        lambda random, count: np.where(random.random(count) < 0.01, float_bits(random, count), DROPPED),
        lambda symbol: 0.0 if symbol == DROPPED else struct.unpack(">f", symbol.to_bytes(4, "big"))[0],
        (-1, 2**32, -(2**63)),
    ),
    "sparse matrix": Case(
        SparseMatrix(codebook_case(2).form),
        lambda random, count: random.choice([DROPPED, DROPPED, DROPPED, 0, 1, 2, 3], count),
        lambda symbol: 0.0 if symbol == DROPPED else BOOK(symbol),
        (-1, 4, DROPPED + 1, -(2**63)),
    ),
    "projected codebook": Case(
        Projected(codebook_case(2).form, 1, "signs", seed=4, layer=2),
        lambda random, count: random.integers(0, 4, count),
        lambda symbol: 0.0,
        (-1, 4, -(2**63)),
        lambda symbols, shape: (
            signs_of_one_matrix(np.array([128]), shape) / 21 * BOOK(int(symbols[0]))
            if len(symbols)
            else np.zeros(shape)
        ),
    ),
    "difference": Case(
        Difference(Ternary(STEP)),
        lambda random, count: random.choice([-1, 0, 0, 0, 1], count),
        lambda symbol: symbol * 21 / 128,
        (2, -2, 2**40, -(2**63)),
    ),
    "all levels": Case(
        Difference(Projected(Scaled(Sparse(Uniform(STEP))), 1, "signs", seed=4, layer=2, by_rows=True)),
        some_dropped,
        lambda symbol: 0.0,
        (),
        all_levels,
    ),
    "noise and few entries": Case(
        KeptInNoise(Sparse(codebook_case(2).form), STEP, shift=5, seed=4, layer=2),
        lambda random, count: random.choice([DROPPED, DROPPED, DROPPED, 0, 1, 2, 3], count),
        lambda symbol: 0.0,
        (-1, 4, DROPPED + 1, -(2**63)),
        noise_beside,
    ),
    "noise everywhere": Case(
        KeptInNoise(Uniform(STEP), STEP, shift=5, everywhere=True, seed=4, layer=2),
        lambda random, count: np.where(random.random(count) < 0.1, random.integers(-9, 10, count), 0),
        lambda symbol: 0.0,
        (2**32, -(2**32), -(2**63)),
        noise_everywhere,
    ),
    "symmetric ternary": Case(
        MIRRORED,
        lambda random, count: random.choice([-1, 0, 0, 0, 1], count),
        lambda symbol: 0.0,
        (2, -2, 2**40, -(2**63)),
        tied(MIRRORED, entry_by_entry(lambda symbol: symbol * 21 / 128)),
    ),
    "symmetric ternary-template": Case(
        TURNED,
        lambda random, count: random.choice([-1, 0, 0, 0, 1], count),
        lambda symbol: 0.0,
        (2, -2, 2**40, -(2**63)),
        tied(TURNED, entry_by_entry(float)),
    ),
    "symmetric sparse codebook of a head": Case(
        HEAD,
        lambda random, count: random.choice([DROPPED, DROPPED, DROPPED, 0, 1, 2, 3], count),
        lambda symbol: 0.0,
        (-1, 4, DROPPED + 1, -(2**63)),
        tied(HEAD, entry_by_entry(lambda symbol: 0.0 if symbol == DROPPED else BOOK(symbol))),
    ),
    "symmetric scaled rows": Case(
        Difference(ROWS),
        some_dropped,
        lambda symbol: 0.0,
        (),
        tied(ROWS, scaled_and_dropped),
    ),
    "sketched": Case(
        SKETCHED,
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: 0.0,
        (2**32, -(2**32), -(2**63)),
        shortest_with_this_sketch,
        few_entries,
    ),
    "first factor": Case(
        Factor(STEP),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: symbol * 21 / 128,
        (2**32, -(2**32), -(2**63)),
    ),
    "second factor": Case(
        Factor(STEP, (0, 0), second=True),
        lambda random, count: random.integers(-9, 10, count),
        lambda symbol: 4 * symbol * 21 / 128,
        (2**32, -(2**32), -(2**63)),
    ),
    "codebook": codebook_case(2),
    "codebook of two": codebook_case(1),
    "codebook of 256": codebook_case(MAX_CODEBOOK_BITS),
    "exact": Case(
        Exact(),
        float_bits,
        lambda symbol: struct.unpack(">f", symbol.to_bytes(4, "big"))[0],
        (-1, 2**32, -(2**63)),
    ),
}
SHAPES = [(1,), (7,), (3, 5), (2, 3, 3, 3), (8, 16, 3, 3), (8, 72), (5000,), (0, 4), ()]
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def make(case: Case, shape: tuple[int, ...], seed: int = 0) -> CodedTensor:
    count = case.form.symbol_count(shape)
    if case.sparse is not None and isinstance(case.form, Sketched) and count:
        drawn = case.form.sketcher(shape).measure(case.sparse(np.random.default_rng(seed), matrix_sides(shape)))
        return CodedTensor(case.form, np.asarray(drawn, dtype=np.int64).ravel(), shape)
    return CodedTensor(case.form, case.draw(np.random.default_rng(seed), count).astype(np.int64), shape)


def code(coder: Coder, form: type[Form], tensor: CodedTensor | None, shape: tuple[int, ...]) -> CodedTensor:
    own = form.code(coder, None if tensor is None else tensor.form)
    return CodedTensor(
        own, own.code_symbols(coder, None if tensor is None else tensor.symbols, shape, Contexts()), shape
    )


def test_every_registered_form_has_a_case() -> None:
    assert {type(case.form) for case in CASES.values()} == set(FORMS.values())


def test_tags_keep_their_meaning() -> None:
    assert {tag: form.name for tag, form in FORMS.items()} == TAGS
    assert all(form.tag == tag for tag, form in FORMS.items())


@each_case
class TestEveryForm:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_comes_back(self, case: Case, shape: tuple[int, ...]) -> None:
        tensor = make(case, shape)
        encoder, meter = Encoder(), Meter()
        for coder in (encoder, meter):
            code(coder, type(case.form), tensor, shape)
        message = encoder.to_bytes()
        assert 8 * len(message) <= 1.002 * meter.total + 16
        decoders: list[Coder] = [Decoder(message)]
        if len(message) < 1000:
            decoders.append(ReferenceDecoder(message))
        for decoder in decoders:
            found = code(decoder, type(case.form), None, shape)
            assert found.form == case.form
            np.testing.assert_array_equal(found.symbols, tensor.symbols)
            np.testing.assert_array_equal(found.weights(), tensor.weights())

    def test_writes_the_same_bytes_twice(self, case: Case) -> None:
        messages = set()
        for _ in range(2):
            encoder = Encoder()
            code(encoder, type(case.form), make(case, (40, 5)), (40, 5))
            messages.add(encoder.to_bytes())
        assert len(messages) == 1

    def test_what_is_read_is_written_the_same_way_where_the_form_says_so(self, case: Case) -> None:
        """Of any bytes: the decoder does not walk a second time over the symbols of these forms."""
        if not is_one_to_one(case.form):
            return
        random, read = np.random.default_rng(5), 0
        for number in range(120):
            shape = ((4, 3), (5000,))[number % 2]
            content = bytearray(random.bytes(4000))
            if number >= 80:  # one byte of a message is another: more of these can be read
                encoder = Encoder()
                case.form.code_symbols(encoder, make(case, shape, number).symbols, shape, Contexts())
                content = bytearray(encoder.to_bytes() or b"\0")
                content[random.integers(len(content))] ^= 1 << random.integers(8)
            decoder, again = Decoder(bytes(content)), Transcript()
            try:
                symbols = case.form.code_symbols(decoder, None, shape, Contexts())
            except PactError:
                continue
            case.form.code_symbols(again, symbols, shape, Contexts())
            assert again.digest() == decoder.transcript.digest()
            read += 1
        assert read >= 10

    def test_leaves_its_symbols_alone(self, case: Case) -> None:
        tensor = make(case, (40, 5))
        tensor.symbols.setflags(write=False)
        code(Encoder(), type(case.form), tensor, (40, 5))
        tensor.weights()

    @pytest.mark.parametrize("shape", SHAPES)
    def test_weights_are_those_of_the_reference(self, case: Case, shape: tuple[int, ...]) -> None:
        tensor = make(case, shape, seed=1)
        weights = tensor.weights()
        assert isinstance(weights, np.ndarray)
        assert weights.shape == shape
        assert weights.dtype == np.float64
        if case.dense is not None:
            expected = case.dense(tensor.symbols, shape)
        else:
            symbols = tensor.symbols if len(tensor.symbols) else np.zeros(weights.size, dtype=np.int64)
            expected = np.array([case.reference(int(symbol)) for symbol in symbols], dtype=np.float64).reshape(shape)
        np.testing.assert_array_equal(weights, expected)
        np.testing.assert_array_equal(weights.astype(np.float32).astype(np.float64), expected)

    def test_refuses_symbols_outside_its_alphabet(self, case: Case) -> None:
        for bad in case.bad:
            symbols = np.array([0, bad, 1], dtype=np.int64)
            with pytest.raises(PactError):
                case.form.code_symbols(Encoder(), symbols, (3,), Contexts())

    def test_refuses_another_number_of_symbols(self, case: Case) -> None:
        count = case.form.symbol_count((4, 3))
        wrong: list[Any] = [np.zeros(count + 1, np.int64), np.zeros(count, np.int32), np.zeros((count, 1), np.int64)]
        for symbols in wrong:
            with pytest.raises(PactError, match="symbols"):
                CodedTensor(case.form, symbols, (4, 3))

    def test_cannot_code_a_form_of_another_kind(self, case: Case) -> None:
        if type(case.form) in (Zero, Exact):
            return  # nothing of the form is written, so there is nothing to confuse
        with pytest.raises(TypeError, match="cannot code"):
            type(case.form).code(Encoder(), Zero())


@pytest.mark.parametrize("exponent", [-64, -1, 0, 40])
@pytest.mark.parametrize("mantissa", [0, 1, 15])
def test_a_step_times_a_symbol_is_exact(exponent: int, mantissa: int) -> None:
    symbols = np.array([1, -1, 2**19 - 1, -(2**19) + 1, 3, 174_763], dtype=np.int64)
    weights = Uniform(ShortFloat(exponent, mantissa)).weights(symbols, (6,))
    whole = [(16 + mantissa) * int(symbol) for symbol in symbols]
    scale = 2.0 ** (exponent - 4)
    assert [weight / scale for weight in weights] == whole  # division by a power of two is exact
    np.testing.assert_array_equal(weights.astype(np.float32).astype(np.float64), weights)


class TestExact:
    special = np.array([0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, 0.1], dtype=np.float32)

    def test_keeps_every_bit(self) -> None:
        symbols = self.special.view(np.uint32).astype(np.int64)
        tensor = CodedTensor(Exact(), symbols, (8,))
        encoder = Encoder()
        code(encoder, Exact, tensor, (8,))
        found = code(Decoder(encoder.to_bytes()), Exact, None, (8,))
        back = found.weights().astype(np.float32)
        assert back.view(np.uint32).tolist() == self.special.view(np.uint32).tolist()

    def test_costs_32_bits_a_weight(self) -> None:
        meter = Meter()
        code(meter, Exact, CodedTensor(Exact(), self.special.view(np.uint32).astype(np.int64), (8,)), (8,))
        assert meter.total == 32 * 8

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_refuses_what_is_not_finite(self, value: float) -> None:
        symbols = np.array([1.0, value], dtype=np.float32).view(np.uint32).astype(np.int64)
        with pytest.raises(PactError, match="NaN or infinity"):
            CodedTensor(Exact(), symbols, (2,)).weights()


@pytest.mark.parametrize("count", [0, 1, 3, 257, 512])
def test_a_codebook_has_a_power_of_two_of_values(count: int) -> None:
    with pytest.raises(PactError, match="a codebook has 2, 4, 8"):
        Codebook((None,) * count)
