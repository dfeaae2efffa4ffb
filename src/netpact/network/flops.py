"""Floating-point operations of one sample, module by module: a multiplication and an addition are two of them.

Matrix products, convolutions and attention are counted, by torch's own counter; what is done entry by entry is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode


@dataclass
class SampleRun:
    """What was seen while one sample went through; an operation belongs to the innermost module that is running.

    order    the modules by name, as they ran for the first time; shapes: of what each received then
    flops    by module, all its runs together; total: of the whole network
    failure  what torch said where the sample did not get through; then the rest is empty
    """

    order: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    flops: Counter[str] = field(default_factory=Counter)
    total: int = 0
    failure: str = ""
    _running: list[str] = field(default_factory=list)

    def charge(self, total: int) -> None:
        if self._running:
            self.flops[self._running[-1]] += total - self.total
        self.total = total

    def enter(self, name: str, inputs: tuple[Any, ...], total: int) -> None:
        self.charge(total)
        self._running.append(name)
        if name not in self.order:
            self.order.append(name)
            if inputs and isinstance(inputs[0], Tensor):
                self.shapes[name] = tuple(inputs[0].shape)

    def leave(self, total: int) -> None:
        self.charge(total)
        self._running.pop()


def run_sample(module: nn.Module, owners: Mapping[str, nn.Module], sample: Tensor) -> SampleRun:
    """Run one sample. By hooks, as the counter's own table goes by names, of which a shared module has several."""
    run, counter = SampleRun(), FlopCounterMode(display=False)
    for name, part in owners.items():
        part.register_forward_pre_hook(lambda _, inputs, name=name: run.enter(name, inputs, counter.get_total_flops()))
        part.register_forward_hook(lambda _, __, ___: run.leave(counter.get_total_flops()))
    try:
        with torch.no_grad(), counter:
            module(sample)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
        return SampleRun(failure=str(error) or type(error).__name__)
    run.charge(counter.get_total_flops())
    return run
