"""Code lengths: the Elias-delta codewords themselves, and the Kraft sum over all byte strings."""

from fractions import Fraction
from itertools import pairwise

import pytest

from netpact.certificates import code_bits, elias_delta_bits
from netpact.core.errors import PactError


def elias_delta(n: int) -> str:
    """The codeword, as Elias wrote it: the length of n in Elias-gamma, then n without its leading one."""
    digits = f"{n:b}"
    length = f"{len(digits):b}"
    return "0" * (len(length) - 1) + length + digits[1:]


def test_the_length_is_that_of_the_codeword() -> None:
    assert [elias_delta(n) for n in (1, 2, 3, 4, 16)] == ["1", "0100", "0101", "01100", "001010000"]
    for n in [*range(1, 3000), 2**40 - 1, 2**40, 2**40 + 1]:
        assert elias_delta_bits(n) == len(elias_delta(n)), n


def test_no_codeword_begins_another() -> None:
    words = sorted(elias_delta(n) for n in range(1, 5000))
    assert not any(later.startswith(earlier) for earlier, later in pairwise(words))


def test_the_kraft_sum_over_all_byte_strings_is_at_most_one() -> None:
    total = Fraction(0)
    for length in range(20_000):
        # 2^(8*length) byte strings of this length, each counted with 2^-code_bits.
        total += Fraction(1, 2 ** (code_bits(length) - 8 * length))
        assert total <= 1, length
    assert total > Fraction(9, 10), "the announcement wastes more than it should"


def test_the_kraft_sum_over_very_long_strings_is_at_most_one() -> None:
    # All lengths n - 1 with n in [2^e, 2^(e+1)) share one announcement cost, so whole blocks can be added.
    total = Fraction(0)
    for exponent in range(400):
        cost = elias_delta_bits(2**exponent)
        assert cost == elias_delta_bits(2 ** (exponent + 1) - 1)
        total += Fraction(2**exponent, 2**cost)
        assert total <= 1, exponent


def test_known_lengths() -> None:
    assert code_bits(0) == 1
    assert code_bits(1) == 8 + 4
    assert code_bits(250) == 2000 + 14


@pytest.mark.parametrize("value", [-1, 1.0, True, "3", None])
def test_bad_lengths_are_refused(value: int) -> None:
    with pytest.raises(PactError, match="message_bytes"):
        code_bits(value)
    with pytest.raises(PactError, match="n: "):
        elias_delta_bits(value if value is not True else 0)
