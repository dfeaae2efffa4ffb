"""What iterative pruning gives: the pruned network, when each weight was removed, and what each round reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

import torch
from torch import nn

from netpact.core.checks import check_integer
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.json import check_fields
from netpact.core.percent import percent
from netpact.training.epoch import Epoch, parse_epoch, parse_history
from netpact.training.options import TrainOptions
from netpact.training.pruning_options import IterativePruning

_SHOWN = 16  # rounds that are printed


@dataclass(frozen=True)
class PruningRound:
    """number: how many times was pruned before, 0 for the dense network; kept, weights: those left, and all of them.

    history  the epochs that this round was trained for
    control  the last epoch of a network with the same masks that was trained from new initial weights, where asked for
    """

    number: int
    kept: int
    weights: int
    history: tuple[Epoch, ...]
    control: Epoch | None = None

    @property
    def share(self) -> float:
        return self.kept / self.weights

    @property
    def last(self) -> Epoch:
        return self.history[-1]

    def cells(self) -> Row:
        row: Row = {
            "round": self.number,
            "kept": self.kept,
            "share": self.share,
            "epochs": len(self.history),
            "train error": self.last.train_error,
            "test error": self.last.test_error,
        }
        if self.control is not None:
            row |= {"control train error": self.control.train_error, "control test error": self.control.test_error}
        return row

    def __str__(self) -> str:
        reached = [f"train error {percent(self.last.train_error, places=2)}"]
        if self.last.test_error is not None:
            reached.append(f"test error {percent(self.last.test_error, places=2)}")
        if self.control is not None:
            error = self.control.train_error if self.control.test_error is None else self.control.test_error
            reached.append(f"new initial weights {percent(error, places=2)}")
        kept = f"{percent(self.share, places=2)} of {self.weights:,} weights"
        return f"round {self.number}: {kept}, {len(self.history)} epochs, {', '.join(reached)}"

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "share": self.share}


@dataclass(frozen=True, eq=False, repr=False)
class Ticket(Displayed):
    """A pruned network and how it came about.

    module       trained, in evaluation mode; pruned weights are exactly zero
    start        all weights at the epoch that is gone back to: train(start, ..., masks=masks) trains the ticket again
    removed      by the name of the weight, the round in which each entry was pruned; 0 for those that are left
    fingerprint  of the training samples
    """

    module: nn.Module
    start: nn.Module
    removed: Mapping[str, torch.Tensor]
    rounds: tuple[PruningRound, ...]
    options: TrainOptions
    pruning: IterativePruning
    fingerprint: str

    @property
    def masks(self) -> dict[str, torch.Tensor]:
        """By the name of the weight, True where it is left."""
        return self.masks_after(len(self.rounds) - 1)

    def masks_after(self, number: int) -> dict[str, torch.Tensor]:
        """The masks of an earlier round; 0 is the dense network."""
        check_integer(number, where="number", least=0, most=len(self.rounds) - 1)
        return masks_of(self.removed, number)

    @property
    def share(self) -> float:
        return self.rounds[-1].share

    def display_facts(self) -> Row:
        dense, last = self.rounds[0].last, self.rounds[-1].last
        return {
            "share": self.share,
            "test_error": last.test_error,
            "dense_test_error": dense.test_error,
            "train_error": last.train_error,
            "rounds": len(self.rounds) - 1,
            "seed": self.options.seed.number,
        }

    def display_rows(self) -> list[Row]:
        return [one.cells() for one in self.rounds]

    def display_text(self) -> str:
        pruning = self.pruning
        gone_back = {
            "weights": f"weights of epoch {pruning.rewind_to}",
            "rate": f"learning rate of epoch {pruning.rewind_to}, weights kept",
            "none": "fine-tuned",
        }
        head = f"iterative pruning, {pruning.rate:g} a round ({pruning.scope}), {gone_back[pruning.rewind]}"
        lines = [str(one) for one in self.rounds]
        if len(lines) > _SHOWN:
            half = _SHOWN // 2
            lines = [*lines[:half], f"... {len(lines) - 2 * half} more rounds", *lines[-half:]]
        return "\n".join([f"{head}, {self.options.optimizer}, seed {self.options.seed.number}", *lines])

    def to_json(self) -> dict[str, object]:
        return {
            "options": self.options.to_json(),
            "pruning": self.pruning.to_json(),
            "fingerprint": self.fingerprint,
            "rounds": [one.to_json() for one in self.rounds],
        }


def masks_of(removed: Mapping[str, torch.Tensor], number: int) -> dict[str, torch.Tensor]:
    """What is left after so many rounds. A weight is removed once, so the masks are nested."""
    return {name: (rounds == 0) | (rounds > number) for name, rounds in removed.items()}


def parse_rounds(records: object, *, where: str) -> tuple[PruningRound, ...]:
    """The inverse of to_json for a list of rounds 0, 1, ... from a file."""
    if not isinstance(records, list):
        raise PactError("the rounds are not a list", where=where)
    return tuple(_parse_round(record, number, where=where) for number, record in enumerate(records))


def _parse_round(record: object, number: int, *, where: str) -> PruningRound:
    names = [entry.name for entry in fields(PruningRound)]
    where = f"{where}, round {number}"
    told = check_fields(record, [*names, "share"], where=where)
    if told["number"] != number:
        raise PactError(f"entry {number} of the rounds is not round {number}", where=where)
    kept = check_integer(told["kept"], where=f"{where}, kept", least=1)
    weights = check_integer(told["weights"], where=f"{where}, weights", least=kept)
    control = None
    if told["control"] is not None:
        control = parse_epoch(told["control"], where=f"{where}, control")
    return PruningRound(number, kept, weights, parse_history(told["history"], where=where), control)
