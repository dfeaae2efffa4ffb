from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, ModelName, Threads, set_threads


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
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Train a classifier by cross entropy, the same bits every time under one seed.

    Example: netpact train mlp:64-32 --data digits --epochs 60 --learning-rate 0.01 --out mlp.safetensors
    """
    from netpact.cli.models import open_model
    from netpact.datasets import load_data
    from netpact.models import check_weights_path, initialise, save_weights
    from netpact.seed import Seed
    from netpact.training import TrainOptions
    from netpact.training import train as run_training

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
    module = open_model(model, source, weights=weights)
    if weights is None and hasattr(module, "netpact_architecture"):
        initialise(module, Seed(seed).child("start"))
    with progress_bar(f"training {model}") as bar:
        trained = run_training(
            module,
            source.train,
            options,
            test=source.test,
            checkpoint=checkpoint,
            progress=lambda epoch: bar(epoch.epoch, epochs),
        )
    path = save_weights(trained.module, out)
    people.print(f"{trained.history[-1]}; weights in {path}", soft_wrap=True)
    if json:
        print_json({"weights": str(path), **trained.to_json()})
