"""Which methods are tried with which options: all of the table METHODS, each along its size knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from netpact.comparisons.options import CompareOptions
from netpact.comparisons.result import LeftOut
from netpact.core.json import JsonValue
from netpact.methods import METHODS, Method, list_settings


@dataclass(frozen=True)
class Trial:
    """One method with options, the one that decides about the size first. limits: options that the time decides."""

    method: str
    options: Mapping[str, bool | int | float | str]
    limits: Mapping[str, bool | int | float | str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Also the name of its file."""
        return "-".join([self.method, *(_join(name, value, "-") for name, value in self.options.items())])

    @property
    def name(self) -> str:
        return f"{self.method} {', '.join(_join(name, value, ' ') for name, value in self.options.items())}".strip()

    @property
    def setting(self) -> str:
        return ", ".join(_join(name, value, " ") for name, value in self.limits.items())

    @property
    def trains(self) -> bool:
        """It makes passes of its own over the training samples."""
        return bool({"epochs", "steps"} & {one.name for one in fields(METHODS[self.method])})  # type: ignore[arg-type]

    def make(self) -> Method:
        method: Any = METHODS[self.method]
        made: Method = method(**self.options, **self.limits)
        return made

    def to_json(self) -> dict[str, JsonValue]:
        """Options as pairs: the order is part of the names."""
        pairs = {name: [list(pair) for pair in getattr(self, name).items()] for name in ("options", "limits")}
        return {"method": self.method, **pairs}


def read_trial(record: Mapping[str, Any]) -> Trial:
    return Trial(record["method"], dict(record["options"]), dict(record["limits"]))


def plan_trials(options: CompareOptions) -> tuple[list[Trial], list[LeftOut]]:
    """Trials in the order of the table, and methods that cannot be tried."""
    trials: list[Trial] = []
    left_out: list[LeftOut] = []
    for name in options.methods or METHODS:
        if "base" in {one.name for one in fields(METHODS[name])}:  # type: ignore[arg-type]
            reason = "it encodes a network against a base network: netpact compress --base"
            left_out.append(LeftOut(name, reason))
        else:
            trials += [Trial(name, dict(setting)) for setting in list_settings(name, options.sizes)]
    return trials, left_out


def _join(name: str, value: object, between: str) -> str:
    return name if value is True else f"{name}{between}{value}"
