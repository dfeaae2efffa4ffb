"""A published bound as a row of a table: one file adds it, in `published/`, a paper's folder or a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING

from netpact.bounds.facts import FACTS
from netpact.core.errors import one_of
from netpact.core.table import Table

if TYPE_CHECKING:
    from netpact.bounds.estimate import Premise
    from netpact.bounds.facts import Facts
    from netpact.bounds.layer_budget import LayerBudget


@dataclass(frozen=True)
class Sampling:
    """What follows for a bound from measurements on a part of the samples.

    zeta         the share of the samples that was left out; it is added to the bound
    theorem      what allows that
    assumptions  what is assumed about samples that were not measured
    """

    zeta: float = 0.0
    theorem: str = ""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bound:
    """One bound, L + zeta + sqrt(C / m), with L = L_gamma where it needs "gamma" and L_0 otherwise.

    name          carries the paper: bartlett-2017, arora-4.1
    theorem       the reference
    log_capacity  ln of C. A bound of another shape states the C that gives its value: `logs.capacity_of`
    needs         the facts that it is computed from, by name
    ignored       what the number leaves out of the theorem
    premises      what the theorem assumes, checked on these facts
    refuses       why the theorem does not apply to this network; empty where it does
    sampling      what follows from measurements on a part of the samples
    layers        what each layer contributes, where the paper says so
    options       records of options; each field has a default and metadata={"help": ...}
    former        an earlier name, which still finds it
    """

    name: str
    theorem: str
    log_capacity: Callable[[Facts], float]
    _: KW_ONLY
    needs: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    premises: Callable[[Facts], tuple[Premise, ...]] = lambda facts: ()
    refuses: Callable[[Facts], str] = lambda facts: ""
    sampling: Callable[[Facts], Sampling] = lambda facts: Sampling()
    layers: Callable[[Facts], tuple[LayerBudget, ...]] = lambda facts: ()
    options: tuple[type, ...] = ()
    former: str = ""

    @property
    def uses_margin(self) -> bool:
        return "gamma" in self.needs

    @property
    def quantities(self) -> tuple[str, ...]:
        """What netpact.measure has to find for it."""
        return tuple(name for fact in self.needs for name in FACTS.look_up(fact).quantities)


class _Bounds(Table[Bound]):
    def __getitem__(self, name: str) -> Bound:
        rows = {row.former: row for row in map(super().__getitem__, self) if row.former}
        return rows[name] if name in rows else super().__getitem__(name)


BOUNDS = _Bounds("bound", "netpact.bounds.published", "netpact.papers.*.bounds")
RULES = BOUNDS


def check_names(only: Sequence[str]) -> tuple[str, ...]:
    """The names asked for, in the order of the table; all of them where none is given."""
    for name in only:
        if name not in BOUNDS:
            raise one_of(name, BOUNDS, option="only")
    order = list(BOUNDS)
    return tuple(sorted(dict.fromkeys(only), key=lambda name: order.index(BOUNDS[name].name))) or tuple(order)


def option_records() -> dict[str, type]:
    """The record of every option that a bound has, by the name of the field."""
    kinds = dict.fromkeys(kind for bound in BOUNDS.values() for kind in bound.options)
    return {field.name: kind for kind in kinds for field in fields(kind)}
