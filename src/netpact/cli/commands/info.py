from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from netpact.cli.options import BaseFile, DataName, Json, LimitOptions, OwnModel, Weights
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    PANEL: ClassVar = "For a MODEL"
    data: DataName = ""
    weights: Weights = None
    input_shape: Annotated[
        str, typer.Option("--input", metavar="3x32x32", help="Instead of --data: the shape of one sample.")
    ] = ""
    classes: Annotated[
        int | None, typer.Option(metavar="N", help="With --input: the number of classes.", show_default="10")
    ] = None


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
            help="A .pact file; or a network by name, as vgg16, wrn-28-10 or mlp:64-32, or package.module:function.",
        ),
    ],
    of_model: ModelOptions,
    of_file: FileOptions,
    limits: LimitOptions,
    json: Json = False,
) -> None:
    """What is in a .pact file, or what a network consists of.

    Of a file: the network, what each field of the message costs, and what is certified. Needs no data and checks
    nothing about the certificate: that is what verify does. With --base it says whether this is the base network, or
    the helper, that the file is told relative to.

    Of a network: its layers with parameters, operations for one sample and proven bounds on the spectral norms, and
    whether netpact supports it: everything that is in the way, if anything is.

    Example: netpact info mlp.pact

    Example: netpact info resnet-20 --input 3x32x32
    """
    if target.endswith(".pact") or Path(target).is_file():
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
