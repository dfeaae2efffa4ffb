"""Names in a statement: short and printable, so that they cannot pass for a part of its sentence."""

from __future__ import annotations

import re
import unicodedata

from netpact.core.checks import check_text
from netpact.core.errors import PactError

MOST_CHARACTERS = 80
# Letters that are written from right to left, and Arabic digits: they change the order in which the rest shows.
_TURNING = ("R", "AL", "AN")
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,4}([A-Za-z0-9.+_-]{0,40})", re.ASCII)
_NUMBERS = r"-?[0-9.]{1,40}(e[+-]?[0-9]{1,3})?(,-?[0-9.]{1,40}(e[+-]?[0-9]{1,3})?)*"
_CONSTANTS = re.compile(f"{_NUMBERS}/{_NUMBERS}", re.ASCII)
_MOST_CONSTANTS = 1 << 20
_FINGERPRINT = re.compile("sha256:[0-9a-f]{1,64}", re.ASCII)


def check_name(value: object, *, name: str) -> str:
    """At most 80 printable characters in one line, without the double quotes that a sentence puts around them."""
    text = check_text(value, where=name)
    if len(text) > MOST_CHARACTERS:
        raise PactError(f"must have at most {MOST_CHARACTERS} characters, got {len(text):,}", where=name)
    bad = next((letter for letter in text if not _is_plain(letter)), None)
    if bad is not None:
        raise PactError(f"must be printable characters without double quotes, got {bad!a}", where=name)
    return text


def make_name(text: str) -> str:
    """A name from any text: what is not allowed becomes an underscore, and the middle of a long one is left out."""
    plain = "".join(letter if _is_plain(letter) else "_" for letter in text) or "unnamed"
    half = (MOST_CHARACTERS - 3) // 2
    return plain if len(plain) <= MOST_CHARACTERS else f"{plain[:half]}...{plain[-half:]}"


def quote(name: str) -> str:
    return f'"{name}"'


def check_version(value: object, *, name: str) -> str:
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise PactError(f"must be a version such as 1.2.3, got {value!r:.100}", where=name)
    return value


def check_fingerprint(value: object, *, name: str) -> str:
    if not isinstance(value, str) or not _FINGERPRINT.fullmatch(value):
        raise PactError(f"must be sha256: and hexadecimal digits, got {value!r:.100}", where=name)
    return value


def check_constants(value: object, *, name: str) -> str:
    """MEAN/STD, each one decimal number or several with commas between them."""
    if not isinstance(value, str) or len(value) > _MOST_CONSTANTS or not _CONSTANTS.fullmatch(value):
        raise PactError(f"must be MEAN/STD, numbers with commas between them, got {value!r:.100}", where=name)
    return value


def _is_plain(letter: str) -> bool:
    # isprintable leaves out control and format characters, line ends and all spaces but the common one. Marks would
    # sit on the letter before them, which may be the quote.
    return (
        letter.isprintable()
        and letter not in '"\\'
        and unicodedata.category(letter)[0] != "M"
        and unicodedata.bidirectional(letter) not in _TURNING
    )
