"""Options that several commands share, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from netpact.core.limits import Limits

DATA_NAMES = "digits, mnist, fashion_mnist, cifar10, cifar100, svhn, or a FILE.npz"
DataName: TypeAlias = Annotated[str, typer.Option("--data", help=DATA_NAMES)]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Threads: TypeAlias = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="CPU threads; 0 leaves the choice to torch.")
]
MaxParameters: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-parameters",
        min=1,
        help="Open networks of up to this many parameters, for files that you trust; 100 million where not said.",
        show_default=False,
    ),
]
MaxWork: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-work",
        min=1,
        help="Decode messages that take up to this many steps, for files that you trust; a billion take about a "
        "second, 34 billion are the default.",
        show_default=False,
    ),
]
MaxMemory: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-memory",
        min=1,
        metavar="BYTES",
        help="Decode messages that take up to so much memory, for files that you trust; 3 GB are the default.",
        show_default=False,
    ),
]
MaxTraining: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-training",
        min=1,
        help="With --retrain: up to this many multiply-adds of training; 10^15 are the default, some hours.",
        show_default=False,
    ),
]
PactFile: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE.pact", show_default=False)]
OwnModel: TypeAlias = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="PACKAGE.MODULE:FUNCTION",
        help="For files of a module of your own: the function that makes it (no arguments).",
    ),
]
ModelName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="linear, mlp[:64-32], lenet5, conv[:8-16], convnet[:2-5-6-12], oriented[:8-5-8-4-1]; a paper's name, as "
        "alexnet, vgg-16, resnet-20, preresnet-20, wrn-28-10, densenet-40; or package.module:function for a module of "
        "your own.",
    ),
]


def read_limits(**given: int | None) -> Limits:
    """The limits that were given; the others have their defaults."""
    return Limits(**{name: value for name, value in given.items() if value is not None})


def set_threads(threads: int) -> None:
    if threads:
        import torch

        torch.set_num_threads(threads)
