"""Which tensors a network has, in the order in which the message holds them."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from netpact.core.errors import PactError
from netpact.models import Architecture, OwnModule, parameter_count, parameter_grids, parameter_shapes, sketch

if TYPE_CHECKING:
    from torch import nn

    from netpact.layers.rewrites import Step


@dataclass(frozen=True)
class Slot:
    """A tensor's name and shape, and the shape with its images spelled out (see Form.code_symbols)."""

    name: str
    shape: tuple[int, ...]
    grid: tuple[int, ...]


def module_slots(module: nn.Module) -> tuple[Slot, ...]:
    """All parameters, then all buffers (persistent or not); a tensor that two layers share is there once."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return tuple(Slot(name, tuple(tensor.shape), tuple(tensor.shape)) for name, tensor in named)


def find_slots(
    architecture: Architecture | OwnModule,
    rewrites: tuple[Step, ...],
    module: nn.Module | None,
    *,
    max_parameters: int,
) -> tuple[Slot, ...]:
    """The slots of a network of ours, or of the module the user supplies. Sizes are checked before memory is taken."""
    if isinstance(architecture, OwnModule):
        if module is None:
            raise PactError(
                "this file holds the weights of a user's own module",
                where="message",
                hint="supply it: to_module(module) in Python, --model package.module:function on the command line",
            )
        slots = own_slots(module, rewrites)
    elif module is not None:
        raise PactError(
            f"this file names netpact's own architecture {architecture}", where="message", hint="leave the module out"
        )
    else:
        refuse_too_many(parameter_count(architecture), max_parameters)
        slots = plan_slots(architecture, rewrites)
    refuse_too_many(sum(math.prod(slot.shape) for slot in slots), max_parameters)
    return slots


def own_slots(module: nn.Module, rewrites: tuple[Step, ...]) -> tuple[Slot, ...]:
    """The slots of a user's module once it is rewritten; the one given stays as it was."""
    return module_slots(rewrite(without_weights(module), rewrites) if rewrites else module)


@lru_cache(maxsize=4)  # a message that was read asks twice
def plan_slots(architecture: Architecture, rewrites: tuple[Step, ...] = ()) -> tuple[Slot, ...]:
    """The slots of a network of ours, from its plan: no memory is taken for weights."""
    grids = parameter_grids(architecture)
    shapes = parameter_shapes(architecture)
    if not rewrites:
        return tuple(Slot(name, shape, grids[name]) for name, shape in shapes.items())
    found = module_slots(rewrite(sketch(architecture), rewrites))
    return tuple(
        Slot(slot.name, slot.shape, grids[slot.name] if shapes.get(slot.name) == slot.shape else slot.shape)
        for slot in found
    )


def rewrite(module: nn.Module, rewrites: tuple[Step, ...]) -> nn.Module:
    """Change the module given; few messages ask for it, and the others import less."""
    if not rewrites:
        return module
    from netpact.layers.rewrites import apply_steps

    return apply_steps(module, rewrites)


def without_weights(module: nn.Module) -> nn.Module:
    """A copy on the meta device: what is copied would be as large as the network."""
    from torch import nn

    empty: dict[int, object] = {id(tensor): nn.Parameter(tensor.to("meta"), False) for tensor in module.parameters()}
    return copy.deepcopy(module, empty | {id(tensor): tensor.to("meta") for tensor in module.buffers()})


def refuse_too_many(count: int, max_parameters: int) -> None:
    if count > max_parameters:
        raise PactError(
            f"the network has {count:,} parameters, more than max_parameters = {max_parameters:,}",
            where="message",
            hint="if you trust this file: a larger max_parameters in Python, --max-parameters on the command line",
        )
