"""From any array to what a network receives: checks and fixed conversions, the same for arrays and for streams."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer, plain
from netpact.core.errors import PactError
from netpact.datasets.layout import check_integers, join_arrays
from netpact.datasets.sources.mapped import is_mapped

MAX_CLASSES = 65_536  # a label beyond this is not a class number but a mistake
_CHANNELS = (1, 3)
_CHECK_ROWS = 4096
_AT_ONCE = 1 << 22
_IN_CACHE, _FEWEST, _MOST = 1 << 18, 16, 1024


def to_array(value: object, *, where: str) -> NDArray[Any]:
    """An array from an array, a tensor on any device, or nested lists; without a copy where that is possible."""
    torch = sys.modules.get("torch")  # whoever holds a tensor has imported torch already
    try:
        if torch is not None and isinstance(value, torch.Tensor):
            tensor = value.detach().cpu()
            array = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
        else:
            array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise PactError(f"cannot be converted to an array: {error}", where=where, hint="give a dense array") from error
    if isinstance(value, np.ma.MaskedArray):
        raise PactError("a masked array", where=where, hint="fill or leave out the masked samples first")
    return array


def to_inputs(value: object, *, where: str) -> NDArray[Any]:
    """An array; from several, by name or in order, one array of records."""
    if not isinstance(value, (Mapping, tuple)):
        return to_array(value, where=where)
    parts = value.items() if isinstance(value, Mapping) else enumerate(value)
    return join_arrays({str(key): to_array(part, where=f"{where}, {key}") for key, part in parts}, where=where)


def check_inputs(x: NDArray[Any], *, where: str, first: int = 0) -> NDArray[Any]:
    """uint8, finite float32 or integer inputs of shape (n, *input_shape), channels first; `first` is the index of x[0].

    (n, h, w) gets a channel axis. uint8 (n, h, w, c) with 1 or 3 channels becomes (n, c, h, w), unless the second axis
    already looks like the channels. Float inputs keep their axes: nobody can know what they mean.

    An array in a file stays there, in the type in which it is stored: batches are converted one by one.
    """
    if x.ndim > 4 and x.dtype.kind == "f":
        x = join_arrays([x], where=where)
    if x.dtype.names is not None:
        return _check_records(x, where=where, first=first)
    if x.ndim not in (2, 3, 4) or 0 in x.shape[1:]:
        raise PactError(
            f"inputs must have shape (n, features), (n, h, w), (n, c, h, w) or, as uint8, (n, h, w, c); got {x.shape}",
            where=where,
            hint='any other shape by name: {"x": array}, after the argument of forward',
        )
    if x.dtype != np.uint8 and x.dtype.kind in "iub":
        check_integers(x, where=where, first=first)
        return x if is_mapped(x) else x.astype(np.int64 if x.dtype.kind != "b" else np.bool_, copy=False)
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise PactError(
            f"inputs must be uint8 images, floating-point numbers or integers, got {x.dtype}",
            where=where,
            hint="use astype(np.uint8) for images with values 0 to 255, astype(np.float32) for anything else",
        )
    if x.ndim == 3:
        x = x[:, np.newaxis]
    elif x.ndim == 4 and x.dtype == np.uint8 and x.shape[3] in _CHANNELS and x.shape[1] not in _CHANNELS:
        turned = x.transpose(0, 3, 1, 2)
        x = turned if is_mapped(x) else np.ascontiguousarray(turned)
    return x if x.dtype == np.uint8 else _finite_float32(x, where=where, first=first)


def _check_records(x: NDArray[Any], *, where: str, first: int) -> NDArray[Any]:
    if x.ndim != 1 or not x.dtype.names:
        raise PactError(f"several inputs are one record for each sample, got shape {x.shape}", where=where)
    for name in x.dtype.names:
        part, place = x[name], f"{where}, input {name}"
        if 0 in part.shape[1:]:
            raise PactError(f"an input without entries: {part.shape}", where=place)
        if part.dtype.kind == "f":
            _finite_float32(part.reshape(len(part), -1), where=place, first=first)
        elif part.dtype != np.uint8:
            check_integers(part, where=place, first=first)
    return join_arrays({name: x[name] for name in x.dtype.names}, where=where)


def _finite_float32(x: NDArray[Any], *, where: str, first: int) -> NDArray[Any]:
    """float32, except where the array is in a file."""
    if not is_mapped(x):
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is refused below
            x = x.astype(np.float32, copy=False)
    step = rows_at_once(x.shape[1:], most=_CHECK_ROWS)
    for start in range(0, len(x), step):
        with np.errstate(over="ignore"):
            some = x[start : start + step].astype(np.float32, copy=False)
        fine = np.isfinite(some).reshape(len(some), -1).all(axis=1)
        if not fine.all():
            raise PactError(
                "the input holds NaN, an infinite number or one too large for float32",
                where=f"{where}, sample {first + start + int(np.argmin(fine))}",
                hint="repair or leave out such samples before training",
            )
    return x


def check_labels(y: NDArray[Any], *, count: int, where: str, first: int = 0) -> NDArray[np.int64]:
    """int64 labels of shape (count,), each from 0 to MAX_CLASSES - 1; `first` is the index of y[0]."""
    if y.ndim != 1:
        raise PactError(
            f"labels must have shape (n,), got {y.shape}",
            where=where,
            hint="one class number per sample, not one-hot",
        )
    if len(y) != count:
        raise PactError(
            f"{count} inputs and {len(y)} labels: sample {first + min(count, len(y))} has only one",
            where=where,
        )
    if y.dtype.kind not in "iu":
        whole = y == np.floor(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
        index = int(np.argmin(whole)) if len(y) else 0
        raise PactError(
            f"labels must be integers, got {y.dtype}" + (f" {y[index]!s:.40}" if len(y) else ""),
            where=f"{where}, sample {first + index}",
            hint="number the classes from 0 and use astype(np.int64)",
        )
    check_range(y, classes=MAX_CLASSES, where=where, first=first)
    return y.astype(np.int64, copy=False)


def check_range(y: NDArray[Any], *, classes: int, where: str, first: int = 0) -> None:
    outside = (y < 0) | (y >= classes)
    if outside.any():
        index = int(np.argmax(outside))
        raise PactError(
            f"labels must be from 0 to {classes - 1}, got {int(y[index])}",
            where=f"{where}, sample {first + index}",
            hint="number the classes from 0; if the number of classes is too small, give it with classes=",
        )


def check_classes(classes: int) -> int:
    return check_integer(plain(classes), where="classes", least=2, most=MAX_CLASSES)


def count_classes(*, lowest: int, highest: int, where: str) -> int:
    """One more than the highest label; at least two different labels have to occur."""
    if lowest == highest:
        raise PactError(
            f"only one class: every label is {lowest}, from sample 0 on",
            where=where,
            hint="a classifier needs two classes; if others exist but do not occur here, give classes=",
        )
    return highest + 1


def as_network_input(x: NDArray[Any]) -> NDArray[np.float32]:
    """A fresh float32 batch: uint8 images become x/255, floats stay as they are.

    A fixed function of each sample alone. Data-set means or any other statistic would be a choice made by looking at
    the data, and would have to be paid for in the message.
    """
    if x.dtype.names is not None:
        parts = [as_network_input(x[name]).reshape(len(x), -1) for name in x.dtype.names]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))
    if x.dtype == np.uint8:
        return np.divide(x, np.float32(255), dtype=np.float32, order="C")
    return np.array(x, dtype=np.float32, order="C")


def rows_at_once(shape: tuple[int, ...], *, most: int = _MOST) -> int:
    """How many samples of this shape a pass takes at once: 16 MB as float32, and at least one."""
    return max(1, min(most, _AT_ONCE // max(1, math.prod(shape))))


def rows_in_cache(shape: tuple[int, ...]) -> int:
    """How many samples of this shape to run a network on at once, where each result counts by itself: 1 MB as float32.

    What a convolution makes of many images at once leaves the processor's caches, and its memory comes anew from the
    operating system: ResNet-20 takes six times as long on 1,024 images at once as on 64 and 64 and so on.
    """
    return max(_FEWEST, min(_MOST, _IN_CACHE // max(1, math.prod(shape))))


def rows(count: int, *, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
