"""Options that several commands share, each described once; groups of them are records (see options_of)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import typer

from netpact.cli.completion import complete_data, complete_model
from netpact.cli.figures import figures_place
from netpact.cli.options_of import option
from netpact.cli.places import page_place
from netpact.core.limits import MAX_PARAMETERS, Limits

if TYPE_CHECKING:
    from netpact.datasets import Samples
    from netpact.pacts.priors import Base

DATA_NAMES = (
    "digits, mnist, fashion_mnist, cifar10, cifar100, svhn, FILE.npz, FILE.csv, or a folder of images; "
    "see netpact data --help"
)
_DEFAULTS = Limits()

DataName: TypeAlias = Annotated[
    str,
    typer.Option("--data", metavar="NAME", help=f"The data set: {DATA_NAMES}.", autocompletion=complete_data),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Delta: TypeAlias = Annotated[
    float, typer.Option(help="The bound holds with probability 1 - delta. Choose it before training.")
]
Weights: TypeAlias = Annotated[
    Path | None,
    typer.Option("--weights", metavar="FILE", help="Trained weights: .safetensors, .pt or .pth (tensors only)."),
]
WeightsOrNone: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--weights", metavar="FILE", help="Trained weights: .safetensors, .pt or .pth.", show_default="untrained"
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing weights, certified files and pages of others.")
]
Figures: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--figures",
        metavar="FOLDER",
        help="Write each figure as SVG, PDF, CSV and JSON to this folder; figures of an earlier run are replaced.",
    ),
]
BaseFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--base",
        metavar="FILE",
        help="The base or helper network that the file is encoded against: .pact or .safetensors.",
    ),
]
PactFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE.pact", help="A file made by compress or search.", show_default=False)
]
PactOrModel: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.pact|MODEL",
        help="A file made by compress or search; or a network, as for compress.",
        show_default=False,
    ),
]
OwnModel: TypeAlias = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="FUNCTION",
        help="For a file of your own module: package.module:function, a function without arguments that returns it.",
    ),
]
ModelName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        autocompletion=complete_model,
        help="linear, mlp[:64-32], lenet5, conv[:8-16], convnet[:2-5-6-12], oriented[:8-5-8-4-1], "
        "sobel[:8-5-8-4-1-5], contours[:8-4-2-1]; a network of the "
        "literature: alexnet, vgg-16, resnet-20, preresnet-20, wrn-28-10, densenet-40, cp-vgg-16, cp-wrn-28-10; or "
        "package.module:function for your own module.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a command runs, and what it prints."""

    threads: int = option(0, "N", "CPU threads; 0: torch's default.", least=0)
    json: Json = False

    def set_threads(self) -> None:
        if self.threads:
            import torch

            torch.set_num_threads(self.threads)


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where pages and figures are written; the places are checked before the work."""

    page: Path | None = option(None, "FILE", "Write an HTML page with the figures and all numbers.")
    figures: Figures = None
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        page_place(self.page, overwrite=self.overwrite)
        figures_place(self.figures)


@dataclass(frozen=True, kw_only=True)
class BaseOptions:
    """The network that a file is encoded against."""

    base: BaseFile = None
    base_data: str = option(
        "", "NAME", "The data that the base was trained on, as for --data: shared samples are refused."
    )

    def open(self, limits: Limits = _DEFAULTS) -> tuple[Base | None, Samples | None]:
        from netpact.datasets import load_data
        from netpact.pacts.priors import open_base

        opened = None if self.base is None else open_base(self.base, max_parameters=limits)
        return opened, load_data(self.base_data).train if self.base_data else None


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What opening a file may cost."""

    PANEL: ClassVar = "Limits (raise them only for files you trust)"
    max_parameters: int = option(MAX_PARAMETERS, "N", "Largest network to open.", least=1, shown="100 million")
    max_work: int = option(
        _DEFAULTS.max_work,
        "STEPS",
        "Most decoding steps; a billion take about a second.",
        least=1,
        shown="34 billion",
    )
    max_memory: int = option(_DEFAULTS.max_memory, "BYTES", "Most memory while decoding.", least=1, shown="3 GiB")

    def limits(self) -> Limits:
        return Limits(**asdict(self))
