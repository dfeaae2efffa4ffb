"""What decides a training run, checked at construction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields

import torch

from netpact.errors import PactError, one_of
from netpact.seed import Seed


@dataclass(frozen=True)
class TrainOptions:
    """momentum serves sgd only; weight_decay is added to the gradient (L2), for adam too."""

    epochs: int = 20
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: str = "cosine"
    seed: Seed = field(default_factory=lambda: Seed(0))

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise PactError(f"must be a whole number from 1 up, got {number!r}", where=name)
        if not isinstance(self.optimizer, str) or self.optimizer not in OPTIMIZERS:
            raise one_of(self.optimizer, OPTIMIZERS, option="optimizer")
        if not isinstance(self.schedule, str) or self.schedule not in SCHEDULES:
            raise one_of(self.schedule, SCHEDULES, option="schedule")
        if not _is_real(self.learning_rate) or self.learning_rate <= 0:
            raise PactError(f"must be a finite number above 0, got {self.learning_rate!r}", where="learning_rate")
        if not _is_real(self.momentum) or not 0 <= self.momentum < 1:
            raise PactError(f"must be at least 0 and below 1, got {self.momentum!r}", where="momentum")
        if not _is_real(self.weight_decay) or self.weight_decay < 0:
            raise PactError(f"must be a finite number from 0 up, got {self.weight_decay!r}", where="weight_decay")
        if not isinstance(self.seed, Seed):
            raise PactError(f"must be a Seed, got {self.seed!r}", where="seed", hint="write Seed(0)")

    def learning_rate_at(self, fraction: float) -> float:
        """The rate when this fraction of all steps, in [0, 1), has been made."""
        return self.learning_rate * SCHEDULES[self.schedule](fraction)

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "seed": {"number": self.seed.number, "path": list(self.seed.path)}}


def parse_options(record: object, *, where: str) -> TrainOptions:
    """The inverse of TrainOptions.to_json, for a record from an untrusted file."""
    names = [entry.name for entry in fields(TrainOptions)]
    if not isinstance(record, Mapping) or sorted(map(str, record)) != sorted(names):
        raise PactError(f"training options need exactly the fields {', '.join(names)}", where=where)
    seed = record["seed"]
    if not isinstance(seed, Mapping) or sorted(map(str, seed)) != ["number", "path"]:
        raise PactError("a seed needs exactly the fields number, path", where=f"{where}, seed")
    path = seed["path"]
    if not isinstance(path, list) or not all(isinstance(name, str) for name in path):
        raise PactError("the path of a seed is a list of names", where=f"{where}, seed")
    return TrainOptions(**{**record, "seed": Seed(seed["number"], tuple(path))})


def _is_real(number: object) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)


def _adam(parameters: list[torch.nn.Parameter], options: TrainOptions) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=options.learning_rate, weight_decay=options.weight_decay)


def _sgd(parameters: list[torch.nn.Parameter], options: TrainOptions) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        parameters, lr=options.learning_rate, momentum=options.momentum, weight_decay=options.weight_decay
    )


def _cosine(fraction: float) -> float:
    return (1 + math.cos(math.pi * fraction)) / 2


def _constant(fraction: float) -> float:
    return 1.0


def _step(fraction: float) -> float:
    """A tenth from half of the run on, a hundredth from three quarters on."""
    if fraction < 0.5:
        return 1.0
    return 0.1 if fraction < 0.75 else 0.01


OPTIMIZERS: dict[str, Callable[[list[torch.nn.Parameter], TrainOptions], torch.optim.Optimizer]] = {
    "adam": _adam,
    "sgd": _sgd,
}

# The rate is a function of the step alone, so that a resumed run needs no schedule state.
SCHEDULES: dict[str, Callable[[float], float]] = {"cosine": _cosine, "constant": _constant, "step": _step}
