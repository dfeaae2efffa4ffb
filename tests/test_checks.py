"""The one set of argument checks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netpact import PactError
from netpact.core.checks import check_choice, check_flag, check_instance, check_integer, check_number, check_text, plain


@pytest.mark.parametrize("value", [0, 17, True, 2.0, "3", None])
def test_an_integer_out_of_range_or_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(PactError, match="bits: must be an integer from 1 to 16, got"):
        check_integer(value, where="bits", least=1, most=16)


def test_one_end_is_enough() -> None:
    assert check_integer(5, where="rank", least=5) == check_integer(5, where="rank", most=5) == 5
    with pytest.raises(PactError, match="rank: must be an integer >= 1, got 0"):
        check_integer(0, where="rank", least=1)
    with pytest.raises(PactError, match="rank: must be an integer <= 1,000, got 2000"):
        check_integer(2000, where="rank", most=1000)
    assert check_integer(-3, where="rank") == -3


@pytest.mark.parametrize("value", [0, 1.1, math.nan, math.inf, True, "0.5", None])
def test_a_number_out_of_range_or_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(PactError, match=r"energy: must be a finite number > 0 and <= 1, got"):
        check_number(value, where="energy", above=0, most=1)


def test_open_and_closed_ends_differ() -> None:
    assert check_number(1, where="share", above=0, most=1) == 1
    for value in (0, 1):
        assert check_number(value, where="share", least=0, most=1) == value
        with pytest.raises(PactError):
            check_number(value, where="share", above=0, below=1)


def test_a_flag_is_a_bool_and_a_choice_is_listed() -> None:
    assert check_flag(False, where="shared") is False
    with pytest.raises(PactError, match="shared: must be True or False, got 1"):
        check_flag(1, where="shared")
    assert check_choice("ternary", ("uniform", "ternary"), where="grid") == "ternary"
    with pytest.raises(
        PactError, match=r"grid: 'ternry' is not known; allowed: uniform, ternary.*did you mean ternary"
    ):
        check_choice("ternry", ("uniform", "ternary"), where="grid")


def test_a_number_from_a_hostile_file_is_not_written_out() -> None:
    for check in (check_integer, check_number):
        with pytest.raises(PactError, match=r"samples: must be .* got an integer of 33220 bits$"):
            check(10**10_000, where="samples", most=5)
    with pytest.raises(PactError, match=r"name: must be True or False, got '9{99}\.\.\.$"):
        check_flag("9" * 1000, where="name")


def test_a_text_is_not_empty() -> None:
    assert check_text("a", where="name") == "a"
    for value in ("", None, 3, b"a"):
        with pytest.raises(PactError, match="name: must be a text that is not empty, got"):
            check_text(value, where="name")


def test_an_object_of_another_kind_is_refused_by_its_kind() -> None:
    assert check_instance((1,), tuple, where="sizes") == (1,)
    with pytest.raises(PactError, match="sizes: must be a tuple, got list"):
        check_instance([1], tuple, where="sizes")
    with pytest.raises(PactError, match=r"error: must be an OSError, got the class OSError \(create an instance\)"):
        check_instance(OSError, OSError, where="error")
    with pytest.raises(PactError, match=r"sizes: must be a shape, got int \(write \(3,\)\)"):
        check_instance(3, tuple, where="sizes", needed="a shape", hint="write (3,)")


def test_numbers_of_numpy_become_plain() -> None:
    assert [type(plain(value)) for value in (np.int64(3), np.float32(0.5), 3, 0.5)] == [int, float, int, float]
    assert [plain(value) for value in (True, "3", None)] == [True, "3", None]
