"""Numbers and names as a reader sees them; names cannot smuggle in markup."""

from __future__ import annotations

import html
import unicodedata

_LONGEST = 100
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def count(number: int) -> str:
    return f"{number:,}"


def size(number: int) -> str:
    """A power-of-ten size in short form for an axis: 20000 -> '20 kB'. Decimal units, as disks and papers count."""
    power = min((len(str(number)) - 1) // 3, len(_UNITS) - 1)
    return f"{number / 1000**power:g} {_UNITS[power]}"


def clean(text: str) -> str:
    """Replace what cannot be printed (control codes, lone surrogates, direction overrides) by a visible mark.

    Such characters would break the XML, drive a terminal or reorder what is read.
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def escape(text: str) -> str:
    """Safe as HTML or XML text and inside a quoted attribute."""
    return html.escape(clean(text), quote=True)


def shorten(text: str, *, room: float, font_size: float) -> str:
    """The text, cut so that it is at most `room` wide; an ellipsis is what is left where there is no room at all."""
    whole = clean(text)
    # The first cut keeps the loop short for a name of a megabyte.
    kept = whole[:_LONGEST]
    shown = kept if kept == whole else kept.rstrip() + "…"
    while kept and text_width(shown, font_size=font_size) > room:
        kept = kept[:-1]
        shown = kept.rstrip() + "…"
    return shown


def text_width(text: str, *, font_size: float) -> float:
    """A width that common sans-serif fonts do not exceed; there is no font to ask when the page is written."""
    ems = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF" or letter in "MWmw@%…":
            ems += 1.0
        elif letter in " .,:;'|!iIjlftr()[]-":
            ems += 0.42
        elif unicodedata.combining(letter):
            continue
        elif letter.isascii() and not letter.isupper():
            ems += 0.66
        else:
            ems += 0.82
    return ems * font_size
