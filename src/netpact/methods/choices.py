"""What several methods do with their options when they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netpact.core.errors import PactError
from netpact.methods.fitting import Array
from netpact.methods.grids import default_bits, make_grid
from netpact.network.input_moments import input_moments

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Samples

PRUNED_BITS = 6  # of the weights that pruning keeps, which are the large ones


def take_one(method: object, ways: Sequence[str], *, default: tuple[str, object]) -> None:
    """One of these options may be given; without any, the default is set."""
    given = [name for name in ways if getattr(method, name) is not None]
    if len(given) > 1:
        known = f"{', '.join(ways[:-1])} and {ways[-1]}"
        raise PactError(f"one of {known} is allowed, got {', '.join(given)}", where=given[-1])
    if not given:
        object.__setattr__(method, *default)


def settle_bits(method: object, grid: str, bits: int | None, *, uniform: int = 8, rate: float = 0.0) -> None:
    """Check grid, bits and rate; without bits, the grid's default is set."""
    make_grid(grid, bits=bits, rate=rate)
    if bits is None:
        object.__setattr__(method, "bits", default_bits(grid, uniform=uniform))


def importance_of(module: nn.Module, samples: Samples | None, *, rate: float) -> dict[str, Array]:
    """How much errors in the weights matter, where a rate asks for it and there are samples to tell."""
    return input_moments(module, samples) if rate and samples is not None else {}
