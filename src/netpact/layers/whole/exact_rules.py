"""Which operations are exact on integers, and how large their results can be; all others are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from netpact.core.errors import PactError
from netpact.layers.whole.account import Account, Counted, counted, runs_in_integers
from netpact.layers.whole.averages import AVERAGED
from netpact.layers.whole.between import WholeClip, WholePool, run_clip, run_pool
from netpact.layers.whole.grid import FLOAT32, FLOAT64, round_shifted
from netpact.layers.whole.integers import layer_in_integers, pool_in_integers
from netpact.layers.whole.layers import WholeLayer, run_whole

QUERIES = {"dim", "size", "__get__", "numel", "__len__", "is_floating_point", "get_device", "stride", "is_contiguous"}
# Entries that are moved, left out, repeated or joined by zeros.
MOVES = {
    *("flatten", "unflatten", "view", "reshape", "permute", "transpose", "swapaxes", "movedim", "squeeze", "unsqueeze"),
    *("contiguous", "clone", "detach", "dropout", "dropout2d", "pad", "expand", "repeat", "roll", "flip"),
    *("chunk", "split", "unbind", "narrow", "select", "__getitem__"),
    *("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
}
JOINS = {"cat", "stack"}
SUMS = {"add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__isub__", "rsub", "__rsub__"}
_IN_PLACE = {"relu_", "add_", "__iadd__", "sub_", "__isub__"}
_ORDERED = {"relu", "relu_", "max_pool1d", "max_pool2d", "adaptive_max_pool2d", "amax", "amin"}
_KEEP = {*MOVES, *_ORDERED}
_OWN: dict[Callable[..., Any], str] = {run_whole: "run_whole", run_pool: "run_pool", run_clip: "run_clip"}


def apply_exactly(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if func in _OWN:
        return _LAYERS[_OWN[func]](*args, **kwargs)
    name = getattr(func, "__name__", str(func))
    if name in QUERIES:
        found = func(*args, **kwargs)
        if isinstance(found, Tensor):  # x.T, x.data and their like would come out without an account
            raise refuse(str(getattr(getattr(func, "__self__", None), "__name__", name)))
        return found
    given = list(_tensors_in((args, kwargs)))
    if not all(isinstance(tensor, Counted) for tensor in given):
        raise refuse(f"{name} with a tensor that is not computed from the network's input")
    if _is_unfit(name, args, kwargs):
        raise refuse(f"{name} in this form")
    if name in _KEEP or name in JOINS:
        return _share(func(*args, **kwargs), _joined(given, name), name)
    if name in SUMS:
        return _add(name, func, args, kwargs)
    if name in AVERAGED:
        return _average(name, func, args, kwargs)
    raise refuse(name)


def _is_unfit(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Ways of calling these operations that do more than their names say."""
    if any(kwargs.get(option) is not None for option in ("dtype", "out")) or kwargs.get("return_indices"):
        return True
    if name in ("dropout", "dropout2d"):
        return bool(kwargs.get("training", True))
    if name == "pad":
        return bool(kwargs.get("value")) or len(args) > 3
    return name == "view" and any(isinstance(entry, torch.dtype) for entry in (*args, *kwargs.values()))


def _tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(entry)


def refuse(what: str) -> PactError:
    allowed = sorted({name for name in (*_KEEP, *JOINS, *AVERAGED, "add", "sub") if not name.endswith("_")})
    return PactError(
        f"the operation {what} is not exact on integers",
        where="network",
        hint=f"between layers are allowed: {', '.join(allowed)}; ReLU6, Hardtanh and average pooling of any size as "
        "modules. For other networks take the arithmetic float32, float64 or as-run",
    )


def _joined(tensors: list[Any], name: str) -> Account:
    """One tensor keeps its account; of several the largest, none of which may be the network's input."""
    if len(tensors) == 1:
        found: Account = tensors[0].account
        return found
    if any(tensor.account.raw for tensor in tensors):
        raise refuse(f"{name} of the network's input and something else")
    joint = Account(0)
    for tensor in tensors:
        joint.raise_to(tensor.account)
    return joint


def _share(result: Any, account: Account, name: str) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_share(part, account, name) for part in result)
    return counted(result, account, what=name)


def _add(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 2 or not all(isinstance(one, Counted) for one in args) or kwargs.get("alpha", 1) != 1:
        raise refuse(f"{name} of anything but two tensors")
    accounts = [one.account for one in args]
    if any(account.raw for account in accounts):
        raise refuse(f"{name} of the network's input")
    fraction = max(account.fraction for account in accounts)
    total = Account(sum(account.at(fraction) for account in accounts), fraction)
    result = func(*args)
    if name in _IN_PLACE:  # every view of the tensor sees the sum
        accounts[0].raise_to(total)
        return counted(result, accounts[0], what=name)
    return counted(result, total, what=name)


def _average(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The sum of n numbers divided by 2^j: whole multiples of 2^-j, at most n times as many."""
    x = next(_tensors_in((args, kwargs)))
    try:
        window = AVERAGED[name](*args, **kwargs)
    except TypeError as error:  # a way of calling it that its rule does not know
        raise refuse(f"{name} in this form") from error
    assert isinstance(x, Counted)
    if x.account.raw:
        raise refuse(f"{name} of the network's input")
    if window is None or window.divisor & (window.divisor - 1):
        raise refuse(f"{name} over a number of entries that is no power of two, or not the same everywhere")
    places = window.divisor.bit_length() - 1
    account = Account(x.account.most * window.terms, x.account.fraction + places)
    return counted(func(*args, **kwargs), account, what=name)


def _layer(x: Any, layer: WholeLayer) -> Any:
    grid, account = layer.grid, x.account
    if account.raw != bool(grid.levels):
        needed = "integers, and gets the network's input" if account.raw else "the network's input alone"
        raise PactError(f"{type(layer).__name__}({layer.extra_repr()}) takes {needed}", where="network")
    if account.fraction and not grid.rounds:
        raise PactError(f"{type(layer).__name__} gets halves, and rounds nothing", where="network")
    if (grid.furthest << account.fraction) * grid.gain >= FLOAT32:
        raise PactError(
            f"{type(layer).__name__} gets multiples of 2^-{account.fraction}: with its multiplier they need more than "
            "float32's 24 digits",
            where="network",
        )
    if layer.most is None:
        raise PactError(f"{type(layer).__name__} was not settled", where="network")
    result = layer_in_integers(x, layer) if runs_in_integers() else layer.compute(x)
    return counted(result, Account(layer.most), what=type(layer).__name__)


def _pool(x: Any, pool: WholePool) -> Any:
    if x.account.raw or x.account.fraction:
        raise refuse("WholePool of anything but integers")
    sums = x.account.most * pool.window(x)
    counted(x, Account(sums), what="WholePool")  # in the type of x
    if sums * pool.multiplier >= FLOAT64:
        raise PactError(f"a sum times its multiplier may reach {sums * pool.multiplier:,}", where="network")
    result = pool_in_integers(x, pool) if runs_in_integers() else pool.compute(x)
    return counted(result, Account(round_shifted(sums * pool.multiplier, pool.shift)), what="WholePool")


def _clip(x: Any, clip: WholeClip) -> Any:
    if x.account.raw:
        raise refuse("WholeClip of the network's input")
    most = min(x.account.most, max(-clip.low, clip.high) << x.account.fraction)
    return counted(clip.compute(x), Account(most, x.account.fraction), what="WholeClip")


_LAYERS: dict[str, Callable[..., Any]] = {"run_whole": _layer, "run_pool": _pool, "run_clip": _clip}
