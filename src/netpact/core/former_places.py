"""Modules that were moved can still be imported by their former names: netpact.forms is netpact.coding.forms."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER = {
    "certification": "pacts.certification",
    "demonstration": "exploration.demonstration",
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


class _Forwarding(MetaPathFinder, Loader):
    """The module of the new name also stands in sys.modules under the former one: both are one object."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        room, dot, below = rest.partition(".")
        if package != "netpact" or room not in FORMER:
            return None
        return ModuleSpec(fullname, self, origin=f"netpact.{FORMER[room]}{dot}{below}")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.origin or "")
        spec.loader_state = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    if not any(isinstance(finder, _Forwarding) for finder in sys.meta_path):
        sys.meta_path.append(_Forwarding())
