"""Which layers of a network can be turned into factored ones, and which are by default."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Protocol

from torch import nn

from netpact.core.checks import told
from netpact.core.errors import PactError, one_of, wrong_kind

Dense = nn.Conv2d | nn.Linear
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class HoldsModule(Protocol):
    """What train and trace return, for example."""

    @property
    def module(self) -> nn.Module: ...


def held_module(model: object) -> nn.Module:
    held = model if isinstance(model, nn.Module) else getattr(model, "module", None)
    if isinstance(held, nn.Module):
        return held
    hint = "load_model(path) and build(architecture) give one"
    raise wrong_kind(model, needed="a torch.nn.Module", where="model", hint=hint)


def dense_layers(model: nn.Module) -> dict[str, Dense]:
    """Linear layers and convolutions without groups, of exactly these types: a subclass may compute anything.

    One that computes its weight anew in each run (weight norm, pruning masks) is none of them.
    """
    return {name: part for name, part in model.named_modules() if _is_dense(part)}


def _is_dense(part: nn.Module) -> bool:
    plain = type(part) is nn.Linear or (type(part) is nn.Conv2d and part.groups == 1)
    return plain and part._parameters.get("weight") is not None


def default_skips(layers: dict[str, Dense]) -> set[str]:
    """1x1 convolutions, which are matrices and gain nothing from a tensor's form, and the classifier.

    The classifier is a linear layer behind which no other one of these layers is registered.
    """
    skips = {name for name, part in layers.items() if isinstance(part, nn.Conv2d) and math.prod(part.kernel_size) == 1}
    last = next(reversed(layers), None)
    return skips | ({last} if last is not None and isinstance(layers[last], nn.Linear) else set())


def select_layers(
    model: nn.Module, *, named: Iterable[str] | None, skip: Collection[str] | None, kinds: tuple[type[nn.Module], ...]
) -> dict[str, Dense]:
    """The layers with these names, or all of these kinds but those to skip; refused where they cannot be exchanged."""
    found = dense_layers(model)
    if named is not None:
        chosen = {name: found[_known(name, found, where="ranks")] for name in named}
    else:
        skips = default_skips(found) if skip is None else {_known(name, found, where="skip") for name in _names(skip)}
        chosen = {name: part for name, part in found.items() if isinstance(part, kinds) and name not in skips}
    if not chosen:
        hint = f"it has the layers {', '.join(found)}: name them in ranks, or give skip=()" if found else ""
        raise PactError("no layer is left to turn into a factored one", where="model", hint=hint)
    for name, part in chosen.items():
        _check_exchangeable(model, name, part)
    return chosen


def _names(skip: object) -> Collection[str]:
    if isinstance(skip, str) or not isinstance(skip, Collection):
        raise PactError(f"must be a tuple of layer names, got {told(skip)}", where="skip")
    return skip


def _known(name: object, found: dict[str, Dense], *, where: str) -> str:
    if not isinstance(name, str) or name not in found:
        raise one_of(name, found, option=where)
    return name


def _check_exchangeable(model: nn.Module, name: str, part: nn.Module) -> None:
    """A layer at several places stays one layer at all of them; a weight that two layers hold would become two."""
    own = {id(parameter) for parameter in part.parameters()}
    for other, holder in model.named_modules():
        if holder is not part and any(id(parameter) in own for parameter in holder.parameters(recurse=False)):
            hint = "name both in skip"
            raise PactError(f"it has a parameter in common with {other or 'the network'}", where=name, hint=hint)
    if any(getattr(part, hooks, None) for hooks in _HOOKS):
        raise PactError("it has hooks, which a new layer would not have", where=name, hint="remove them first")
