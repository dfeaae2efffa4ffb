"""The user's own module, named on the command line. Never used for a name that comes out of a file."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import TypeAlias

from torch import nn

from netpact.core.errors import PactError, did_you_mean

OwnModel: TypeAlias = nn.Module | Callable[[], nn.Module]  # better the function: it is called anew where that shows


def import_model(name: str) -> nn.Module:
    """Call "package.module:function" with no arguments and return the nn.Module it gives.

    The current directory is importable meanwhile. Errors raised inside the user's code come through unchanged.
    """
    function = _import_function(name)
    with current_directory_first():
        made = function()
    if not isinstance(made, nn.Module):
        raise PactError(f"must return a torch.nn.Module, returned {type(made).__name__}", where=name)
    return made


def model_maker(name: str) -> Callable[[], nn.Module]:
    """A function that calls "package.module:function" anew at every call; it bears that function's name.

    The function itself stands under __wrapped__, where inspect finds its source.
    """

    def make() -> nn.Module:
        return import_model(name)

    make.__module__, _, make.__qualname__ = name.partition(":")
    make.__wrapped__ = _import_function(name)  # type: ignore[attr-defined]
    return make


def as_model(source: object) -> OwnModel | None:
    """A module, or the function that makes it, from either of them or from "package.module:function"."""
    if source is None or isinstance(source, nn.Module):
        return source
    if isinstance(source, str):
        return model_maker(source)
    if not callable(source):
        raise PactError(
            f"must be a torch.nn.Module or the function that makes it, got {type(source).__name__}", where="model"
        )
    return source


def _import_function(name: str) -> Callable[[], object]:
    module_name, _, function_name = name.partition(":")
    parts = [*module_name.split("."), function_name]
    if not all(part.isidentifier() for part in parts):
        raise PactError(f"{name!r} does not name a function", where="model", hint="write package.module:function")
    with current_directory_first():
        return _find(_import(module_name, name=name), function_name, name=name)


def _import(module_name: str, *, name: str) -> ModuleType:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        raise PactError(
            f"there is no module {module_name}" if missing else f"importing {module_name} failed: {error}",
            where=name,
            hint="run from the folder that holds it, or install it" if missing else "",
        ) from error


def _find(module: ModuleType, function_name: str, *, name: str) -> Callable[[], object]:
    found = getattr(module, function_name, None)
    if found is None:
        offered = [key for key, value in vars(module).items() if not key.startswith("_") and _can_make(value)]
        raise PactError(
            f"{module.__name__} has no {function_name}; it has: {', '.join(offered) or 'nothing to call'}",
            where=name,
            hint=did_you_mean(function_name, offered),
        )
    if not _can_make(found):
        raise PactError(
            f"{function_name} is a {type(found).__name__}, not a function", where=name, hint="wrap it in a function"
        )
    _check_no_arguments(found, function_name, name=name)
    return found


def _can_make(value: object) -> bool:
    """An nn.Module instance is callable too, but calling it would run the network rather than make one."""
    return callable(value) and not isinstance(value, nn.Module)


def _check_no_arguments(found: Callable[..., object], function_name: str, *, name: str) -> None:
    try:
        signature = inspect.signature(found)
    except ValueError:  # some built-in callables have no signature: the call itself will tell
        return
    try:
        signature.bind()
    except TypeError as error:
        raise PactError(
            f"{function_name} must be callable without arguments: {error}", where=name, hint="give them defaults"
        ) from error


@contextmanager
def current_directory_first() -> Iterator[None]:
    entry = os.getcwd()
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(entry)
