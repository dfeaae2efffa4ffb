"""What a rewrite is, and how an ordered list of them is applied to a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import nn

from netpact.core.errors import PactError


class Rewrite(Protocol):
    """Another structure in place of one layer. A small frozen record whose fields are integers, all in the message.

    code   its number in messages; append only
    since  the first decoder version that has it
    least  for each field the smallest value, None for one of either sign: how it is coded
    """

    code: ClassVar[int]
    name: ClassVar[str]
    since: ClassVar[int]
    least: ClassVar[Mapping[str, int | None]]

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        """The module with the new structure at that place: changed itself, or another one if the place is the root.

        New weights are not set; they are where the old ones were, which may be the meta device.
        """

    def dense(self, layer: nn.Module) -> nn.Module:
        """One ordinary layer, in float64, with the linear map of what stands in the layer's place."""


@dataclass(frozen=True)
class Step:
    """One rewrite of a list. layer counts the module's parts as `modules()` lists them when this step is applied."""

    layer: int
    rewrite: Rewrite

    def __str__(self) -> str:
        return f"layer {self.layer}: {describe(self.rewrite)}"


def describe(rewrite: Rewrite, *, zeros: bool = True) -> str:
    """cp(rank=10, in_rows=0, out_rows=0); without zeros cp(rank=10)."""
    values = {name: getattr(rewrite, name) for name in rewrite.least}
    told = ", ".join(f"{name}={value}" for name, value in values.items() if zeros or value)
    return f"{rewrite.name}({told})"


def apply_steps(module: nn.Module, steps: Iterable[Step]) -> nn.Module:
    """Change a module step by step; a later one sees what the earlier ones made."""
    for step in steps:
        try:
            module = step.rewrite.apply(module, step.layer)
        except PactError as error:
            raise PactError(error.what, where=f"rewrite of {step}", hint=error.hint) from error
        # Of a network of ours: it is no longer what that architecture builds.
        vars(module).pop("netpact_architecture", None)
    return module


def name_layers(module: nn.Module, steps: Iterable[Step]) -> tuple[tuple[str, Rewrite], ...]:
    """Each step's rewrite with the name of the layer that it changes. The module is changed: give a copy."""
    named = []
    for step in steps:
        part = find_part(module, step.layer)
        named.append((next(name for name, found in module.named_modules() if found is part), step.rewrite))
        module = step.rewrite.apply(module, step.layer)
    return tuple(named)


def list_parts(module: nn.Module) -> list[nn.Module]:
    """What module.modules() gives, in a tenth of its time: a long list of rewrites looks at all parts at every step."""
    found: dict[int, nn.Module] = {}
    waiting = [module]
    while waiting:
        part = waiting.pop()
        if id(part) not in found:
            found[id(part)] = part
            waiting += [child for child in reversed(part._modules.values()) if child is not None]
    return list(found.values())


def find_part(module: nn.Module, number: int) -> nn.Module:
    return pick_part(list_parts(module), number)


def pick_part(parts: Sequence[nn.Module], number: int) -> nn.Module:
    if not 0 <= number < len(parts):
        raise PactError(f"the module has the layers 0 to {len(parts) - 1}, got {number}")
    return parts[number]


def number_of(module: nn.Module, part: nn.Module) -> int:
    return next(number for number, found in enumerate(list_parts(module)) if found is part)


def replace_part(
    module: nn.Module, old: nn.Module, new: nn.Module, parts: Sequence[nn.Module] | None = None
) -> nn.Module:
    """Everywhere: one module may have several names. parts: those of the module, where they are known."""
    new.train(old.training)
    if module is old:
        return new
    for part in list_parts(module) if parts is None else parts:
        for name, child in part._modules.items():
            if child is old:
                part._modules[name] = new
    return module


def refuse_layer(layer: nn.Module, needed: str) -> PactError:
    return PactError(f"{needed} is needed, the layer is {type(layer).__name__}({layer.extra_repr()})")
