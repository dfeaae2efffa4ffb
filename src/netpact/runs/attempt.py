"""One call of a task's function: whatever happens in it becomes a record."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from netpact.core.errors import PactError
from netpact.core.json import JsonValue, decode_json, encode_json


@dataclass(frozen=True)
class Attempt:
    result: JsonValue = None
    error: str | None = None
    traceback: str | None = None
    seconds: float = 0.0


def attempt_call(function: Callable[..., JsonValue], arguments: Mapping[str, JsonValue]) -> Attempt:
    """Call the function; the result goes through JSON here already, so that a fresh one equals a stored one."""
    started = perf_counter()
    try:
        result = decode_json(encode_json(function(**arguments), where="result"), where="result")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a task raises belongs to its outcome
        return failed_attempt(error, seconds=perf_counter() - started)
    return Attempt(result=result, seconds=perf_counter() - started)


def failed_attempt(error: BaseException, *, seconds: float) -> Attempt:
    if isinstance(error, PactError):
        text = str(error)
    else:
        text = "".join(traceback.format_exception_only(error)).strip()
    return Attempt(error=text, traceback="".join(traceback.format_exception(error)), seconds=seconds)
