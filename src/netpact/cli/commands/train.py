from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, ModelName, Threads, set_threads
from netpact.datasets import Split
from netpact.errors import PactError

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.seed import Seed
    from netpact.training import TrainOptions


def train(
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="Where to write the weights, .safetensors.", show_default=False)],
    epochs: int = 20,
    batch_size: int = 128,
    optimizer: Annotated[str, typer.Option(help="adam or sgd")] = "adam",
    learning_rate: float = 1e-3,
    momentum: Annotated[float, typer.Option(help="sgd only")] = 0.9,
    weight_decay: float = 0.0,
    schedule: Annotated[str, typer.Option(help="cosine, constant or step")] = "cosine",
    seed: int = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written after each epoch; a second run goes on from it.")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Start from these weights.")] = None,
    helper_percent: Annotated[
        int,
        typer.Option(
            min=0, max=99, help="Train a helper network on so many percent of the samples; 0: on all of them."
        ),
    ] = 0,
    split_counter: Annotated[int, typer.Option(min=0, help="Which split, for --helper-percent.")] = 0,
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Train a classifier by cross entropy, the same bits every time under one seed.

    With --helper-percent the network is a helper for a data-dependent certificate: it sees a part of the samples only,
    and its file also holds the recipe by which anyone can train it again.

    Example: netpact train mlp:64-32 --data digits --epochs 60 --learning-rate 0.01 --out mlp.safetensors
    """
    from netpact.datasets import load_data
    from netpact.models import check_weights_path
    from netpact.seed import Seed
    from netpact.training import TrainOptions

    set_threads(threads)
    check_weights_path(out)
    options = TrainOptions(
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        momentum=momentum,
        weight_decay=weight_decay,
        schedule=schedule,
        seed=Seed(seed).child("training"),
    )
    source = load_data(data)
    if helper_percent:
        if weights is not None:
            raise PactError("a helper starts from its seed, so that its recipe is whole", where="--weights")
        record = _train_helper(model, source, options, Split(helper_percent, split_counter), out, checkpoint)
    elif split_counter:
        raise PactError("only a helper has a split", where="--split-counter", hint="give --helper-percent as well")
    else:
        record = _train_all(model, source, options, Seed(seed).child("start"), out, checkpoint, weights)
    if json:
        print_json(record)


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
    from netpact.priors import save_helper, train_helper
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
