"""Forms that hold others: what may hold what, exact sums whatever the grid, and sharing in a message."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from netpact.algebra.projection import SignProjector
from netpact.algebra.symmetry import Symmetry
from netpact.coding import Decoder, Encoder, ShortFloat, code_flag, code_short_float, code_uint
from netpact.coding.forms import (
    Codebook,
    CodedTensor,
    Difference,
    Exact,
    Form,
    KeptInNoise,
    LowRank,
    Projected,
    Projection,
    Relative,
    Scaled,
    Sparse,
    SparseMatrix,
    Symmetric,
    Ternary,
    TernaryMap,
    Uniform,
    Zero,
    code_form,
    unnest,
)
from netpact.coding.forms.projection import as_integers
from netpact.core.errors import PactError

STEP = ShortFloat(-3, 5)
GRIDS: list[Form] = [Zero(), Uniform(STEP), Ternary(STEP), TernaryMap(STEP), Codebook((None, (True, STEP))), Exact()]
SPARSE: list[Form] = [Sparse(grid) for grid in GRIDS[1:]] + [SparseMatrix(Uniform(STEP))]
SCALED: list[Form] = [Scaled(form) for form in (*GRIDS, *SPARSE)]
TURNED = Symmetry("p4m", inputs=True, outputs=True)
FROM_IMAGE, HEAD = Symmetry("mirror", inputs=False, outputs=True), Symmetry("p4", inputs=True, outputs=False)
SUMS: list[Form] = [
    *(Projected(form, 3, "signs") for form in (*GRIDS, *SPARSE, *SCALED)),
    *(KeptInNoise(form, STEP, shift=-3, everywhere=True, seed=7, layer=2) for form in (*GRIDS, *SPARSE, *SCALED)),
    *(Symmetric(form, TURNED) for form in (*GRIDS, *SPARSE, *SCALED)),
    Symmetric(Ternary(STEP), FROM_IMAGE, rows=1, columns=7),
    Symmetric(Zero(), HEAD, rows=8, columns=8),
    Projection(STEP, 3, "signs"),
    LowRank(STEP, 4, (1,)),
]
DIFFERENCES: list[Form] = [Difference(form) for form in (*GRIDS, *SPARSE, *SCALED, *SUMS)]
EVERY = [*GRIDS, *SPARSE, *SCALED, *SUMS, *DIFFERENCES, Relative(STEP)]


@pytest.mark.parametrize("form", EVERY, ids=str)
def test_whatever_may_be_built_comes_back(form: Form) -> None:
    encoder = Encoder()
    code_form(encoder, form)
    assert code_form(Decoder(encoder.to_bytes()), None) == form
    assert next(unnest(form)) is form
    assert form.effort((8, 8)).work >= max(part.effort((2, 2)).work for part in unnest(form))


@pytest.mark.parametrize("inner", EVERY, ids=str)
def test_a_form_holds_only_what_stands_below_it(inner: Form) -> None:
    makers: list[Callable[[Form], Any]] = [Sparse, Scaled, lambda form: Projected(form, 3, "signs"), Difference]
    makers += [lambda form: KeptInNoise(form, STEP), SparseMatrix, lambda form: Symmetric(form, TURNED)]
    for make, level in zip(makers, (1, 2, 3, 4, 3, 1, 3), strict=True):
        if inner.level >= level or (level == 1 and isinstance(inner, Zero)):
            with pytest.raises(PactError, match="inner: "):
                make(inner)
        else:
            assert make(inner).inner == inner


@pytest.mark.parametrize(
    "tag", [Sparse.tag, SparseMatrix.tag, Scaled.tag, Projected.tag, Difference.tag, KeptInNoise.tag, Symmetric.tag]
)
def test_nesting_without_end_is_refused_at_once(tag: int) -> None:
    """A message of nothing but one tag: its second one is refused, before anything is built."""
    encoder = Encoder()
    for _ in range(1000):
        code_uint(encoder, tag)
        if tag == Scaled.tag:
            code_flag(encoder, False)
        if tag == Projected.tag:
            for number in (0, 0, 0, 0):
                code_uint(encoder, number)
            code_flag(encoder, False)
        if tag == Symmetric.tag:
            code_uint(encoder, 0)
            for flag in (True, True, False):
                code_flag(encoder, flag)
        if tag == KeptInNoise.tag:
            code_short_float(encoder, STEP)
            code_uint(encoder, 0)
            code_flag(encoder, False)
            for number in (0, 0):
                code_uint(encoder, number)
    with pytest.raises(PactError, match=f"names form {tag}, allowed here are \\[0, 1, 2"):
        code_form(Decoder(encoder.to_bytes()), None)


def exact_sum(form: Projected, tensor: CodedTensor) -> list[float]:
    """By fractions: the matrices written out, nothing rounded until the end."""
    rows, count = form.sides(tensor.shape)
    coefficients = form.inner.weights(tensor.symbols, (rows, count))
    matrices = form.projector(4).combine(np.eye(count, dtype=np.int64))
    sums = [
        sum(Fraction(float(coefficients[row, i])) * int(matrices[i, j]) for i in range(count))
        for row, j in product(range(rows), range(4))
    ]
    return [float(value) for value in sums]


@pytest.mark.parametrize("variant", ["signs", "hadamard"])
def test_sums_are_exact_for_every_grid(variant: str) -> None:
    random = np.random.default_rng(0)
    book = Codebook(tuple((bool(i % 2), ShortFloat(i % 20 - 9, i % 16)) for i in range(32)))
    floats = (random.standard_normal(12) * 8.0 ** random.integers(-3, 4, 12)).astype(np.float32).view(np.uint32)
    cases: list[tuple[Form, Any]] = [
        (Uniform(ShortFloat(3, 15)), random.integers(-(2**31), 2**31, 12)),
        (Ternary(STEP), random.integers(-1, 2, 12)),
        (book, random.integers(0, 32, 12)),
        (Exact(), floats.astype(np.int64)),
        (Scaled(book), np.concatenate([[-9, 5, 30], random.integers(0, 32, 12)])),
    ]
    for inner, symbols in cases:
        form = Projected(inner, 4, variant, seed=3, by_rows=True)
        tensor = CodedTensor(form, symbols.astype(np.int64), (3, 4))
        assert tensor.weights().ravel().tolist() == exact_sum(form, tensor)


def test_what_cannot_be_summed_exactly_is_refused() -> None:
    wide = Codebook(((False, ShortFloat(60, 0)), (False, ShortFloat(-60, 0))))
    form = Projected(wide, 2, "signs")
    with pytest.raises(PactError, match="coefficients: the coefficients lie so far apart"):
        form.weights(np.array([0, 1]), (2,))
    assert np.abs(form.weights(np.array([1, 1]), (2,))).max() <= 2 * 2.0**-60  # only what is used counts
    close = Codebook(((False, ShortFloat(48, 0)), (False, ShortFloat(0, 1))))
    with pytest.raises(PactError, match=r"below 2\^53"):
        Projected(close, 3, "signs").weights(np.array([0, 0, 1]), (3,))


def test_values_are_integers_times_a_power_of_two() -> None:
    values = np.array([[0.0, -0.75, 3.5], [2.0**-20, 0.0, -0.0]])
    integers, unit = as_integers(values)
    assert unit == 2.0**-20
    assert (integers * unit).tolist() == values.tolist()
    nothing, one = as_integers(np.zeros((2, 2)))
    assert not nothing.any()
    assert one == 1.0
    assert as_integers(np.array([[6.0, -12.0]]))[0].tolist() == [[3, -6]]


def test_a_projection_and_its_nested_spelling_give_the_same_weights() -> None:
    symbols = np.random.default_rng(1).integers(-50, 50, 7)
    plain = Projection(STEP, 7, "signs", seed=2).weights(symbols, (5, 6))
    nested = Projected(Uniform(STEP), 7, "signs", seed=2).weights(symbols, (5, 6))
    assert plain.tolist() == nested.tolist()
    assert SignProjector(size=30, count=7, seed=2, layer=0).combine(symbols[None]).shape == (1, 30)
