"""The options about other networks than the one in the file: the original, and a base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from netpact.errors import PactError

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Samples
    from netpact.format import Base

OriginalWeights: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--original", help="Weights of the network before compression; needs --unlabelled.", show_default=False
    ),
]
UnlabelledFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--unlabelled", help="Fresh inputs that no choice has seen: an .npz with an array x.", show_default=False
    ),
]


BaseFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--base",
        help="For files told relative to a base network: that network, .pact or .safetensors.",
        show_default=False,
    ),
]
BaseData: TypeAlias = Annotated[
    str, typer.Option("--base-data", help="What the base was trained on, as in --data: copies of samples are refused.")
]


def open_base_options(base: Path | None, base_data: str) -> tuple[Base | None, Samples | None]:
    from netpact.datasets import load_data
    from netpact.format import open_base

    return None if base is None else open_base(base), load_data(base_data).train if base_data else None


def open_original(weights: Path | None, unlabelled: Path | None, *, model: str) -> tuple[nn.Module, Path] | None:
    """Both options or neither. A network of ours says in its file what it is; a user's own comes from --model."""
    if weights is None and unlabelled is None:
        return None
    if weights is None or unlabelled is None:
        missing = "--original" if weights is None else "--unlabelled"
        raise PactError("--original and --unlabelled are given together or not at all", where=missing)
    from netpact.models import import_model, load_model, load_weights

    if not model:
        return load_model(weights), unlabelled
    module = import_model(model)
    load_weights(module, weights)
    return module, unlabelled
