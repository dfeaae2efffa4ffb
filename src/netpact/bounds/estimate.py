"""The record of an estimate: what a paper's bound comes to, with everything that keeps it from being a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import log, log_sum, power_text
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.json import finite

_LN10 = math.log(10.0)
_LARGEST_EXPONENT = 700.0  # exp of more than 709 overflows a float


@dataclass(frozen=True)
class Premise:
    """Something that the theorem asks for: whether it holds (None: the program cannot tell), and what was found."""

    text: str
    holds: bool | None
    found: str = ""

    def __bool__(self) -> bool:
        """Known to hold: neither failing nor left unchecked."""
        return self.holds is True

    def __str__(self) -> str:
        verdict = {True: "holds", False: "fails", None: "not checked"}[self.holds]
        return f"{self.text}: {verdict}{', ' if self.found else ''}{self.found}"

    def to_json(self) -> dict[str, object]:
        return {"text": self.text, "holds": self.holds, "found": self.found}


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate(Displayed):
    """A bound up to what it ignores: no proof, and no certificate.

        value = margin_loss + zeta + sqrt(capacity / samples)

    log_capacity  ln of the capacity C: the number of samples at which the root reaches 1. Products of norms leave the
                  range of floats, so the logarithm is what is kept; infinite where a cushion is 0
    margin_loss   L_gamma: the share of the samples whose margin is at most gamma
    zeta          the share of the samples that the measurements leave out (Corollaries A.1 and C.1)
    gamma         the margin; None for a bound that does not use one
    layers        effective parameters of each layer, where the bound states them
    """

    about: ClassVar[str] = ""  # beside certificates of other networks: this one
    name: str
    log_capacity: float
    margin_loss: float
    samples: int
    theorem: str
    gamma: float | None = None
    zeta: float = 0.0
    assumptions: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()
    layers: tuple[LayerBudget, ...] = ()

    def __post_init__(self) -> None:
        if math.isnan(self.log_capacity):
            raise PactError("the capacity is not a number", where=f"estimate {self.name}")
        if self.samples < 1:
            raise PactError(f"samples must be >= 1, got {self.samples}", where=f"estimate {self.name}")

    @property
    def kind(self) -> str:
        return "estimate"

    @property
    def log10(self) -> float:
        """log10 of the capacity, not of the value."""
        return self.log_capacity / _LN10

    @property
    def value(self) -> float:
        """As a bound on the error; it may exceed 1, and is infinite beyond the range of floats."""
        exponent = 0.5 * (self.log_capacity - math.log(self.samples))
        root = math.exp(exponent) if exponent <= _LARGEST_EXPONENT else math.inf
        return self.margin_loss + self.zeta + root

    @property
    def log_value(self) -> float:
        """ln of the value, also where that is beyond the range of floats; -inf for 0."""
        return log_sum([log(self.margin_loss + self.zeta), 0.5 * (self.log_capacity - math.log(self.samples))])

    @property
    def failing(self) -> tuple[Premise, ...]:
        return tuple(premise for premise in self.premises if premise.holds is False)

    def display_facts(self) -> Row:
        return {
            "name": self.name,
            "kind": self.kind,
            "value": self.value,
            "log10_capacity": self.log10,
            "theorem": self.theorem,
            "gamma": self.gamma,
            "samples": self.samples,
            "failing_premises": len(self.failing),
            "ignored": ", ".join(self.ignored),
        }

    def display_text(self) -> str:
        excess = (self.log10 - math.log10(self.samples)) / 2
        value = f"{self.value:.4g}" if self.value < 1e6 else power_text(excess, digits=1)
        lines = [
            f"estimate {self.name}: error {value}, capacity {power_text(self.log10)} ({self.theorem})",
            *(f"  premise  {premise}" for premise in self.premises),
            *(f"  assumes  {text}" for text in self.assumptions),
        ]
        if self.ignored:
            lines.append(f"  ignores  {', '.join(self.ignored)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Numbers that no JSON can hold (infinite) become null; log10 is of the capacity."""
        return {
            "name": self.name,
            "kind": self.kind,
            "value": finite(self.value),
            "log10": finite(self.log10),
            "theorem": self.theorem,
            "assumptions": list(self.assumptions),
            "ignored": list(self.ignored),
            "premises": [premise.to_json() for premise in self.premises],
            "gamma": self.gamma,
            "margin_loss": self.margin_loss,
            "zeta": self.zeta,
            "samples": self.samples,
            "layers": [layer.to_json() for layer in self.layers],
        }
