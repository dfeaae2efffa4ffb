"""How a user's module is called and what of its outputs counts: as one tensor in, one tensor of logits out.

    inputs   a row of float32 numbers becomes the arguments that the data's layout describes: integers, truth values,
             several tensors, by name or in order
    output   of a tuple, list or dict the stated entry
    logits   one number z for each sample, with two classes, stands for the logits (0, z): class 1 where z > 0, and
             z = 0 is an error

Nothing is learned here, so nothing is to be coded but the name of the output, which is in the message. The forward of
the instance is replaced: types, names of parameters, copies and pickles stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.datasets.layout import Layout

_ADAPTED = "_netpact_call"  # what was adapted, as a text


def adapt(module: nn.Module, layout: Layout, output: str, *, classes: int) -> nn.Module:
    """Make the module take rows and return logits. Changes the module given; one that does so already stays.

    A module that takes and returns one tensor of the right shape is not touched, except where it has one logit.
    """
    if getattr(module, _ADAPTED, None) is None:
        stated = f"{','.join(map(str, layout))} -> {output}"
        setattr(module, _ADAPTED, stated)
        module.forward = partial(_call, layout, output, classes, module.forward)
    return module


def adapt_like(module: nn.Module, other: nn.Module) -> nn.Module:
    """Make the module take and return what another one was made to. Changes the module given."""
    if is_adapted(module) or not is_adapted(other):
        return module
    call = other.forward
    assert isinstance(call, partial)
    layout, output, classes, _ = call.args
    return adapt(module, layout, output, classes=classes)


def is_adapted(module: nn.Module) -> bool:
    return getattr(module, _ADAPTED, None) is not None


def needs_adapting(module: nn.Module, inputs: Tensor, layout: Layout, output: str, *, classes: int) -> bool:
    """One logit for two classes shows when the module is run; what raises is left to whoever runs it next."""
    if layout or output:
        return True
    if classes != 2 or is_adapted(module):
        return False
    try:
        with torch.no_grad():
            found = module(inputs)
    except Exception:  # noqa: BLE001  the user's code may raise anything, and is run again where that is told
        return False
    return isinstance(found, Tensor) and tuple(found.shape) in {(len(inputs),), (len(inputs), 1)}


def other_inputs(module: nn.Module, x: Tensor) -> Tensor:
    """Other numbers that the module can be run on: tokens must stay within their tables."""
    return torch.zeros_like(x) if ":int64:" in getattr(module, _ADAPTED, "") else 1 - x


def _call(layout: Layout, output: str, classes: int, forward: Callable[..., Any], x: Tensor) -> Any:
    found = forward(x) if not layout else _with_arguments(layout, forward, x)
    if output:
        found = _pick(found, output)
    if classes == 2 and isinstance(found, Tensor) and tuple(found.shape) in {(len(x),), (len(x), 1)}:
        found = functional.pad(found.reshape(-1, 1), (1, 0))
    return found


def _with_arguments(layout: Layout, forward: Callable[..., Any], x: Tensor) -> Any:
    row, start = x.flatten(1), 0
    unnamed: list[Tensor] = []
    named: dict[str, Tensor] = {}
    for field in layout:
        part = row[:, start : start + field.size].reshape(-1, *field.shape)
        start += field.size
        if field.kind != "float32":
            part = part.bool() if field.kind == "bool" else part.long()
        if field.name.isdigit():
            unnamed.append(part)
        else:
            named[field.name] = part
    return forward(*unnamed, **named)


def _pick(found: Any, output: str) -> Any:
    if isinstance(found, Mapping):
        keys = {str(key): key for key in found}
        if output in keys:
            return found[keys[output]]
        raise PactError(f"there is no {output!r}; the module returns {', '.join(keys)}", where="output")
    if isinstance(found, (tuple, list)):
        if output.isdigit() and int(output) < len(found):
            return found[int(output)]
        raise PactError(f"there is no {output!r}; the module returns {len(found)}, from 0 on", where="output")
    if hasattr(found, output) and not isinstance(found, Tensor):
        return getattr(found, output)
    raise PactError(f"{output!r} is stated, but the module returns one {type(found).__name__}", where="output")
