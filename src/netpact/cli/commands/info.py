from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.options import DataName, Json, MaxMemory, MaxParameters, MaxWork, OwnModel, read_limits
from netpact.cli.originals import BaseFile
from netpact.core.errors import PactError


def info(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE.pact|MODEL",
            show_default=False,
            help="A .pact file; or a network by name, as vgg16, wrn-28-10 or mlp:64-32, or package.module:function.",
        ),
    ],
    data: DataName = "",
    weights: Annotated[
        Path | None, typer.Option(help="Of a MODEL: its trained weights, or else the initial ones.", show_default=False)
    ] = None,
    input_shape: Annotated[
        str, typer.Option("--input", metavar="3x32x32", help="Of a MODEL, in place of --data: the shape of one sample.")
    ] = "",
    classes: Annotated[int | None, typer.Option(help="Beside --input; 10 where not said.", show_default=False)] = None,
    model: OwnModel = "",
    base: BaseFile = None,
    max_parameters: MaxParameters = None,
    max_work: MaxWork = None,
    max_memory: MaxMemory = None,
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
        _refuse_others(
            {"--data": data, "--weights": weights, "--input": input_shape, "--classes": classes}, of="a MODEL"
        )
        from netpact.cli.file_description import describe_file

        describe_file(
            Path(target),
            model=model,
            base=base,
            max_parameters=read_limits(max_parameters=max_parameters, max_work=max_work, max_memory=max_memory),
            json=json,
        )
    else:
        limits = {"--max-parameters": max_parameters, "--max-work": max_work, "--max-memory": max_memory}
        _refuse_others({"--model": model, "--base": base, **limits}, of="a .pact file")
        from netpact.cli.model_description import describe_model

        describe_model(target, data=data, input_shape=input_shape, classes=classes, weights=weights, json=json)


def _refuse_others(options: dict[str, object], *, of: str) -> None:
    for name, value in options.items():
        if value not in ("", None):
            raise PactError(f"describes {of}, which was not given", where=name, hint="leave it out")
