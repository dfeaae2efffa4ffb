"""What several methods do with their options when they are made."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.core.errors import PactError
from netpact.methods.grids import default_bits, make_grid

PRUNED_BITS = 6  # of the weights that pruning keeps, which are the large ones


def take_one(method: object, ways: Sequence[str], *, default: tuple[str, object]) -> None:
    """One of these options may be given; without any, the default is set."""
    given = [name for name in ways if getattr(method, name) is not None]
    if len(given) > 1:
        known = f"{', '.join(ways[:-1])} and {ways[-1]}"
        raise PactError(f"one of {known} is allowed, got {', '.join(given)}", where=given[-1])
    if not given:
        object.__setattr__(method, *default)


def settle_bits(method: object, grid: str, bits: int | None, *, uniform: int = 8) -> None:
    """Check grid and bits; without bits, the grid's default is set."""
    make_grid(grid, bits=bits)
    if bits is None:
        object.__setattr__(method, "bits", default_bits(grid, uniform=uniform))
