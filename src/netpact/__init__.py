"""netpact: a small network, and a guarantee about it.

    data + nn.Module --trace--> Network --compress--> Compressed --seal--> Pact
    Pact + data --certify--> Pact with Certificate --verify--> Verdict

Names are loaded when they are first used: importing netpact does not import torch. `__init__.pyi` lists them with their
places. No submodule has the name of a verb: importing it would hide the verb.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from netpact.core import former_places
from netpact.core.errors import PactError, did_you_mean  # noqa: F401
from netpact.core.version import __version__  # noqa: F401

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", _STUB, re.MULTILINE)}
__all__ = sorted(_HOMES)
former_places.install()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        hint = did_you_mean(name, __all__)
        raise AttributeError(f"module 'netpact' has no attribute {name!r}" + (f"; {hint}" if hint else ""))
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
