"""netpact train --lottery: its options, and iterative pruning with rewinding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from netpact.cli.console import people, progress_bar
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.seed import Seed

if TYPE_CHECKING:
    from netpact.cli.commands.train import FileOptions
    from netpact.datasets import Data
    from netpact.training import IterativePruning, TrainOptions


@dataclass(frozen=True, kw_only=True)
class LotteryOptions:
    """Pruning between rounds of training; without a share there is none."""

    PANEL: ClassVar = "Lottery tickets"
    lottery: float | None = option(
        None,
        "SHARE",
        "Train, prune the smallest weights, go back, and again, until this share of the weights is left.",
        shown="no pruning",
    )
    lottery_rate: float | None = option(
        None, "SHARE", "With --lottery: the share of the remaining weights that each round prunes.", shown="0.2"
    )
    lottery_scope: str | None = option(
        None,
        "NAME",
        "With --lottery: global (all layers' weights are compared) or layer (each layer loses the same share).",
        shown="global",
    )
    lottery_rewind: str | None = option(
        None,
        "NAME",
        "With --lottery: what goes back after pruning: weights (with the learning rate), rate (only the learning "
        "rate), none (fine-tuning).",
        shown="weights",
    )
    lottery_rewind_to: int | None = option(
        None, "EPOCH", "With --lottery: the epoch to go back to; 0 is initialization.", shown="0"
    )
    lottery_spare_last: bool = option(
        False,
        None,
        "With --lottery and scope layer: prune the last layer at half the rate.",
        name="--lottery-spare-last",
    )
    lottery_control: bool = option(
        False,
        None,
        "With --lottery: also train each round's masks from new initial weights, for comparison.",
        name="--lottery-control",
    )

    def __post_init__(self) -> None:
        if self.lottery is None and self._given():
            name = next(iter(self._given())).replace("_", "-")
            raise PactError("only lottery tickets have it", where=f"--lottery-{name}", hint="give --lottery SHARE")

    def pruning(self) -> IterativePruning:
        from netpact.training import IterativePruning

        return IterativePruning(keep=self.lottery, **self._given())

    def _given(self) -> dict[str, Any]:
        names = ("rate", "scope", "rewind", "rewind_to", "spare_last", "control")
        given = {name: getattr(self, f"lottery_{name}") for name in names}
        return {name: value for name, value in given.items() if value is not None and value is not False}


def train_ticket(
    model: str, data: Data, options: TrainOptions, lottery: LotteryOptions, files: FileOptions
) -> dict[str, object]:
    """The weights are those of the last round, with zeros for what was pruned."""
    from netpact.cli.models import open_model
    from netpact.models import initialise, save_weights
    from netpact.training import iterative_pruning

    module = open_model(model, data, weights=files.weights)
    if files.weights is None and hasattr(module, "netpact_architecture"):
        initialise(module, Seed(files.seed).child("start"))
    with progress_bar(f"pruning {model}") as bar:
        ticket = iterative_pruning(
            module,
            data.train,
            lottery.pruning(),
            options,
            test=data.test,
            checkpoint=files.checkpoint,
            progress=bar,
        )
    path = save_weights(ticket.module, files.out)
    people.print(f"{ticket}\nweights in {path}", soft_wrap=True)
    return {"weights": str(path), **ticket.to_json()}
