"""From the MODEL argument to a module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.console import people
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data
    from netpact.models import Architecture


def names_own_function(name: str) -> bool:
    """Whether a MODEL is package.module:function, a module of the user's own; anything else is a name of ours."""
    from netpact.models import names

    prefix, _, function = name.partition(":")
    return function.isidentifier() and prefix not in names()


def read_architecture(name: str, *, input_shape: tuple[int, ...], classes: int) -> Architecture | None:
    """The architecture of a name of ours; None for a function of the user's."""
    from netpact.models import parse_model

    return None if names_own_function(name) else parse_model(name, input_shape=input_shape, classes=classes)


def open_model(name: str, data: Data, *, weights: Path | None) -> nn.Module:
    """A network of ours by name, or the user's own by package.module:function, with weights if given."""
    from netpact.models import build, import_model, load_weights

    architecture = read_architecture(name, input_shape=data.input_shape, classes=data.classes)
    module: nn.Module = import_model(name) if architecture is None else build(architecture)
    if weights is not None:
        load_weights(module, weights)
    return module


def trained_model(name: str, data: Data, *, weights: Path | None) -> nn.Module:
    """As open_model, but a network of ours without weights would be an untrained one."""
    architecture = read_architecture(name, input_shape=data.input_shape, classes=data.classes)
    if weights is None and architecture is not None:
        raise PactError(
            "the trained weights are missing",
            where="--weights",
            hint=f"train it first: netpact train {name} --data {data.name} --out weights.safetensors",
        )
    return open_model(name, data, weights=weights)


def examined_model(name: str, data: Data, *, weights: Path | None) -> nn.Module:
    """As open_model; prints a note where a network of ours is untrained."""
    if weights is None and not names_own_function(name):
        people.print(f"no --weights given: {name} is untrained", style="yellow", soft_wrap=True)
    return open_model(name, data, weights=weights)


def own_model(name: str) -> Callable[[], nn.Module] | None:
    """The --model option as a function that makes a new module at every call; None if it was not given."""
    if not name:
        return None
    from netpact.models import model_maker

    return model_maker(name)
