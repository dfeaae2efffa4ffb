"""Packages that load a name when it is first used: opening a small file does not import the whole library.

The package's `__init__.pyi` is the one list of its names, read here and by type checkers.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

_LINE = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def attach(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package."""
    module = sys.modules[package]
    assert module.__file__ is not None
    homes = {name: home for home, name in _LINE.findall(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))}
    names = sorted(homes)

    def load(name: str) -> object:
        if name not in homes:
            from netpact.core.errors import did_you_mean

            hint = did_you_mean(name, names)
            raise AttributeError(f"module {package!r} has no attribute {name!r}" + (f"; {hint}" if hint else ""))
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    return load, lambda: names, names
