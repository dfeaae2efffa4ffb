"""How a quantity is defined: one row of the table that JSON, --only, tables, pages and Monitor derive from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from netpact.core.checks import check_choice
from netpact.core.errors import PactError
from netpact.core.table import Table
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import LEAST, SIDES, Quantity
from netpact.measurements.structure import WeightLayer

if TYPE_CHECKING:
    from netpact.measurements.records import LayerMeasures

LAYER, PAIR, NETWORK = "layer", "pair", "network"


@dataclass(frozen=True)
class Definition:
    """What is said of every quantity; the subclasses say what one is about, and compute it.

    name         in JSON and in `only`
    title        in words
    symbol       head of its column in the tables of layers; none for no column
    meaning      what a better value says; its distribution is drawn on the page where this is given
    logarithmic  its axis on the page; False for a quantity that can be 0 or less
    side         which end of the samples is the worst: "least" or "most"
    needs        the passes that must have run before
    parts        quantities of the same layer that it is computed from
    short        its column in the Monitor, if that is not its name
    reference    paper and definition
    asked        it costs much: measured only where it is named
    warn         what a reader of a layer's number should know, in words; none in most cases
    """

    scopes: ClassVar[tuple[str, ...]] = (LAYER,)
    name: str
    _: KW_ONLY
    title: str
    symbol: str = ""
    meaning: str = ""
    logarithmic: bool = True
    side: str = LEAST
    needs: tuple[Pass[Any], ...] = ()
    parts: tuple[str, ...] = ()
    short: str = ""
    reference: str = ""
    asked: bool = False
    warn: Callable[[WeightLayer, Context], Sequence[str]] = lambda layer, context: ()

    def __post_init__(self) -> None:
        from netpact.measurements.records import LayerMeasures, Measures

        check_choice(self.side, SIDES, where=f"side of {self.name}")
        # A quantity is a key of the records' JSON and an attribute: it must not hide one that they have already.
        taken = {name for record in (LayerMeasures, Measures) for name in (*dir(record), *record.__annotations__)}
        if not self.name.isidentifier() or self.name in taken:
            raise PactError("must be a name that can be an attribute and is not taken", where=f"quantity {self.name!r}")


@dataclass(frozen=True)
class OfLayer(Definition):
    """One quantity for each layer; None where a layer has none."""

    compute: Callable[[WeightLayer, Context], Quantity | None]


@dataclass(frozen=True)
class OverLayers(OfLayer):
    """One for each layer, and the worst of them for the network."""

    scopes = (LAYER, NETWORK)


@dataclass(frozen=True)
class OfPairs(Definition):
    """One for each layer and each place that a map from it ends at, by index."""

    scopes = (PAIR,)
    compute: Callable[[WeightLayer, Context], Mapping[int, Quantity]]


@dataclass(frozen=True)
class OfNetwork(Definition):
    scopes = (NETWORK,)
    compute: Callable[[Context], Quantity]


@dataclass(frozen=True)
class FromParts(Definition):
    """One for each layer, computed from `parts`, and again when these leave out samples."""

    compute: Callable[[LayerMeasures], Quantity]


QUANTITIES: Table[Definition] = Table("quantity", "netpact.measurements.quantities", "netpact.papers.*.quantities")


def choose(only: Iterable[str]) -> tuple[Definition, ...]:
    """The rows of these names and of their parts, in the order of the table; for no names all but those to ask for."""
    names = set(only or (name for name, row in QUANTITIES.items() if not row.asked))
    while missing := {part for name in names for part in QUANTITIES[name].parts} - names:
        names |= missing
    return tuple(row for name, row in QUANTITIES.items() if name in names)


def names_needing(wanted: Pass[Any]) -> tuple[str, ...]:
    return tuple(name for name, row in QUANTITIES.items() if wanted in row.needs)
