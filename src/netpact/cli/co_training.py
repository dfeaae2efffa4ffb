"""netpact train --co-teaching: its options, and the training of two networks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.console import people, progress_bar
from netpact.cli.options_of import option
from netpact.cli.places import weights_place
from netpact.core.errors import PactError
from netpact.core.seed import Seed

if TYPE_CHECKING:
    from netpact.cli.commands.train import FileOptions
    from netpact.datasets import Data
    from netpact.training import TrainOptions


@dataclass(frozen=True, kw_only=True)
class CoOptions:
    """Two networks in place of one; without a rate there is one."""

    PANEL: ClassVar = "Label noise"
    co_teaching: float | None = option(
        None,
        "RATE",
        "Train two networks, each on the samples that the other one finds easy (co-teaching); RATE of a batch is left "
        "out in the end: the rate of label noise.",
        shown="one network",
    )
    co_gradual: int = option(10, "N", "With --co-teaching: epochs until RATE is reached.", least=1)
    co_out: Path | None = option(
        None, "FILE", "With --co-teaching: the .safetensors file of the second network.", shown="not kept"
    )

    def __post_init__(self) -> None:
        if self.co_out is not None and self.co_teaching is None:
            raise PactError("only co-teaching has a second network", where="--co-out", hint="give --co-teaching RATE")

    def check_place(self, files: FileOptions) -> None:
        if self.co_out is None:
            return
        weights_place(self.co_out, overwrite=files.overwrite)
        if self.co_out.resolve() == files.out.resolve():
            raise PactError("both networks would go to one file", where="--co-out", hint="choose another name")


def train_pair(model: str, data: Data, options: TrainOptions, co: CoOptions, files: FileOptions) -> dict[str, object]:
    """The first network starts as the one of plain training does, the second one from a seed of its own."""
    from netpact.cli.models import open_model
    from netpact.models import initialise, save_weights
    from netpact.training import CoTeaching, co_train

    assert co.co_teaching is not None
    asked = CoTeaching(co.co_teaching, gradual=co.co_gradual)
    first, second = open_model(model, data, weights=files.weights), open_model(model, data, weights=None)
    if files.weights is None and hasattr(first, "netpact_architecture"):
        initialise(first, Seed(files.seed).child("start"))
    initialise(second, Seed(files.seed).child("start", "second"))
    with progress_bar(f"training two of {model}") as bar:
        trained = co_train(
            (first, second),
            data.train,
            asked,
            options,
            test=data.test,
            checkpoint=files.checkpoint,
            progress=lambda epoch: bar(epoch.epoch, options.epochs),
        )
    path = save_weights(trained.modules[0], files.out)
    other = None if co.co_out is None else str(save_weights(trained.modules[1], co.co_out))
    kept = f"weights of the first in {path}" + ("" if other is None else f", of the second in {other}")
    people.print(f"means of both networks: {trained.history[-1]}; {kept}", soft_wrap=True)
    return {"weights": str(path), "second": other, **trained.to_json()}
