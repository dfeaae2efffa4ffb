from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from netpact.cli.completion import complete_model
from netpact.cli.options import BaseFile, DataName, Json, LimitOptions, OwnModel, WeightsOrNone
from netpact.cli.options_of import option
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    PANEL: ClassVar = "For a MODEL"
    data: DataName = ""
    weights: WeightsOrNone = None
    input_shape: str = option("", "3x32x32", "Instead of --data: the shape of one sample.", name="--input")
    classes: int | None = option(None, "N", "With --input: the number of classes.", shown="10")


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    PANEL: ClassVar = "For a FILE.pact"
    model: OwnModel = ""
    base: BaseFile = None


def info(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE.pact|MODEL",
            show_default=False,
            autocompletion=complete_model,
            help="A .pact file; or a network by name, as vgg16, wrn-28-10 or mlp:64-32, or package.module:function.",
        ),
    ],
    of_model: ModelOptions,
    of_file: FileOptions,
    limits: LimitOptions,
    json: Json = False,
) -> None:
    """Describe a .pact file, or a network.

    A file: its network, the bits of each field of the message, and what is certified. Needs no data, and does not check
    the certificate (verify does). With --base: whether this is the network that the file is encoded against.

    A network: its layers with parameters, FLOPs for one sample and proven bounds on the spectral norms; and whether it
    is supported, with a list of everything that is not.

    Example: netpact info mlp.pact

    Example: netpact info resnet-20 --input 3x32x32
    """
    from netpact.picking.file import is_picked_file

    if is_picked_file(target):
        from netpact.cli.picking import describe_picks

        describe_picks(Path(target), as_json=json)
    elif target.endswith(".pact") or Path(target).is_file():
        _refuse_others(of_model, of="a MODEL")
        from netpact.cli.file_description import describe_file

        describe_file(Path(target), of_file, limits.limits(), json=json)
    else:
        _refuse_others(of_file, of="a .pact file")
        _refuse_others(limits, of="a .pact file")
        from netpact.cli.model_description import describe_model

        describe_model(target, of_model, json=json)


def _refuse_others(options: ModelOptions | FileOptions | LimitOptions, *, of: str) -> None:
    for field in fields(options):
        if getattr(options, field.name) != field.default:
            option = {"input_shape": "--input"}.get(field.name, f"--{field.name.replace('_', '-')}")
            raise PactError(f"only for {of}", where=option, hint="leave it out")
