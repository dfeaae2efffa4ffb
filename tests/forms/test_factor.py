"""Factor: shifts by component, contexts by shift, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from netpact.coding import Contexts, Decoder, Encoder, Meter, ShortFloat, code_flag, code_short_float, code_uint
from netpact.coding.forms import CodedTensor, Factor, Symbols
from netpact.core.errors import PactError

STEP = ShortFloat(-3, 5)


def symbols(count: int) -> Symbols:
    return np.random.default_rng(0).integers(-99, 100, count)


@pytest.mark.parametrize("shape", [(7, 4), (7, 4, 1, 1)])
def test_the_columns_of_the_second_factor_are_shifted(shape: tuple[int, ...]) -> None:
    drawn = symbols(28)
    found = CodedTensor(Factor(STEP, (1, 0, 2), second=True), drawn, shape).weights()
    expected = drawn.reshape(7, 4) * (21 / 128) * np.array([1, 4, 4, 8])
    assert np.array_equal(found, expected.reshape(shape))


def test_the_rows_of_the_first_factor_are_not() -> None:
    drawn = symbols(24)
    found = CodedTensor(Factor(STEP, (1, 2)), drawn, (4, 2, 3)).weights()
    assert np.array_equal(found, drawn.reshape(4, 2, 3) * (21 / 128))


@pytest.mark.parametrize("second", [False, True])
def test_components_of_one_shift_share_their_contexts(second: bool) -> None:
    """Large numbers in one component and small ones in the others cost less apart."""
    random = np.random.default_rng(1)
    matrix = np.concatenate([random.integers(-500, 501, (2, 300)), random.integers(-1, 2, (8, 300))])
    shape, drawn = ((300, 10), matrix.T.ravel()) if second else ((10, 300), matrix.ravel())
    costs = []
    for octaves in ((2,), ()):
        meter, form = Meter(), Factor(STEP, octaves, second)
        form.code_symbols(meter, drawn, shape, Contexts())
        costs.append(meter.total)
    assert costs[0] < 0.9 * costs[1]


def test_what_the_parameters_cost() -> None:
    meter = Meter()
    Factor.code(meter, Factor(ShortFloat(0, 0), (1, 1), second=True))
    assert meter.total == 1 + 5 + 3 + 3 + 3


@pytest.mark.parametrize(
    ("octaves", "shape", "message"),
    [
        ((9,), (8, 5), "9 components of a factor that has 8"),
        ((1 << 39, 1 << 39), (8, 5), "components of a factor"),
        ((0,) * 53, (8, 5), "announces 54 shifts"),
        ((1 << 30,) * 3, (8, 5), "components"),
    ],
)
def test_hostile_parameters_are_refused(octaves: tuple[int, ...], shape: tuple[int, ...], message: str) -> None:
    encoder = Encoder()
    code_flag(encoder, False)
    code_short_float(encoder, STEP)
    code_uint(encoder, len(octaves))
    for count in octaves:
        code_uint(encoder, count)
    decoder = Decoder(encoder.to_bytes())
    with pytest.raises(PactError, match=message):
        Factor.code(decoder, None).code_symbols(decoder, None, shape, Contexts())


@pytest.mark.parametrize("octaves", [(-1,), (1,) * 53])
def test_bad_records_die_at_construction(octaves: tuple[int, ...]) -> None:
    with pytest.raises(PactError, match="octaves"):
        Factor(STEP, octaves)
