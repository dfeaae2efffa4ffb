"""A network with some of its layers replaced, beside the network as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.layers.rewrites import replace_part
from netpact.methods.rank_advice.records import Change
from netpact.network import Network
from netpact.network.rounding.batching import samples_at_once

_BATCH = 256


class Bench:
    """The logits of the network on the samples, and the shapes that its layers receive."""

    def __init__(self, network: Network, samples: Samples) -> None:
        self._module = copy.deepcopy(network.module)
        at_once = samples_at_once(copy.deepcopy(network.module).double(), samples.input_shape)
        self._batches = [
            (torch.from_numpy(inputs), torch.from_numpy(labels))
            for inputs, labels in samples.batches(min(_BATCH, at_once))
        ]
        self.samples = samples.count
        self.shapes = _input_shapes(self._module, self._batches[0][0][:1])
        self._logits = list(self._run(self._module))
        self._squares = sum(float(part.square().sum()) for part in self._logits)
        if not all(bool(part.isfinite().all()) for part in self._logits):
            raise PactError("the network has NaN or infinite logits on the samples", where=samples.name)
        self.accuracy = self._compare(self._logits).accuracy

    def change(self, parts: Mapping[str, nn.Module]) -> Change:
        """With these layers in the places of those of the same names."""
        with _replaced(self._module, parts) as module:
            return self._compare(self._run(module))

    def flops(self, name: str, part: nn.Module) -> int:
        """Of one sample, in this layer's place; a multiplication and an addition are two."""
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            copy.deepcopy(part).to("meta")(torch.empty(self.shapes[name], device="meta"))
        return counter.get_total_flops()

    @torch.no_grad()
    def _run(self, module: nn.Module) -> Iterator[Tensor]:
        dtype = next(tensor.dtype for tensor in module.parameters())
        for inputs, _ in self._batches:
            yield module(inputs.to(dtype)).double()

    def _compare(self, found: Iterator[Tensor] | list[Tensor]) -> Change:
        squares, largest, other, right = 0.0, 0.0, 0, 0
        for logits, old, (_, labels) in zip(found, self._logits, self._batches, strict=True):
            moved = torch.linalg.vector_norm(logits - old, dim=1)
            squares += float(moved.square().sum())
            largest = max(largest, float(moved.max()))
            decided = logits.argmax(dim=1)
            other += int((decided != old.argmax(dim=1)).sum())
            right += int((decided == labels).sum())
        relative = (squares / self._squares) ** 0.5 if self._squares else 0.0
        return Change(logits=relative, largest=largest, decisions=other / self.samples, accuracy=right / self.samples)


@contextmanager
def _replaced(module: nn.Module, parts: Mapping[str, nn.Module]) -> Iterator[nn.Module]:
    old = {name: module.get_submodule(name) for name in parts}
    for name, part in parts.items():
        module = replace_part(module, old[name], part)
    try:
        yield module
    finally:
        for name, part in parts.items():
            module = replace_part(module, part, old[name])


def _input_shapes(module: nn.Module, sample: Tensor) -> dict[str, torch.Size]:
    shapes: dict[str, torch.Size] = {}

    def note(name: str, inputs: tuple[object, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            shapes.setdefault(name, inputs[0].shape)

    hooks = [
        part.register_forward_pre_hook(lambda _, inputs, name=name: note(name, inputs))
        for name, part in module.named_modules()
    ]
    with torch.no_grad():
        module(sample.to(next(tensor.dtype for tensor in module.parameters())))
    for hook in hooks:
        hook.remove()
    return shapes
