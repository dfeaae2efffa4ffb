"""Contrast of every text colour with every ground it may stand on, in both themes: WCAG 2 AA asks for 4.5."""

from __future__ import annotations

import pytest

from netpact.reports.charts.looks import GROUND, LOOKS, Colour
from netpact.reports.style import GROUNDS, PAGE_STYLE, TEXT

WORDS = ("name", "name best", "tick", "axis", "key")


def lightness(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((lightness(one), lightness(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    def shown(colour: Colour) -> str:
        return str(getattr(colour, theme))

    for name, ink in TEXT.items():
        for ground in GROUNDS.values():
            assert contrast(shown(ink), shown(ground)) >= 4.5, name
    for kind in WORDS:
        fill = LOOKS[kind].fill
        assert fill is not None
        assert contrast(shown(fill), shown(GROUND)) >= 4.5, kind
    assert all(f"{name}: {shown(ink)};" in PAGE_STYLE for name, ink in {**TEXT, **GROUNDS}.items())
