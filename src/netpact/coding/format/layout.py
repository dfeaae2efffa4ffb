"""Which tensors a network has, in the order in which the message holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpact.core.errors import PactError
from netpact.models import Architecture, OwnModule, parameter_count, parameter_grids, parameter_shapes

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Slot:
    """A tensor's name and shape, and the shape with its images spelled out (see Form.code_symbols)."""

    name: str
    shape: tuple[int, ...]
    grid: tuple[int, ...]


def module_slots(module: nn.Module) -> tuple[Slot, ...]:
    """All parameters, then all buffers (persistent or not); a tensor that two layers share stands there once."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return tuple(Slot(name, tuple(tensor.shape), tuple(tensor.shape)) for name, tensor in named)


def find_slots(
    architecture: Architecture | OwnModule, module: nn.Module | None, *, max_parameters: int
) -> tuple[Slot, ...]:
    """The slots of a network of ours, or of the module the user supplies. Sizes are checked before memory is taken."""
    if isinstance(architecture, OwnModule):
        if module is None:
            raise PactError(
                "this file holds the weights of a user's own module",
                where="message",
                hint="supply it: to_module(module) in Python, --model package.module:function on the command line",
            )
        refuse_too_many(sum(math.prod(slot.shape) for slot in module_slots(module)), max_parameters)
        return module_slots(module)
    if module is not None:
        raise PactError(
            f"this file names netpact's own architecture {architecture}", where="message", hint="leave the module out"
        )
    refuse_too_many(parameter_count(architecture), max_parameters)
    return plan_slots(architecture)


def plan_slots(architecture: Architecture) -> tuple[Slot, ...]:
    """The slots of a network of ours, from its plan: nothing is built."""
    grids = parameter_grids(architecture)
    return tuple(Slot(name, shape, grids[name]) for name, shape in parameter_shapes(architecture).items())


def refuse_too_many(count: int, max_parameters: int) -> None:
    if count > max_parameters:
        raise PactError(
            f"the network has {count:,} parameters, more than max_parameters = {max_parameters:,}",
            where="message",
            hint="if you trust this file: a larger max_parameters in Python, --max-parameters on the command line",
        )
