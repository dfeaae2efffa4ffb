"""Settings of a method in the order of their files' sizes: what a bisection goes along."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from netpact.core.errors import PactError, one_of
from netpact.methods.method import Method
from netpact.methods.size_knobs import SizeKnob

_BETWEEN = 6  # steps between two declared values of an option that is a real number
_BEYOND = 4  # steps beyond the declared values; what the method does not take is left out
_PRICES = SizeKnob("rate", (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0))  # of a bit, in squared steps
_PRICED = "bits"  # rounding to so many bits has a price of bits as a second, finer knob


@dataclass(frozen=True)
class Ladder:
    """Methods that differ in one option, from the smallest file to the largest.

    usual  the place of the largest of the declared values: what lies above is tried only where that does not hold
    """

    option: str
    methods: tuple[Method, ...]
    usual: int

    def setting(self, place: int) -> str:
        return self.name(self.methods[place])

    def name(self, method: Method) -> str:
        return f"{self.option}={_told(getattr(method, self.option))}"


def find_ladder(method: Method, options: Sequence[str] = ()) -> Ladder:
    """Along the method's own knob for the options that it has, or along the option that is asked for."""
    known = _numbers(method)
    if options:
        return make_ladder(method, _knob(method, options[0], known))
    for knob in sorted(getattr(method, "knobs", ()), key=lambda one: -_agreement(method, one)):
        if knob.option in known:
            ladder = make_ladder(method, knob)
            if len(ladder.methods) > 1:
                return ladder
    raise PactError(
        f"{method!r} has no size knob of its own",
        where="target",
        hint=f"name the option to vary, one of {', '.join(known)}" if known else "take a method with a size option",
    )


def finer_ladder(method: Method, option: str, options: Sequence[str]) -> Ladder | None:
    """A second knob for one value of the first: what was asked for, or the price of a bit for methods that have one."""
    if options[1:]:
        return make_ladder(method, _knob(method, options[1], _numbers(method)))
    if options or option != _PRICED or getattr(method, _PRICES.option, None) != 0:
        return None
    ladder = make_ladder(method, _PRICES)
    return ladder if ladder.methods else None


def make_ladder(method: Method, knob: SizeKnob) -> Ladder:
    """Declared values, what lies between, and some beyond: all that the method takes, each once."""
    values = list(dict.fromkeys(knob.values))
    above, below = (_whole_steps if knob.whole else _real_steps)(values)
    larger, usual = _fill([*above, values[0]], whole=knob.whole)[:-1], _fill([*values, *below], whole=knob.whole)
    made = {value: _with(method, knob.option, value) for value in (*larger, *usual)}
    taken = {value: one for value, one in made.items() if one is not None}
    smallest_first = tuple(reversed(taken.values()))
    return Ladder(knob.option, smallest_first, len(smallest_first) - 1 - sum(value in taken for value in larger))


def _fill(values: Sequence[float], *, whole: bool) -> list[float]:
    """With what lies between."""
    found: list[float] = []
    for first, last in pairwise(values):
        if whole:
            found += range(int(first), int(last), 1 if last > first else -1)
        else:
            found += [first * (last / first) ** (step / _BETWEEN) for step in range(_BETWEEN)]
    return [*found, values[-1]]


def _whole_steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Beyond both ends: in the order of the values, from large files to small ones."""
    up = 1 if values[0] >= values[-1] else -1
    above = [values[0] + up * step for step in range(_BEYOND, 0, -1)]
    return above, [values[-1] - up * step for step in range(1, _BEYOND + 1)]


def _real_steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    rising = values[0] >= values[-1]
    if rising and values[0] < 1:  # a share: ever nearer to all
        above = [1.0, *(1 - (1 - values[0]) / 2**step for step in range(_BEYOND, 0, -1))]
    else:
        above = [values[0] * (2.0 if rising else 0.5) ** step for step in range(_BEYOND, 0, -1)]
    return above, [values[-1] * (0.5 if rising else 2.0) ** step for step in range(1, _BEYOND + 1)]


def _with(method: Method, option: str, value: float) -> Method | None:
    """The method with another value; None where it does not take it."""
    try:
        changed: Method = replace(method, **{option: value})  # type: ignore[type-var]
    except PactError:
        return None
    return changed


def _knob(method: Method, option: str, known: Sequence[str]) -> SizeKnob:
    """The declared one, or one around the value that the option has: more of it is taken for a larger file."""
    if option not in known:
        raise one_of(option, known, option=f"option of {method.name} to vary")
    declared = [knob for knob in getattr(method, "knobs", ()) if knob.option == option]
    if declared:
        return max(declared, key=lambda knob: _agreement(method, knob))
    if option == _PRICES.option:
        return _PRICES
    value = getattr(method, option)
    halved = max(1, value // 2) if isinstance(value, int) else value / 2
    return SizeKnob(option, (2 * value, value, halved))


def _numbers(method: Method) -> list[str]:
    """Options that are in use, and that a method can be made with another number of."""
    values = {one.name: getattr(method, one.name) for one in fields(method)}  # type: ignore[arg-type]
    return [
        name
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and name != "seed"
    ]


def _agreement(method: Method, knob: SizeKnob) -> int:
    """How many of the words that go with a knob the method has; -1 where it has another one."""
    words = {name: value for name, value in knob.beside.items() if isinstance(value, str)}
    has: dict[str, Any] = {name: getattr(method, name, None) for name in words}
    return len(words) if has == words else -1


def _told(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
