"""The one JSON codec of records. Strict both ways: no NaN or Infinity, no key twice, one canonical text."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from netpact.core.errors import PactError

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
_SHOWN = 40  # of a file's own words, in an error: keys, and characters of each


def encode_json(value: object, *, where: str) -> str:
    """The one canonical text of a value: sorted names, no spaces, ASCII. Tuples are written as lists."""
    try:
        _check(value, where)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise PactError("the value contains itself or is nested too deeply for JSON", where=where) from error


def finite(number: float) -> float | None:
    """None for what JSON has no number for: infinity, and what is not a number."""
    return number if math.isfinite(number) else None


def decode_json(text: str | bytes, *, where: str) -> JsonValue:
    """The value of a text from an untrusted file; bytes are UTF-8."""
    try:
        content = text if isinstance(text, str) else text.decode()
        value: JsonValue = json.loads(content, object_pairs_hook=_unique)
        _check(value, where)  # Python's reader takes NaN and Infinity, and 1e999 for the latter
    except ValueError as error:
        raise PactError(f"this is not JSON: {error}", where=where) from error
    except RecursionError as error:
        raise PactError("the JSON is nested too deeply", where=where) from error
    return value


def read_object(source: object, *, where: str) -> Mapping[str, Any]:
    """A JSON object, parsed if it is text."""
    return check_object(decode_json(source, where=where) if isinstance(source, (str, bytes)) else source, where=where)


def check_object(content: object, *, where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise PactError(f"must be a JSON object, got {type(content).__name__}", where=where)
    return content


def check_fields(
    value: object, names: Collection[str], *, where: str, optional: Collection[str] = ()
) -> Mapping[str, Any]:
    """A JSON object with exactly these keys; the optional ones may be there."""
    content = check_object(value, where=where)
    unknown = sorted(str(key) for key in content if key not in names and key not in optional)
    missing = sorted(key for key in names if key not in content)
    if unknown or missing:
        problems = [f"{word} {_shown(keys)}" for word, keys in (("unknown:", unknown), ("missing:", missing)) if keys]
        raise PactError(f"the keys are not those of this record; {'; '.join(problems)}", where=where)
    return content


def _shown(keys: list[str]) -> str:
    """The first few, each cut: they may come from a hostile file."""
    rest = f", and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    return ", ".join(key[:_SHOWN] for key in keys[:_SHOWN]) + rest


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        seen: set[str] = set()
        first = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"duplicate key: {first[:_SHOWN]}")
    return content


def _check(value: object, where: str) -> None:
    # json.dumps alone would turn the name 1 into "1" silently, and does not say where the offending value sits.
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise PactError(f"names in a JSON object are text, got {name!r}", where=where, hint="use str(name)")
            _check(item, f"{where}[{name!r}]")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            _check(item, f"{where}[{place}]")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise PactError(f"{value} is not a JSON number", where=where, hint="use None where there is no number")
    elif value is not None and not isinstance(value, bool | int | str):
        raise PactError(
            f"a value of type {type(value).__name__} is not JSON; allowed: None, bool, int, float, str, list, dict",
            where=where,
            hint="turn arrays and array numbers into plain ones with .tolist()",
        )
