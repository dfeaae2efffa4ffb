"""Tensors in the arguments and results of a call, which may be in lists, tuples and mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor


def tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, Mapping)):
        for entry in value.values() if isinstance(value, Mapping) else value:
            yield from tensors_in(entry)


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Subclasses of lists and tuples become plain ones: a tensor in one that is passed over would not be changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)(map_tensors(entry, change) for entry in value)
    return {key: map_tensors(entry, change) for key, entry in value.items()} if isinstance(value, dict) else value
