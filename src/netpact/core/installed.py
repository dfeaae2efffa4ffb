"""Whose source a file is: of Python, of an installed package, of netpact, or the user's own."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterable
from functools import cache

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@cache
def is_installed(file: str) -> bool:
    """Whether source of this name belongs to Python, to an installed package or to netpact."""
    if file.startswith("<frozen"):
        return True
    paths = sysconfig.get_paths()
    return is_package(file) or _is_below(file, (paths["stdlib"], paths["platstdlib"], _OURS))


def is_package(file: str) -> bool:
    """Whether it belongs to an installed package, which is neither Python itself nor netpact where it is developed."""
    return _is_below(file, _package_homes())


@cache
def _package_homes() -> frozenset[str]:
    """Also those that an environment shares with the machine, and those of one user."""
    paths = sysconfig.get_paths()
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return frozenset([paths["purelib"], paths["platlib"], *site.getsitepackages(), *user])


def _is_below(file: str, homes: Iterable[str]) -> bool:
    return any(os.path.abspath(file).startswith(home + os.sep) for home in homes)
