"""What calibration inputs show of every layer while the network runs once as it was trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from netpact.methods.whole_numbers.ranges import Range, find_range


@dataclass(frozen=True)
class Seen:
    """range  of the layer's input; widest  magnitude of its output; mean  of its output, one number a channel"""

    range: Range
    widest: float
    mean: Tensor


@torch.no_grad()
def watch_layers(module: nn.Module, layers: Mapping[str, nn.Module], inputs: Tensor, *, bits: int) -> dict[str, Seen]:
    """One run on all calibration inputs. Of a layer that runs more than once the widest range counts."""
    found: dict[str, Seen] = {}

    def note(name: str, layer: nn.Module, given: Tensor, result: Tensor) -> None:
        channel = channel_axis(layer) % result.dim()
        axes = [axis for axis in range(result.dim()) if axis != channel]
        here = Seen(find_range(given, bits=bits), float(result.abs().max()), result.double().mean(dim=axes))
        before = found.get(name)
        found[name] = here if before is None else replace(before, range=_wider(before.range, here.range))
        found[name] = replace(found[name], widest=max(here.widest, 0.0 if before is None else before.widest))

    with hooked(layers, note):
        module(inputs.clone())
    return found


def _wider(one: Range, other: Range) -> Range:
    low, high = min(one.low, other.low), max(one.high, other.high)
    widest, pixels = max(one.widest, other.widest), one.pixels and other.pixels
    return Range(low, high, max(one.step, other.step), widest, pixels)


def channel_axis(layer: nn.Module) -> int:
    return -1 if isinstance(layer, nn.Linear) else 1


@contextmanager
def hooked(layers: Mapping[str, nn.Module], note: Callable[[str, nn.Module, Tensor, Tensor], Any]) -> Iterator[None]:
    """Within this block every run of a layer is told; what `note` returns, if anything, is the layer's result."""
    handles = [
        layer.register_forward_hook(
            lambda part, given, named, result, name=name: note(name, part, [*given, *named.values()][0], result),
            with_kwargs=True,
        )
        for name, layer in layers.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
