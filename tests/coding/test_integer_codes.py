"""Arrays and single numbers as decisions: there and back, measured lengths, limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from coding.reference_range_decoder import ReferenceDecoder
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netpact.coding import (
    Contexts,
    Decoder,
    Encoder,
    Meter,
    ShortFloat,
    code_choice,
    code_flag,
    code_indices,
    code_integers,
    code_positions,
    code_short_float,
    code_signed,
    code_uint,
)
from netpact.coding.integers import _code_magnitudes
from netpact.core.errors import PactError

Ints = NDArray[np.int64]
Describe = Callable[[Any, Any], Any]  # (coder, value or None) -> value
quick = settings(max_examples=150, deadline=None, derandomize=True)


def ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def there_and_back(describe: Describe, value: Any) -> bytes:
    """The message of one value, after both decoders and the promised length have been checked."""
    encoder, meter = Encoder(), Meter()
    np.testing.assert_array_equal(describe(encoder, value), value)
    np.testing.assert_array_equal(describe(meter, value), value)
    message = encoder.to_bytes()
    np.testing.assert_array_equal(describe(Decoder(message), None), value)
    if len(message) < 400:
        np.testing.assert_array_equal(describe(ReferenceDecoder(message), None), value)
    assert 8 * len(message) <= 1.002 * meter.total + 16
    return message


def measured(describe: Describe, value: Any) -> float:
    meter = Meter()
    describe(meter, value)
    return meter.total


whole = st.one_of(st.integers(-3, 3), st.integers(-300, 300), st.integers(-(2**32) + 1, 2**32 - 1))


@quick
@given(values=st.lists(whole, max_size=60).map(ints))
def test_integers(values: Ints) -> None:
    there_and_back(lambda coder, known: code_integers(coder, known, len(values), Contexts()), values)


@quick
@given(bits=st.integers(0, 9), depth=st.integers(0, 9), data=st.data())
def test_indices(bits: int, depth: int, data: st.DataObject) -> None:
    values = ints(data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=60)))

    def describe(coder: Any, known: Any) -> Ints:
        return code_indices(coder, known, len(values), bits=bits, contexts=Contexts(), name="index", prefix_depth=depth)

    there_and_back(describe, values)


@quick
@given(count=st.sampled_from([1, 50, 4095, 4096, 9000]), data=st.data())
def test_positions(count: int, data: st.DataObject) -> None:
    marks = data.draw(st.lists(st.integers(0, count - 1), max_size=100, unique=True))
    there_and_back(lambda coder, known: code_positions(coder, known, count, Contexts()), ints(sorted(marks)))


@pytest.mark.parametrize("probability", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("name", ["positions", "integers"])
def test_rare_marks_among_a_million_places(probability: float, name: str) -> None:
    random = np.random.default_rng(3)
    places = np.flatnonzero(random.random(1_000_000) < probability)
    if name == "positions":
        message = there_and_back(lambda coder, known: code_positions(coder, known, 1_000_000, Contexts()), places)
        # Not more than a tenth above what it takes to choose that many places, and the few hundred bits of adaptation.
        chosen = math.lgamma(1e6 + 1) - math.lgamma(len(places) + 1) - math.lgamma(1e6 - len(places) + 1)
        assert 8 * len(message) <= 1.1 * chosen / math.log(2) + 100
    else:
        values = np.zeros(1_000_000, dtype=np.int64)
        values[places] = random.integers(1, 20, len(places)) * random.choice([-1, 1], len(places))
        there_and_back(lambda coder, known: code_integers(coder, known, len(values), Contexts()), values)


@pytest.mark.parametrize("count", [0, 1, 4096])
@pytest.mark.parametrize("value", [0, 1, -1, 7])
def test_constant_arrays(count: int, value: int) -> None:
    values = np.full(count, value, dtype=np.int64)
    there_and_back(lambda coder, known: code_integers(coder, known, count, Contexts()), values)


@pytest.mark.parametrize("value", [2**32, -(2**32), 2**63 - 1, -(2**63)])
def test_integers_beyond_the_limit_are_refused(value: int) -> None:
    with pytest.raises(PactError, match="within"):
        code_integers(Encoder(), ints([0, value]), 2, Contexts())


def write_gaps(marks: int, gaps: list[int]) -> bytes:
    """Rare marks as code_positions writes them, but with gaps of our own choice."""
    encoder = Encoder()
    code_flag(encoder, True)
    code_uint(encoder, marks)
    _code_magnitudes(encoder, ints(gaps), len(gaps), Contexts(), "gap")
    return encoder.to_bytes()


@pytest.mark.parametrize(
    ("marks", "gaps", "word"), [(5001, [1], "5,001 of 5,000"), (2, [1, 5000], "beyond"), (1, [5001], "beyond")]
)
def test_places_beyond_the_plane_are_refused(marks: int, gaps: list[int], word: str) -> None:
    with pytest.raises(PactError, match=word):
        code_positions(Decoder(write_gaps(marks, gaps)), None, 5000, Contexts())


def test_the_last_place_is_allowed() -> None:
    assert list(code_positions(Decoder(write_gaps(1, [5000])), None, 5000, Contexts())) == [4999]


@quick
@given(value=st.one_of(st.integers(0, 300), st.integers(0, 2**41 - 2)))
def test_whole_numbers_cost_elias_gamma(value: int) -> None:
    there_and_back(code_uint, value)
    assert measured(code_uint, value) == 2 * ((value + 1).bit_length() - 1) + 1


@quick
@given(value=st.integers(-(2**39), 2**39))
def test_signed_numbers(value: int) -> None:
    there_and_back(code_signed, value)


def test_signed_numbers_are_counted_outward_from_zero() -> None:
    assert [measured(code_signed, value) for value in (0, -1, 1, -2, 2, -3, 3, -4)] == [1, 3, 3, 5, 5, 5, 5, 7]


@pytest.mark.parametrize("value", [-1, -(2**50), 2**41 - 1, 2**60])
def test_whole_numbers_beyond_the_limit_are_refused(value: int) -> None:
    with pytest.raises(PactError, match="from 0 to"):
        code_uint(Encoder(), value)


def test_a_message_cannot_announce_a_longer_number() -> None:
    encoder = Encoder()
    for _ in range(60):
        code_flag(encoder, True)
    with pytest.raises(PactError, match="more than 40 bits"):
        code_uint(Decoder(encoder.to_bytes()), None)


@quick
@given(bits=st.integers(0, 40), data=st.data())
def test_choices_cost_their_bits(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, (1 << bits) - 1))
    there_and_back(lambda coder, known: code_choice(coder, known, bits), value)
    assert measured(lambda coder, known: code_choice(coder, known, bits), value) == bits


@pytest.mark.parametrize("value", [False, True])
def test_flags(value: bool) -> None:
    there_and_back(code_flag, value)


short_floats = st.builds(ShortFloat, st.integers(-64, 63), st.integers(0, 15))


@quick
@given(value=short_floats)
def test_short_floats(value: ShortFloat) -> None:
    encoder = Encoder()
    assert code_short_float(encoder, value) == value
    assert code_short_float(Decoder(encoder.to_bytes()), None) == value
    assert value.value == (1 + value.mantissa / 16) * 2.0**value.exponent
    assert ShortFloat.nearest(value.value) == value


@settings(max_examples=500, deadline=None, derandomize=True)
@given(number=st.floats(2.0**-64, 1.9375 * 2.0**63))
def test_the_nearest_short_float_is_near(number: float) -> None:
    near = ShortFloat.nearest(number)
    assert max(number / near.value, near.value / number) <= 1.032
    steps = [ShortFloat(near.exponent, mantissa) for mantissa in range(16)]
    assert abs(near.value - number) <= min(abs(step.value - number) for step in steps)


@pytest.mark.parametrize(
    ("number", "nearest"),
    [
        (1e-300, ShortFloat(-64, 0)),
        (5e-324, ShortFloat(-64, 0)),
        (2.0**64, ShortFloat(63, 15)),
        (1.99 * 2.0**63, ShortFloat(63, 15)),
        (1e300, ShortFloat(63, 15)),
        (1.98, ShortFloat(1, 0)),
    ],
)
def test_numbers_outside_the_range_go_to_its_ends(number: float, nearest: ShortFloat) -> None:
    assert ShortFloat.nearest(number) == nearest


@pytest.mark.parametrize("number", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_only_positive_finite_numbers_have_a_short_float(number: float) -> None:
    with pytest.raises(PactError, match="positive finite"):
        ShortFloat.nearest(number)


@pytest.mark.parametrize(("exponent", "mantissa"), [(64, 0), (-65, 0), (0, 16), (0, -1)])
def test_short_floats_beyond_the_limits_are_refused(exponent: int, mantissa: int) -> None:
    with pytest.raises(PactError, match=r"mantissa 0\.\.15 and exponent -64\.\.63"):
        ShortFloat(exponent, mantissa)


def test_learning_pays() -> None:
    values = np.random.default_rng(0).geometric(0.5, 20_000)
    learned = there_and_back(lambda coder, known: code_integers(coder, known, len(values), Contexts()), values)
    assert len(learned) * 8 < 1.1 * 2 * len(values)  # the entropy of a geometric variable with 1/2 is 2 bits
