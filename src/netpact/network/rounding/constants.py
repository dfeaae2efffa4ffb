"""What a network computes from its own numbers, outside its layers, is rounded too.

    w = (layer.weight + 2**28) - 2**28

is the weight in float64 and 0 in float32. While a network is run with rounding bounds, every operation on parameters
and buffers therefore follows the same rules as those on the samples, and what has no rule is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.tolerance import (
    Constant,
    Spread,
    as_constant,
    current_rounding,
    flushed_part,
    make_spread,
    value_of,
)

# Tensors of numbers that stand in the program, or of integers.
_MAKERS = {"zeros", "ones", "full", "tensor", "eye", "zeros_like", "ones_like", "full_like"}
FOREIGN = "by a tensor that is neither parameter nor buffer"  # of numbers that no file holds
_CASTS = {"to", "float", "double", "type", "type_as"}
_TRANSPOSES = {
    "t": lambda matrix: matrix.permute(*reversed(range(matrix.dim()))),
    "T": lambda matrix: matrix.permute(*reversed(range(matrix.dim()))),
    "mT": lambda matrix: matrix.transpose(-2, -1),
}


class Constants(TorchFunctionMode):
    """While entered, tensors that do not come from the input are followed as well.

    Its own are the module's parameters and buffers; numbers of any other tensor would be in no file.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        tensors = [*module.parameters(), *module.buffers()]
        self._own = {_storage(tensor) for tensor in tensors}
        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        self._flushed = {id(tensor) for tensor in floats if bool(flushed_part(tensor).any())}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name, named = getattr(func, "__name__", str(func)), kwargs or {}
        floats = [tensor for tensor in tensors_in((args, named)) if _is_float(tensor)]
        if not floats:
            return self._made(name, func(*args, **named))
        foreign = [tensor for tensor in floats if not isinstance(tensor, Spread) and _storage(tensor) not in self._own]
        if foreign and name != "__get__":
            return self._refuse(f"{name} {FOREIGN}", func, args, named)
        if any(isinstance(tensor, Spread) and not isinstance(tensor, Constant) for tensor in floats):
            # A parameter as it is needs no spread, unless machines may flush some of its numbers.
            return func(*map_tensors(args, self._known), **map_tensors(named, self._known))
        return self._of_constants(name, func, args, named)

    def _of_constants(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        constants = map_tensors(args, _as_constant)
        if name == "__get__":
            kind = str(getattr(getattr(func, "__self__", None), "__name__", ""))
            name = kind if kind in _TRANSPOSES else name
        if name in _TRANSPOSES:
            return _TRANSPOSES[name](constants[0])
        if name == "__get__":
            found = func(*args, **named)
            return self._refuse(kind, func, args, named) if _is_float(found) else found
        is_own = any(_storage(_plain(tensor)) in self._own for tensor in tensors_in(args[:1]))
        if name == "masked_fill_" and not is_own:
            return func(*constants, **named)
        if (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") or "out" in named:
            return self._refuse(f"{name} in place, of a parameter or buffer", func, args, named)
        if name in _CASTS:
            found = func(*map_tensors(args, _plain), **named)
            same = _is_float(found) and found.dtype == torch.float64
            return constants[0] if same else self._refuse(name, func, args, named)
        return func(*constants, **map_tensors(named, _as_constant))

    def _made(self, name: str, result: Any) -> Any:
        """No tensor of real numbers went in. One that comes out is rounded once, unless it has few enough digits."""
        if not _is_float(result):
            return result
        if name not in {*_MAKERS, *_CASTS}:
            return self._refuse(name, lambda: result, (), {})
        value = result.double()
        rounded = torch.where(
            value.float().double() == value, 0.0, current_rounding().of_constants.gamma(1) * value.abs()
        )
        return as_constant(make_spread(value, rounded + flushed_part(value)))

    def _known(self, tensor: Tensor) -> Tensor:
        return _as_constant(tensor) if id(tensor) in self._flushed else tensor

    def _refuse(self, what: str, func: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        from netpact.network.rounding.rules import refuse

        return refuse(what, func, map_tensors(args, _plain), map_tensors(named, _plain), current_rounding())


def _as_constant(tensor: Tensor) -> Tensor:
    if isinstance(tensor, Spread) or not _is_float(tensor):
        return tensor
    return as_constant(make_spread(tensor.detach(), flushed_part(tensor)))


def _plain(tensor: Tensor) -> Tensor:
    with torch._C.DisableTorchFunctionSubclass():
        return value_of(tensor)


def _is_float(value: Any) -> bool:
    return isinstance(value, Spread) or (isinstance(value, Tensor) and value.is_floating_point())


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
