"""How many samples may run at once: memory is bounded by what one sample needs, not by the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# 128 MiB of float64 for the largest tensor of a run. Counting holds about ten tensors of that order at a time; smaller
# batches than this allows are no slower, since they stay in the processor's cache.
_ENTRIES = 1 << 24


def samples_at_once(module: nn.Module, input_shape: tuple[int, ...]) -> int:
    """The largest batch that keeps memory bounded, at least one. A float64 module is run on one sample of zeros."""
    with torch.no_grad(), _Watch() as watch:
        module(torch.zeros(1, *input_shape, dtype=torch.float64))
    return max(1, _ENTRIES // max(1, watch.largest))


class _Watch(TorchFunctionMode):
    """Remembers the number of entries of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            weight = (kwargs or {}).get("weight", args[1] if len(args) > 1 else None)
            self.largest = max(self.largest, _entries(func, result, weight))
        return result


def _entries(func: Callable[..., Any], result: Tensor, weight: Any) -> int:
    """A convolution in float64 writes out the window under every place of its result before it multiplies."""
    if getattr(func, "__name__", "") != "conv2d" or not isinstance(weight, Tensor):
        return result.numel()
    places = result.numel() // max(1, result.shape[1])
    return max(result.numel(), places * weight[0].numel())
