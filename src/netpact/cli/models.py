"""From the MODEL argument to a module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.errors import PactError

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data


def open_model(name: str, data: Data, *, weights: Path | None) -> nn.Module:
    """A network of ours by short name, or the user's own by package.module:function, with weights if given."""
    from netpact.models import build, import_model, load_weights, names, parse_model

    if name.partition(":")[0] in names() or ":" not in name:
        module: nn.Module = build(parse_model(name, input_shape=data.input_shape, classes=data.classes))
    else:
        module = import_model(name)
    if weights is not None:
        load_weights(module, weights)
    return module


def trained_model(name: str, data: Data, *, weights: Path | None) -> nn.Module:
    """As open_model, but a network of ours without weights would be an untrained one."""
    from netpact.models import names

    if weights is None and name.partition(":")[0] in names():
        raise PactError(
            "the weights of the trained network are missing",
            where="--weights",
            hint=f"train it first: netpact train {name} --data {data.name} --out weights.safetensors",
        )
    return open_model(name, data, weights=weights)


def own_model(name: str) -> Callable[[], nn.Module] | None:
    """The --model option as a function that makes the module anew at every call; None where it was not given."""
    if not name:
        return None
    from netpact.models import import_model

    def make() -> nn.Module:
        return import_model(name)

    make.__module__, _, make.__qualname__ = name.partition(":")
    return make
