"""One piece of work with a name: a function that can be imported, and its arguments as plain JSON."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import cast

from netpact.core.checks import check_instance
from netpact.core.errors import PactError, wrong_kind
from netpact.core.json import JsonValue, decode_json, encode_json
from netpact.runs.parcels import Parcel

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/=+,:@-]{0,199}")


@dataclass(frozen=True)
class Task:
    """Call `function(**arguments)` once and keep the result under `key`.

    key        a readable name, unique within a run
    function   stands at the top level of a module (or is a static method of a class there), so a worker can import it
    arguments  keyword arguments, plain JSON; copied, so that later changes by the caller have no effect
    version    the program's version; a result of another version is not reused
    parcels    what the function needs beside: it finds them by their names, which are among the arguments
    """

    key: str
    function: Callable[..., JsonValue]
    arguments: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    _: KW_ONLY
    version: str
    parcels: tuple[Parcel, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not _KEY.fullmatch(self.key):
            raise PactError(
                f"{self.key!r} is not a task key: 1 to 200 letters, digits, spaces and . _ / = + , : @ -, "
                "the first a letter or a digit",
                where="key",
            )
        check_instance(self.version, str, where=f"task {self.key}, version")
        if not isinstance(self.arguments, Mapping):
            raise wrong_kind(self.arguments, needed="a dict", where=f"task {self.key}, arguments")
        _check_importable(self.function, where=f"task {self.key}")
        text = encode_json(dict(self.arguments), where=f"task {self.key}: arguments")
        object.__setattr__(self, "arguments", decode_json(text, where="arguments"))
        _check_call(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the result depends on: function name, arguments, version. The key is not part of it."""
        content = {"arguments": self.arguments, "function": _qualified_name(self.function), "version": self.version}
        return hashlib.sha256(encode_json(content, where=f"task {self.key}").encode()).hexdigest()

    def fresh_arguments(self) -> dict[str, JsonValue]:
        """A copy for one call: a function that changes its arguments must not change the task."""
        text = encode_json(self.arguments, where=f"task {self.key}: arguments")
        return cast("dict[str, JsonValue]", decode_json(text, where="arguments"))


def _check_importable(function: object, *, where: str) -> None:
    name = getattr(function, "__qualname__", None)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    found: object = None
    if callable(function) and isinstance(name, str):
        found = reduce(lambda place, part: getattr(place, part, None), name.split("."), cast("object", module))
    # Lambdas and local functions are not found under their name ("<lambda>", "f.<locals>.g"). Identity refuses bound
    # methods too: the state of their object would be missing from the digest.
    if found is None or found is not function or not _is_picklable(function):
        raise PactError(
            f"{name or repr(function)} cannot be imported by a worker",
            where=where,
            hint="use a function at the top level of a module, not a lambda, a local function, a partial or a method",
        )


def _is_picklable(function: object) -> bool:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _check_call(task: Task) -> None:
    try:
        signature = inspect.signature(task.function)
    except ValueError:
        return  # some built-in functions do not list their parameters
    try:
        signature.bind(**task.arguments)
    except TypeError as error:
        raise PactError(
            f"the arguments do not fit {task.function.__qualname__}{signature}: {error}",
            where=f"task {task.key}",
            hint="arguments are passed by name",
        ) from error


def _qualified_name(function: Callable[..., JsonValue]) -> str:
    module = function.__module__
    if module == "__main__":
        # Two scripts may both have a __main__.work; `python -m a.b` and `import a.b` mean the same function.
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        module = spec.name if spec is not None else Path(getattr(main, "__file__", None) or "__main__").stem
    return f"{module}.{function.__qualname__}"
