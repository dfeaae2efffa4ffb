"""The table of layer kinds. What is not in it is refused by name."""

from __future__ import annotations

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


def __getattr__(name: str) -> dict[type[nn.Module], str]:
    """LAYER_KINDS: the names of the kinds by type, as the table is now."""
    if name != "LAYER_KINDS":
        raise AttributeError(name)
    return {one: kind.name for kind in KINDS.values() for one in kind.types}
