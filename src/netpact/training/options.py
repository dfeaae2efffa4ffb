"""What decides a training run, checked at construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields

import torch

from netpact.core.checks import check_choice, check_instance, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.json import check_fields
from netpact.core.seed import Seed
from netpact.training.augmentation import Augmentation, read_augmentation
from netpact.training.schedules import Schedule, check_schedule, read_schedule, share_at


@dataclass(frozen=True)
class TrainOptions:
    """momentum is for sgd only; weight_decay is added to the gradient (L2), for adam too.

    schedule      a name, a Decay, or the Rest of another schedule
    augmentation  of the images in training, or None
    """

    epochs: int = 20
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule = "cosine"
    seed: Seed = field(default_factory=lambda: Seed(0))
    augmentation: Augmentation | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            check_integer(getattr(self, name), where=name, least=1)
        check_choice(self.optimizer, OPTIMIZERS, where="optimizer")
        check_schedule(self.schedule)
        check_number(self.learning_rate, where="learning_rate", above=0)
        check_number(self.momentum, where="momentum", least=0, below=1)
        check_number(self.weight_decay, where="weight_decay", least=0)
        check_instance(self.seed, Seed, where="seed", hint="write Seed(0)")
        if self.augmentation is not None:
            check_instance(self.augmentation, Augmentation, where="augmentation", needed="an Augmentation or None")

    def learning_rate_at(self, step: int, *, steps_per_epoch: int) -> float:
        """The rate when so many steps have been made."""
        return self.learning_rate * share_at(
            self.schedule, step=step, epochs=self.epochs, steps_per_epoch=steps_per_epoch
        )

    def to_json(self) -> dict[str, object]:
        record = {**asdict(self), "seed": {"number": self.seed.number, "path": list(self.seed.path)}}
        if not isinstance(self.schedule, str):
            record["schedule"] = self.schedule.to_json()
        # Files from before there was augmentation have no such field, and are compared as texts.
        del record["augmentation"]
        return record if self.augmentation is None else {**record, "augmentation": self.augmentation.to_json()}


def parse_options(record: object, *, where: str) -> TrainOptions:
    """The inverse of TrainOptions.to_json, for a record from an untrusted file."""
    names = [entry.name for entry in fields(TrainOptions) if entry.name != "augmentation"]
    given = dict(check_fields(record, names, where=where, optional=("augmentation",)))
    if "augmentation" in given:
        given["augmentation"] = read_augmentation(given["augmentation"], where=f"{where}, augmentation")
    given["schedule"] = read_schedule(given["schedule"], where=f"{where}, schedule")
    return TrainOptions(**{**given, "seed": _read_seed(given["seed"], where=f"{where}, seed")})


def _read_seed(seed: object, *, where: str) -> Seed:
    told = check_fields(seed, ("number", "path"), where=where)
    if not isinstance(told["path"], list) or not all(isinstance(name, str) for name in told["path"]):
        raise PactError("the path of a seed must be a list of names", where=where)
    return Seed(told["number"], tuple(told["path"]))


def _adam(parameters: list[torch.nn.Parameter], options: TrainOptions) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=options.learning_rate, weight_decay=options.weight_decay)


def _sgd(parameters: list[torch.nn.Parameter], options: TrainOptions) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        parameters, lr=options.learning_rate, momentum=options.momentum, weight_decay=options.weight_decay
    )


OPTIMIZERS: dict[str, Callable[[list[torch.nn.Parameter], TrainOptions], torch.optim.Optimizer]] = {
    "adam": _adam,
    "sgd": _sgd,
}
