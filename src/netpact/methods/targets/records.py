"""What is to be reached, what was tried, and what was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from netpact.certificates.inputs import failure_probability
from netpact.core.checks import check_flag, check_integer, check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.percent import percent, percent_up

if TYPE_CHECKING:
    from netpact.coding.format import Compressed, Pact
    from netpact.methods.method import Method


@dataclass(frozen=True)
class Target:
    """One of the first four.

    max_accuracy_loss  the smallest file whose accuracy is lower by at most this many percentage points
    max_bytes          of files of at most so many bytes the one of the best accuracy
    max_bound          the smallest file that is certified with at most this bound, a share below 1
    lowest_bound       the file with the lowest bound
    delta              of these bounds, as for certify
    """

    max_accuracy_loss: float | None = None
    max_bytes: int | None = None
    max_bound: float | None = None
    lowest_bound: bool = False
    delta: float = 0.05

    def __post_init__(self) -> None:
        ways = ("max_accuracy_loss", "max_bytes", "max_bound", "lowest_bound")
        check_flag(self.lowest_bound, where="lowest_bound")
        given = [name for name in ways if getattr(self, name) is not None and getattr(self, name) is not False]
        if len(given) != 1:
            came = ", ".join(given) or "none of them"
            raise PactError(f"one of {', '.join(ways)} is needed, got {came}", where="target")
        if self.max_accuracy_loss is not None:
            check_number(self.max_accuracy_loss, where="max_accuracy_loss", least=0, below=100)
        if self.max_bytes is not None:
            check_integer(self.max_bytes, where="max_bytes", least=1)
        if self.max_bound is not None:
            check_number(self.max_bound, where="max_bound", above=0)
            if self.max_bound >= 1:
                raise PactError(
                    f"must be a share below 1, got {self.max_bound:g}", where="max_bound", hint="0.3 is 30 %"
                )
        failure_probability(self.delta)

    @property
    def is_bound(self) -> bool:
        return self.lowest_bound or self.max_bound is not None

    def __str__(self) -> str:
        if self.lowest_bound:
            return "the lowest bound"
        if self.max_bytes is not None:
            return f"at most {self.max_bytes:,} bytes"
        if self.max_bound is not None:
            return f"a bound of at most {percent_up(self.max_bound)}"
        return f"at most {self.max_accuracy_loss:g} points of accuracy lost"


@dataclass(frozen=True)
class Tried:
    """One setting. What was not needed is not measured, and None.

    file_bytes     of the file before it is certified
    accuracy_loss  in percentage points, on the samples that accuracy is measured on
    bound          what certify would state
    too_long       for a bound that is worth anything, even if the network made no errors: none were counted
    refused        why the method did not take this setting
    """

    setting: str
    method: str
    file_bytes: int | None = None
    accuracy: float | None = None
    accuracy_loss: float | None = None
    bound: float | None = None
    seconds: float = 0.0
    too_long: bool = False
    refused: str = ""

    def to_json(self) -> Row:
        return asdict(self)

    def __str__(self) -> str:
        told = [f"{self.file_bytes:,} bytes"] if self.file_bytes is not None else []
        if self.accuracy is not None and self.accuracy_loss is not None:
            told.append(f"accuracy {percent(self.accuracy, places=2)}, {self.accuracy_loss:.2f} points lost")
        told += [f"bound {percent_up(self.bound)}"] if self.bound is not None else []
        told += ["too long for the bound"] if self.too_long else []
        return f"{self.setting}: {', '.join(told) or self.refused}"


class UnreachedError(PactError):
    """No setting that was tried reaches the target.

    nearest  of those that were tried; None where the method took none
    """

    def __init__(
        self, what: str, *, where: str, hint: str, tried: tuple[Tried, ...] = (), nearest: Tried | None = None
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.tried, self.nearest = tried, nearest


@dataclass(frozen=True, eq=False, repr=False)
class Reached(Displayed):
    """The file that reaches the target, and everything that was tried on the way to it.

    method             with the setting that was found
    original_accuracy  of the network before compression, on the same samples
    measured_on        which these are
    """

    target: Target
    method: Method
    compressed: Compressed
    pact: Pact
    found: Tried
    tried: tuple[Tried, ...]
    original_accuracy: float | None
    measured_on: str

    def display_facts(self) -> Row:
        facts = {"setting": self.found.setting, "file_bytes": self.found.file_bytes}
        measured = {"accuracy_loss": self.found.accuracy_loss, "bound": self.found.bound}
        return {**facts, **measured, "target": str(self.target), "tried": len(self.tried)}

    def display_rows(self) -> list[Row]:
        return [{name: value for name, value in one.to_json().items() if name != "method"} for one in self.tried]

    def to_json(self) -> Row:
        return {
            "target": asdict(self.target),
            "method": repr(self.method),
            "found": self.found.to_json(),
            "original_accuracy": self.original_accuracy,
            "measured_on": self.measured_on,
            "tried": [one.to_json() for one in self.tried],
        }
