"""What identifies the code of a user's module: a hash of the source that makes it and of what it is made of."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType

from torch import nn

from netpact.core.installed import is_package

# Code that everybody has: of it only the name is taken.
_PUBLIC = ("torch", "netpact", "builtins", "typing", "abc")
_Simple = (int, float, complex, bool, str, bytes, type(None))


def name_model(model: nn.Module | Callable[[], nn.Module] | None) -> str:
    """Where a module's class, or the function that makes it, is defined."""
    name = getattr(model, "__qualname__", type(model).__qualname__)
    return f"{getattr(model, '__module__', type(model).__module__)}:{name}"


def hash_source(model: nn.Module | Callable[[], nn.Module], module: nn.Module) -> str:
    """sha256 over the code of a module; "" where a part of the source is not available.

    In it are the function that makes the module, the source of every class that is neither torch's nor netpact's and
    of its functions as they are now, and of every part its place, class and plain settings (numbers, texts and lists of
    them), also those in an object of an installed package, such as its configuration. What such code calls, imports or
    reads is not. Every entry is preceded by its length.

    model   what the user supplied: the module, or the function or class that makes it
    module  what it makes
    """
    digest = hashlib.sha256()
    try:
        for entry in (*_sources(model, module), *_settings(module)):
            content = entry.encode(errors="backslashreplace")
            digest.update(f"{len(content)}:".encode() + content)
    except (OSError, TypeError):
        return ""
    return digest.hexdigest()


def _sources(model: nn.Module | Callable[[], nn.Module], module: nn.Module) -> list[str]:
    """Sorted, so that the order in which parts are listed does not matter."""
    maker = inspect.unwrap(model)
    found = set()
    if not isinstance(model, nn.Module) and not inspect.isclass(maker):
        found.add(inspect.getsource(maker))
    classes = {kind for part in module.modules() for kind in type(part).__mro__ if not _is_public(kind)}
    for kind in classes:
        found.add(inspect.getsource(kind))
        found |= set(_functions(vars(kind)))
    for part in module.modules():
        found |= set(_functions(vars(part)))
    return sorted(found)


def _functions(members: Mapping[str, object]) -> Iterator[str]:
    """Functions among attributes: one that was put into a class later has a source of its own."""
    for name, member in members.items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if isinstance(inner, FunctionType):
            home = sys.modules.get(inner.__module__) if _is_public_name(str(inner.__module__)) else None
            public = home is not None and inner.__globals__ is vars(home)
            yield f"{name}: {inner.__qualname__ if public else inspect.getsource(inner)}"


def _settings(module: nn.Module) -> Iterator[str]:
    for place, part in module.named_modules():
        yield f"{place} {type(part).__qualname__} {_plain(part)}"
        for name, value in sorted(vars(part).items()):
            if not name.startswith("_") and _configures(value):
                yield f"{place}.{name} {type(value).__qualname__} {_plain(value)}"


def _plain(thing: object) -> list[tuple[str, str]]:
    return sorted(
        (name, repr(value))
        for name, value in vars(thing).items()
        if not name.startswith("_") and name != "training" and _is_simple(value)
    )


def _configures(value: object) -> bool:
    """Whether it is an object with settings, of a class in an installed package other than torch."""
    if isinstance(value, (nn.Module, type, FunctionType)) or not hasattr(value, "__dict__") or _is_public(type(value)):
        return False
    home = sys.modules.get(type(value).__module__)
    return is_package(getattr(home, "__file__", None) or "")


def _is_simple(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_simple, value))
    if isinstance(value, dict):
        return all(map(_is_simple, value.keys())) and all(map(_is_simple, value.values()))
    return type(value) in _Simple


def _is_public(kind: type) -> bool:
    """Whether a class is where it says it is: its module and name are attributes that anyone can set."""
    found: object = sys.modules.get(kind.__module__) if _is_public_name(kind.__module__) else None
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _is_public_name(name: str) -> bool:
    return name.partition(".")[0] in _PUBLIC and name in sys.modules
