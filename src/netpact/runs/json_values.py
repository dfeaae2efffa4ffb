"""What a task may take and give back: plain JSON, so that a fresh result and a stored one are the same value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from netpact.core.errors import PactError

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"


def encode_json(value: object, *, where: str) -> str:
    """The one canonical text of a value: sorted names, no spaces, ASCII. Tuples are written as lists."""
    try:
        _check(value, where)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError as error:
        raise PactError("the value contains itself or is nested too deeply for JSON", where=where) from error


def decode_json(text: str | bytes) -> JsonValue:
    """Strict: NaN and Infinity, which Python's reader takes by default, are a ValueError."""
    value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    return value


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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
