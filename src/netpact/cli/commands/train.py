from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from netpact.cli.co_training import CoOptions, train_pair
from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.interrupts import checkpoint_in, keeping
from netpact.cli.options import DataName, ModelName, Overwrite, RunOptions
from netpact.cli.options_of import option
from netpact.cli.places import weights_place
from netpact.cli.pruned_training import LotteryOptions, train_ticket
from netpact.core.errors import PactError
from netpact.core.files import check_place
from netpact.core.seed import Seed

if TYPE_CHECKING:
    from netpact.datasets import Data, Split
    from netpact.training import TrainOptions

# Written out, as the table of recipes comes with torch and --help does not wait for it.
_PAPERS = "arora-vgg, guha-mlp, guha-mlp-cifar10, li-vgg, li-wrn, li-noise, rethinking-resnet"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What training reads and writes."""

    out: Path = option(MISSING, "FILE", "The .safetensors file to write.")
    overwrite: Overwrite = False
    weights: Path | None = option(None, "FILE", "Start from these weights. Default: initial weights of --seed.")
    checkpoint: Path | None = option(None, "FILE", "Written after each epoch; a second run resumes from it.")
    seed: int = option(0, "N", "Seed of the initial weights and of shuffling.")

    def __post_init__(self) -> None:
        weights_place(self.out, overwrite=self.overwrite)
        if self.checkpoint is not None:
            check_place(self.checkpoint)


@dataclass(frozen=True, kw_only=True)
class HelperOptions:
    """Which samples a helper network sees."""

    PANEL: ClassVar = "Helper networks"
    helper_percent: int = option(
        0, "N", "Train a helper network on N percent of the samples; 0: no helper.", least=0, most=99
    )
    split_counter: int = option(0, "N", "With --helper-percent: which split.", least=0)

    def __post_init__(self) -> None:
        if self.split_counter and not self.helper_percent:
            raise PactError("only a helper has a split", where="--split-counter", hint="give --helper-percent as well")


@dataclass(frozen=True, kw_only=True)
class Given:
    """Options of training that were given; the others come from the recipe."""

    PANEL: ClassVar = "Training"
    epochs: int | None = option(None, "N", "Passes over the samples.", shown="20")
    batch_size: int | None = option(None, "N", "Samples per step.", shown="128")
    optimizer: str | None = option(None, "NAME", "adam or sgd.", shown="adam")
    learning_rate: float | None = option(None, "RATE", "At the start; see --schedule.", shown="0.001")
    momentum: float | None = option(None, "SHARE", "For sgd.", shown="0.9")
    weight_decay: float | None = option(None, "FACTOR", "Times the weights, added to the gradient.", shown="0")
    schedule: str | None = option(
        None,
        "NAME",
        "Of the learning rate: cosine, constant, step; 0.5-every-30: times 0.5 every 30 epochs; 0.2-at-60-120-160: "
        "times 0.2 after epochs 60, 120 and 160.",
        shown="cosine",
    )
    augmentation: str | None = option(
        None, "NAME", "Of training images: none, flip, crop-4 or crop-4+flip.", shown="none"
    )

    def over(self, start: TrainOptions, seed: int) -> TrainOptions:
        from netpact.training import parse_augmentation, parse_schedule

        given = {name: value for name, value in asdict(self).items() if value is not None}
        for name, parse in (("schedule", parse_schedule), ("augmentation", parse_augmentation)):
            if name in given:
                given[name] = parse(given[name])
        return replace(start, **given, seed=Seed(seed).child("training"))


def train(
    model: ModelName,
    data: DataName,
    files: FileOptions,
    recipe: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Train as a paper did: {_PAPERS}. Other options override the recipe's."),
    ] = "",
    *,
    given: Given,
    helper: HelperOptions,
    co: CoOptions,
    lottery: LotteryOptions,
    run: RunOptions,
) -> None:
    """Train a classifier by cross entropy. One seed gives the same weights, bit for bit, on one machine.

    With --recipe the options are a paper's; most recipes take hours on a CPU, so give --epochs for a shorter run.

    With --helper-percent the network is a helper for a data-dependent certificate (docs/priors.md): it is trained on a
    part of the samples, and its file also holds the recipe to train it again.

    With --co-teaching two networks are trained under label noise (docs/co-teaching.md); --out gets the first one.

    With --lottery most weights are pruned (docs/lottery.md): train, set the smallest weights to zero for good, set the
    others back to their values of an early epoch, train again, and so on. A line for each round says what it reached;
    --out gets the last network. netpact compress keeps its zeros, which then cost next to nothing.

    Example: netpact train mlp:64-32 --data digits --epochs 60 --learning-rate 0.01 --out mlp.safetensors

    Example: netpact train mlp:300-100 --data mnist --epochs 10 --lottery 0.05 --out ticket.safetensors
    """
    from netpact.datasets import Split, load_data
    from netpact.training import TrainOptions

    run.set_threads()
    options = given.over(_paper_options(recipe) if recipe else TrainOptions(), files.seed)
    if helper.helper_percent and files.weights is not None:
        raise PactError("a helper starts from its seed, so that its recipe is complete", where="--weights")
    if helper.helper_percent and co.co_teaching is not None:
        raise PactError("a helper's recipe has one network", where="--co-teaching", hint="leave --helper-percent out")
    if lottery.lottery is not None:
        lottery.pruning()
        if helper.helper_percent or co.co_teaching is not None:
            raise PactError("goes neither with --helper-percent nor with --co-teaching", where="--lottery")
    co.check_place(files)
    source = load_data(data)
    warn_about(source)
    with keeping(checkpoint_in(files.checkpoint)):
        if helper.helper_percent:
            record = _train_helper(model, source, options, Split(helper.helper_percent, helper.split_counter), files)
        elif co.co_teaching is not None:
            record = train_pair(model, source, options, co, files)
        elif lottery.lottery is not None:
            record = train_ticket(model, source, options, lottery, files)
        else:
            record = _train_all(model, source, options, files)
    if run.json:
        print_json(record)


def _paper_options(name: str) -> TrainOptions:
    from netpact.training import PAPER_RECIPES

    recipe = PAPER_RECIPES.look_up(name)
    people.print(str(recipe), soft_wrap=True)
    return recipe.options


def _train_all(model: str, data: Data, options: TrainOptions, files: FileOptions) -> dict[str, object]:
    from netpact.cli.models import open_model
    from netpact.models import initialise, save_weights
    from netpact.training import train as run_training

    module = open_model(model, data, weights=files.weights)
    if files.weights is None and hasattr(module, "netpact_architecture"):
        initialise(module, Seed(files.seed).child("start"))
    with progress_bar(f"training {model}") as bar:
        trained = run_training(
            module,
            data.train,
            options,
            test=data.test,
            checkpoint=files.checkpoint,
            progress=lambda epoch: bar(epoch.epoch, options.epochs),
        )
    path = save_weights(trained.module, files.out)
    people.print(f"{trained.history[-1]}; weights in {path}", soft_wrap=True)
    return {"weights": str(path), **trained.to_json()}


def _train_helper(model: str, data: Data, options: TrainOptions, split: Split, files: FileOptions) -> dict[str, object]:
    from netpact.pacts.priors import save_helper, train_helper
    from netpact.training import Recipe

    recipe = Recipe(model, options, split)
    with progress_bar(f"training the helper {model}") as bar:
        helper = train_helper(data, recipe, name=files.out.stem, progress=bar, checkpoint=files.checkpoint)
    path = save_helper(helper, data, files.out)
    seen = len(split.indices(data.train.count)[0])
    people.print(
        f"helper trained on {seen:,} of {data.train.count:,} samples ({split}); weights and recipe in {path}",
        soft_wrap=True,
    )
    return {"weights": str(path), "sha256": helper.sha256, "samples": seen, "recipe": recipe.to_json()}
