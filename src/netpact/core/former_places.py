"""Modules that were moved can still be imported by their former names: netpact.forms is netpact.coding.forms."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER = {
    "certification": "pacts.certification",
    "demonstration": "comparisons.demonstration",
    "display": "core.display",
    "errors": "core.errors",
    "files": "core.files",
    "format": "coding.format",
    "forms": "coding.forms",
    "limits": "core.limits",
    "originals": "pacts.originals",
    "overlap": "datasets.overlap",
    "priors": "pacts.priors",
    "progress": "core.progress",
    "promises": "deviations",
    "seed": "core.seed",
    "stream": "algebra.stream",
    "verification": "pacts.verification",
    "version": "core.version",
}


class _Forwarding:
    """Finder and loader. The module is also in sys.modules under its former name: both are one object.

    It does not inherit from importlib.abc, whose import takes longer than that of all the rest.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        room, dot, below = rest.partition(".")
        if package != "netpact" or room not in FORMER:
            return None
        return ModuleSpec(fullname, self, origin=f"netpact.{FORMER[room]}{dot}{below}")  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.origin or "")
        spec.loader_state = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    if not any(isinstance(finder, _Forwarding) for finder in sys.meta_path):
        # First: by the path of the package, the usual finder would load a second copy of its modules.
        sys.meta_path.insert(0, _Forwarding())
