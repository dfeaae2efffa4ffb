from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.interrupts import checkpoint_in, keeping
from netpact.cli.options import DataName, Json, ModelName, Threads, set_threads
from netpact.cli.places import Overwrite, weights_place
from netpact.core.errors import PactError, one_of
from netpact.core.files import check_place
from netpact.datasets import Split

if TYPE_CHECKING:
    from netpact.core.seed import Seed
    from netpact.datasets import Data
    from netpact.training import TrainOptions

# Written out, as the table of recipes comes with torch and --help does not wait for it.
_PAPERS = "arora-vgg, li-vgg, li-wrn, rethinking-resnet, guha-mlp, guha-mlp-cifar10"


def train(
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="Where to write the weights, .safetensors.", show_default=False)],
    overwrite: Overwrite = False,
    recipe: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Train as a paper did: {_PAPERS}. Options given beside it come first."),
    ] = "",
    epochs: Annotated[int | None, typer.Option(show_default="20")] = None,
    batch_size: Annotated[int | None, typer.Option(show_default="128")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam or sgd", show_default="adam")] = None,
    learning_rate: Annotated[float | None, typer.Option(show_default="0.001")] = None,
    momentum: Annotated[float | None, typer.Option(help="sgd only", show_default="0.9")] = None,
    weight_decay: Annotated[float | None, typer.Option(show_default="0")] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help="cosine, constant, step, or as 0.5-every-30 or 0.2-at-60-120-160: times 0.5 after every 30 epochs, "
            "times 0.2 after epochs 60, 120 and 160",
            show_default="cosine",
        ),
    ] = None,
    augmentation: Annotated[
        str | None, typer.Option(help="Of images in training: none, flip, crop-4 or crop-4+flip", show_default="none")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the starting weights and the order of the samples.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written after each epoch; a second run goes on from it.")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Start from these weights.")] = None,
    helper_percent: Annotated[
        int,
        typer.Option(
            min=0,
            max=99,
            metavar="N",
            help="Train a helper network on so many percent of the samples; 0: on all of them.",
        ),
    ] = 0,
    split_counter: Annotated[int, typer.Option(min=0, metavar="N", help="Which split, for --helper-percent.")] = 0,
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Train a classifier by cross entropy, the same bits every time under one seed.

    With --helper-percent the network is a helper for a data-dependent certificate: it sees a part of the samples only,
    and its file also holds the recipe by which anyone can train it again.

    With --recipe the options are those of a paper: training as long as they did takes hours, so --epochs may be given.

    Example: netpact train mlp:64-32 --data digits --epochs 60 --learning-rate 0.01 --out mlp.safetensors
    """
    from netpact.core.seed import Seed
    from netpact.datasets import load_data
    from netpact.training import TrainOptions, parse_augmentation, parse_schedule

    set_threads(threads)
    weights_place(out, overwrite=overwrite)
    if checkpoint is not None:
        check_place(checkpoint)
    if helper_percent and weights is not None:
        raise PactError("a helper starts from its seed, so that its recipe is whole", where="--weights")
    if split_counter and not helper_percent:
        raise PactError("only a helper has a split", where="--split-counter", hint="give --helper-percent as well")
    start = _paper_options(recipe) if recipe else TrainOptions()
    given = {
        "epochs": epochs,
        "batch_size": batch_size,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "momentum": momentum,
        "weight_decay": weight_decay,
        "schedule": None if schedule is None else parse_schedule(schedule),
    }
    options = replace(
        start,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
        seed=Seed(seed).child("training"),
        augmentation=start.augmentation if augmentation is None else parse_augmentation(augmentation),
    )
    source = load_data(data)
    warn_about(source)
    with keeping(checkpoint_in(checkpoint)):
        if helper_percent:
            record = _train_helper(model, source, options, Split(helper_percent, split_counter), out, checkpoint)
        else:
            record = _train_all(model, source, options, Seed(seed).child("start"), out, checkpoint, weights)
    if json:
        print_json(record)


def _paper_options(name: str) -> TrainOptions:
    from netpact.training import PAPER_RECIPES

    if name not in PAPER_RECIPES:
        raise one_of(name, PAPER_RECIPES, option="--recipe")
    people.print(str(PAPER_RECIPES[name]), soft_wrap=True)
    return PAPER_RECIPES[name].options


def _train_all(
    model: str,
    data: Data,
    options: TrainOptions,
    start: Seed,
    out: Path,
    checkpoint: Path | None,
    weights: Path | None,
) -> dict[str, object]:
    from netpact.cli.models import open_model
    from netpact.models import initialise, save_weights
    from netpact.training import train as run_training

    module = open_model(model, data, weights=weights)
    if weights is None and hasattr(module, "netpact_architecture"):
        initialise(module, start)
    with progress_bar(f"training {model}") as bar:
        trained = run_training(
            module,
            data.train,
            options,
            test=data.test,
            checkpoint=checkpoint,
            progress=lambda epoch: bar(epoch.epoch, options.epochs),
        )
    path = save_weights(trained.module, out)
    people.print(f"{trained.history[-1]}; weights in {path}", soft_wrap=True)
    return {"weights": str(path), **trained.to_json()}


def _train_helper(
    model: str, data: Data, options: TrainOptions, split: Split, out: Path, checkpoint: Path | None
) -> dict[str, object]:
    from netpact.pacts.priors import save_helper, train_helper
    from netpact.training import Recipe

    recipe = Recipe(model, options, split)
    with progress_bar(f"training the helper {model}") as bar:
        helper = train_helper(data, recipe, name=out.stem, progress=bar, checkpoint=checkpoint)
    path = save_helper(helper, data, out)
    seen = len(split.indices(data.train.count)[0])
    people.print(
        f"helper trained on {seen:,} of {data.train.count:,} samples ({split}); weights and recipe in {path}",
        soft_wrap=True,
    )
    return {"weights": str(path), "sha256": helper.sha256, "samples": seen, "recipe": recipe.to_json()}
