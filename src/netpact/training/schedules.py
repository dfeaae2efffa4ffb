"""How the learning rate goes down. It is a function of the step alone, so that a resumed run needs no further state."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.errors import PactError, one_of
from netpact.core.json import check_fields


@dataclass(frozen=True, kw_only=True)
class Decay:
    """The rate times `factor` again and again: after every so many epochs, or after each of the epochs in `at`.

    Decay(factor=0.5, every=30)             halved after epoch 30, 60, 90, ...
    Decay(factor=0.2, at=(60, 120, 160))    a fifth after epoch 60, and so on
    """

    factor: float
    every: int | None = None
    at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_number(self.factor, where="schedule, factor", above=0, below=1)
        if (self.every is None) == (self.at == ()):
            raise PactError("give either every or at", where="schedule", hint="every=30, or at=(60, 120, 160)")
        if self.every is not None:
            check_integer(self.every, where="schedule, every", least=1)
        for epoch in check_instance(self.at, tuple, where="schedule, at"):
            check_integer(epoch, where="schedule, at", least=1)
        if sorted(set(self.at)) != list(self.at):
            raise PactError(f"must be in ascending order, got {self.at!r}", where="schedule, at")

    def share_after(self, epochs: int) -> float:
        """What is left of the first rate when so many epochs have been finished."""
        times = epochs // self.every if self.every is not None else sum(epoch <= epochs for epoch in self.at)
        return float(self.factor**times)

    def __str__(self) -> str:
        when = f"every-{self.every}" if self.every is not None else "-".join(["at", *map(str, self.at)])
        return f"{self.factor!r}-{when}"

    def to_json(self) -> dict[str, object]:
        when = {"every": self.every} if self.every is not None else {"at": list(self.at)}
        return {"factor": self.factor, **when}


@dataclass(frozen=True, kw_only=True)
class Rest:
    """What comes after the first `finished` epochs of another schedule of `epochs` epochs: for training that goes back.

    Rest(schedule="cosine", finished=2, epochs=20)    18 epochs, from the rate of the third on
    """

    schedule: str | Decay
    finished: int
    epochs: int

    def __post_init__(self) -> None:
        check_schedule(self.schedule, kinds=(Decay,))
        check_integer(self.epochs, where="schedule, epochs", least=1)
        check_integer(self.finished, where="schedule, finished", least=0, most=self.epochs - 1)

    def share_at(self, step: int, *, steps_per_epoch: int) -> float:
        done = self.finished * steps_per_epoch
        return share_at(self.schedule, step=done + step, epochs=self.epochs, steps_per_epoch=steps_per_epoch)

    def to_json(self) -> dict[str, object]:
        schedule = self.schedule if isinstance(self.schedule, str) else self.schedule.to_json()
        return {"rest_of": schedule, "finished": self.finished, "epochs": self.epochs}


Schedule: TypeAlias = "str | Decay | Rest"


def share_at(schedule: Schedule, *, step: int, epochs: int, steps_per_epoch: int) -> float:
    """What is left of the first rate when so many steps have been made."""
    if isinstance(schedule, Rest):
        return schedule.share_at(step, steps_per_epoch=steps_per_epoch)
    if isinstance(schedule, Decay):
        # Whole epochs are counted in integers: step / all steps * epochs may come out just below a border.
        return schedule.share_after(step // steps_per_epoch)
    return SCHEDULES[schedule](step / (epochs * steps_per_epoch))


def check_schedule(schedule: object, *, kinds: tuple[type, ...] = (Decay, Rest)) -> None:
    if not isinstance(schedule, kinds) and (not isinstance(schedule, str) or schedule not in SCHEDULES):
        raise one_of(schedule, (*SCHEDULES, "a Decay"), option="schedule")


def parse_schedule(text: str) -> str | Decay:
    """The schedule that a text names: cosine, constant, step, 0.5-every-30, 0.2-at-60-120-160."""
    if text in SCHEDULES:
        return text
    found = _TEXT.fullmatch(text)
    if found is None:
        raise one_of(text, (*SCHEDULES, "FACTOR-every-EPOCHS", "FACTOR-at-EPOCH-EPOCH-..."), option="schedule")
    factor, word, numbers = found.groups()
    epochs = tuple(int(number) for number in numbers.split("-"))
    if word == "at":
        return Decay(factor=float(factor), at=epochs)
    if len(epochs) > 1:
        raise PactError(f"must be one number of epochs, got {numbers}", where="schedule", hint="write 0.5-every-30")
    return Decay(factor=float(factor), every=epochs[0])


def read_schedule(record: object, *, where: str) -> object:
    """The inverse of to_json for a record from an untrusted file; a name stays what it is."""
    if not isinstance(record, Mapping) or "rest_of" not in record:
        return _read_decay(record, where=where)
    told = check_fields(record, ("rest_of", "finished", "epochs"), where=where)
    schedule = _read_decay(told["rest_of"], where=where)
    return Rest(schedule=cast("str | Decay", schedule), finished=told["finished"], epochs=told["epochs"])


def _read_decay(record: object, *, where: str) -> object:
    if not isinstance(record, Mapping):
        return record
    if "factor" not in record or len(record) != 2 or not ("every" in record or isinstance(record.get("at"), list)):
        raise PactError("must have exactly the fields factor and every, or factor and at", where=where)
    return Decay(factor=record["factor"], every=record.get("every"), at=tuple(record.get("at", ())))


def _cosine(fraction: float) -> float:
    return (1 + math.cos(math.pi * fraction)) / 2


def _constant(fraction: float) -> float:
    return 1.0


def _step(fraction: float) -> float:
    """A tenth from half of the run on, a hundredth from three quarters on."""
    if fraction < 0.5:
        return 1.0
    return 0.1 if fraction < 0.75 else 0.01


_TEXT = re.compile(r"([0-9]*\.?[0-9]{1,12})-(every|at)-([0-9]{1,6}(?:-[0-9]{1,6})*)", re.ASCII)

# What is left of the rate when this fraction of all steps, in [0, 1), has been made.
SCHEDULES: dict[str, Callable[[float], float]] = {"cosine": _cosine, "constant": _constant, "step": _step}
