"""One pass over the samples: the size of every weight layer's input and of the output, and how flat inputs are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.measurements.streaming import norms_of

_ROOM = 1 << 24  # floats in all weight layers' outputs of one batch
_MOST = 256
_OUTWARD = 1 + 1e-9  # of the eigenvalues of a Gram matrix, and of a quotient of norms

Shape = tuple[int, ...]
Look = Callable[[str, Tensor, Tensor], None]


@dataclass(frozen=True, eq=False)
class SampleSizes:
    """norms      |X| of each layer's input, in their order, then |f(x)|: one tensor each, a number for each sample
    reshaping  max |X|_2 / |X|_F by layer; 1 for those that are not reshaped
    """

    norms: list[Tensor]
    reshaping: dict[str, float]

    @property
    def output_norm(self) -> float:
        return float(self.norms[-1].max())


@torch.no_grad()
def find_shapes(module: nn.Module, names: list[str], samples: Samples) -> dict[str, tuple[Shape, Shape]]:
    """Of one sample at these layers: what they receive, and what they return."""
    found: dict[str, tuple[Shape, Shape]] = {}

    def look(name: str, given: Tensor, made: Tensor) -> None:
        found[name] = tuple(given.shape[1:]), tuple(made.shape[1:])

    inputs, _ = next(iter(samples.batches(1)))
    with _looking(module, names, look):
        module(torch.from_numpy(inputs).to(_precision(module)))
    return found


@torch.no_grad()
def measure_sizes(
    module: nn.Module,
    layers: Mapping[str, tuple[int, int] | None],
    samples: Samples,
    *,
    entries: int,
    progress: Callable[[int], None],
) -> SampleSizes:
    """layers: those to look at, in the order they run, with the sides that a linear layer's inputs are reshaped to.

    entries  of all layers' outputs for one sample: they say how many samples are run at once
    """
    rows: dict[str, list[Tensor]] = {name: [] for name in layers}
    flatness, logits = dict.fromkeys(layers, 0.0), list[Tensor]()

    def look(name: str, given: Tensor, made: Tensor) -> None:
        rows[name].append(norms_of(given))
        sides = layers[name]
        if sides is not None:
            flatness[name] = max(flatness[name], _flatness(given.reshape(-1, *sides)))

    with _looking(module, list(layers), look):
        for inputs, _ in samples.batches(max(1, min(_MOST, _ROOM // entries))):
            logits.append(norms_of(module(torch.from_numpy(inputs).to(_precision(module)))))
            if not bool(torch.isfinite(logits[-1]).all()):
                raise PactError("the logits are not finite", where=samples.name, hint="the training may have diverged")
            progress(len(inputs))
    # A layer whose inputs were all 0 has no reshaping factor: 1 holds for every one.
    reshaping = {name: flatness[name] if sides and flatness[name] else 1.0 for name, sides in layers.items()}
    return SampleSizes([torch.cat(part) for part in (*rows.values(), logits)], reshaping)


def _flatness(matrices: Tensor) -> float:
    """The largest |X|_2 / |X|_F of a batch of matrices, from above; 0 where all of them are 0."""
    values = matrices.double()
    if values.shape[1] > values.shape[2]:
        values = values.mT
    squares = values.square().sum(dim=(1, 2))
    values = values[squares > 0]
    if not len(values):
        return 0.0
    largest = torch.linalg.eigvalsh(values @ values.mT)[:, -1]
    return min(1.0, math.sqrt(float((largest / squares[squares > 0]).max())) * _OUTWARD)


def _precision(module: nn.Module) -> torch.dtype:
    return next(parameter.dtype for parameter in module.parameters())


@contextmanager
def _looking(module: nn.Module, names: list[str], look: Look) -> Iterator[None]:
    """Within this block, `look(name, input, output)` sees these parts of the module; the input as it was given."""
    handles = []
    for name in names:
        part, given = module.get_submodule(name), list[Tensor]()
        # An operation may change its input where it lies, before the layer has returned.
        handles.append(part.register_forward_pre_hook(lambda _, inputs, given=given: given.append(inputs[0].clone())))
        handles.append(part.register_forward_hook(partial(_leave, name, given, look)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _leave(name: str, given: list[Tensor], look: Look, part: nn.Module, inputs: object, made: Tensor) -> None:
    look(name, given.pop(), made)
