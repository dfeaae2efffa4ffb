"""How a helper network was trained, so that anyone can train it again from the data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import torch

from netpact.core.checks import check_instance, check_text
from netpact.core.json import check_fields
from netpact.core.version import __version__
from netpact.datasets import Split
from netpact.training.options import TrainOptions, parse_options

_WHERE = "recipe"


@dataclass(frozen=True)
class Recipe:
    """All that determines a helper network, beside the data.

    model     the architecture's short name, "mlp:64-32" for example
    options   of the training; the first weights come from the same seed, under the name "start"
    split     which part of the training samples it is trained on
    versions  of netpact and torch that trained it: with others the same recipe may give other last bits
    """

    model: str
    options: TrainOptions = field(default_factory=TrainOptions)
    split: Split = field(default_factory=Split)
    netpact_version: str = __version__
    torch_version: str = field(default_factory=lambda: str(torch.__version__))

    def __post_init__(self) -> None:
        for name in ("model", "netpact_version", "torch_version"):
            check_text(getattr(self, name), where=f"{_WHERE}, {name}")
        check_instance(self.options, TrainOptions, where=f"{_WHERE}, options")
        check_instance(self.split, Split, where=f"{_WHERE}, split")

    def to_json(self) -> dict[str, object]:
        return {
            "model": self.model,
            "options": self.options.to_json(),
            "split": {"percent": self.split.percent, "counter": self.split.counter},
            "netpact_version": self.netpact_version,
            "torch_version": self.torch_version,
        }

    @classmethod
    def from_json(cls, record: object) -> Recipe:
        """The recipe that to_json wrote, from an untrusted file."""
        told = check_fields(record, [entry.name for entry in fields(cls)], where=_WHERE)
        split = check_fields(told["split"], ("percent", "counter"), where=f"{_WHERE}, split")
        options = parse_options(told["options"], where=f"{_WHERE}, options")
        return cls(**{**told, "options": options, "split": Split(**split)})
