"""Shell completion: names for what is being typed. A key press must not wait for torch.

Methods and experiments are tables whose modules import torch, so their names are read from the text of these modules;
a test compares them with the tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_METHOD = re.compile(r'^@METHODS\.add\n(?:.*\n)*?    name: ClassVar\[str\] = "([^"]+)"', re.MULTILINE)
_EXPERIMENT = re.compile(r'Plan\(\n +name="([^"]+)"')

Complete = Callable[[str], list[str]]


def _starting(names: Callable[[], Iterator[str]]) -> Complete:
    def complete(incomplete: str) -> list[str]:
        return sorted(name for name in names() if name.startswith(incomplete))

    return complete


def _found(pattern: re.Pattern[str], *places: str) -> Iterator[str]:
    for place in places:
        for file in sorted(_PACKAGE.glob(place)):
            yield from pattern.findall(file.read_text("utf-8"))


def method_names() -> Iterator[str]:
    return _found(_METHOD, "methods/**/*.py", "papers/*/methods/*.py")


def experiment_names() -> Iterator[str]:
    return _found(_EXPERIMENT, "papers/*/experiments/*.py")


def data_names() -> Iterator[str]:
    from netpact.datasets.catalogue import KNOWN

    yield "digits"
    yield from KNOWN


def model_names() -> Iterator[str]:
    """Families, and names of the literature that --help shows."""
    from netpact.models.families import FAMILIES

    yield from (family.name for family in FAMILIES.values())
    yield from ("vgg-16", "resnet-20", "resnet-56", "preresnet-20", "wrn-28-10", "densenet-40", "cp-vgg-16")


def bound_names() -> Iterator[str]:
    from netpact.bounds import BOUNDS

    yield from BOUNDS


complete_method = _starting(method_names)
complete_experiment = _starting(experiment_names)
complete_data = _starting(data_names)
complete_model = _starting(model_names)
complete_bound = _starting(bound_names)
