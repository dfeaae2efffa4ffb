"""The table of layer kinds. What is not in it is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import nn

from netpact.core.errors import one_of
from netpact.core.table import Table
from netpact.network.kinds.kind import LayerKind


class Kinds(Table[LayerKind]):
    """Rows by name; a layer is found by its exact type, because a subclass may compute something else."""

    def find(self, layer: nn.Module) -> LayerKind | None:
        return next((kind for kind in self.values() if type(layer) in kind.types), None)

    def of(self, layer: nn.Module) -> LayerKind:
        kind = self.find(layer)
        if kind is None:
            raise one_of(type(layer).__name__, self.types(), option="layer")
        return kind

    def types(self) -> list[str]:
        return sorted(of_kind.__name__ for kind in self.values() for of_kind in kind.types)

    def measured(self) -> list[str]:
        """The names of the weight layers of the theory."""
        return [name for name, kind in self.items() if kind.measured is not None]


KINDS = Kinds("layer kind", "netpact.network.kinds")


class _Names(Mapping[type[nn.Module], str]):
    """What layers of a type are called; it grows with the table."""

    def __getitem__(self, of_kind: type[nn.Module]) -> str:
        return {one: name for name, kind in KINDS.items() for one in kind.types}[of_kind]

    def __iter__(self) -> Iterator[type[nn.Module]]:
        return (one for kind in KINDS.values() for one in kind.types)

    def __len__(self) -> int:
        return len(list(iter(self)))


LAYER_KINDS: Mapping[type[nn.Module], str] = _Names()
