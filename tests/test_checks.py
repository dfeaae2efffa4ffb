"""The one set of argument checks."""

from __future__ import annotations

import math

import pytest

from netpact import PactError
from netpact.core.checks import check_choice, check_flag, check_integer, check_number


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
