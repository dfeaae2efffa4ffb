"""Size knobs: the option by which a method makes larger and smaller files, and settings of it worth comparing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netpact.core.checks import check_integer
from netpact.methods.method import METHODS

Setting = Mapping[str, "bool | int | float | str"]


@dataclass(frozen=True)
class SizeKnob:
    """One way of a method from large files to small ones: a method declares them as the class variable `knobs`.

    option  the option's name
    values  of it that are worth comparing, from the largest file to the smallest; what lies between is allowed too
    beside  options that go with it
    """

    option: str
    values: tuple[float, ...]
    beside: Setting = field(default_factory=dict, hash=False)

    @property
    def whole(self) -> bool:
        return all(isinstance(value, int) for value in self.values)

    def settings(self, most: int) -> list[Setting]:
        """At most so many, spread evenly from the largest file to the smallest."""
        check_integer(most, where="sizes", least=1)
        last = len(self.values) - 1
        if most > last:
            places = list(range(last + 1))
        else:
            # One setting is the one in the middle: neither of the ends says what a method is good for.
            places = [last // 2] if most == 1 else [round(step * last / (most - 1)) for step in range(most)]
        return [{self.option: self.values[place], **self.beside} for place in places]


def find_knobs(name: str) -> tuple[SizeKnob, ...]:
    """Of a method by its name, the main one first; none for a method that declares none."""
    found: tuple[SizeKnob, ...] = getattr(METHODS.look_up(name), "knobs", ())
    return found


def list_settings(name: str, most: int) -> list[Setting]:
    """Options of a method that are worth comparing: at most so many for each of its knobs; its defaults without one."""
    check_integer(most, where="sizes", least=1)
    return [setting for knob in find_knobs(name) for setting in knob.settings(most)] or [{}]
