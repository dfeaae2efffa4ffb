from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports.report_examples import HOSTILE

from netpact.reports.text import clean, escape, shorten, size, text_width


def test_sizes_are_short() -> None:
    assert [size(number) for number in (1, 500, 1000, 20_000, 10**6, 5 * 10**9)] == [
        "1 B",
        "500 B",
        "1 kB",
        "20 kB",
        "1 MB",
        "5 GB",
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_escaped_text_has_no_markup_and_can_be_written(name: str) -> None:
    escaped = escape(name)
    assert not set("<>\"'") & set(escaped)
    assert escaped.isprintable()
    escaped.encode("utf-8")


def test_cleaning_leaves_ordinary_text_alone() -> None:
    assert clean("grid, 8 bits (größer) 圧縮") == "grid, 8 bits (größer) 圧縮"


@given(st.text(max_size=60), st.floats(20, 300))
def test_shortened_text_fits(text: str, room: float) -> None:
    assert text_width(shorten(text, room=room, font_size=12), font_size=12) <= room


def test_short_text_is_not_cut() -> None:
    assert shorten("8 bits", room=100, font_size=12) == "8 bits"
    assert shorten("8 bits", room=1, font_size=12) == "…"
    assert len(shorten("i" * 1_000_000, room=1e9, font_size=12)) == 101
    assert shorten("a very long name of a network", room=60, font_size=12).endswith("…")
