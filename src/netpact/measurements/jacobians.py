"""|J^{i,j}|_F of every pair of layers at once: by rows where the output is small, else by random probes.

One backward pass from x^j carries a row vector w to w^T J^{i,j} for every i < j. With w over the unit vectors the
squares add up to |J|_F^2; with random signs,

    E |w^T J|^2 = |J|_F^2                                  (Hutchinson 1990)

and the mean over a few w has a standard error that their spread gives. The part of w^T J that belongs to one pixel of
x^i gives |J at that pixel|_F^2 in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netpact.core.seed import Seed
from netpact.measurements.quantity import Numbers
from netpact.measurements.structure import Structure
from netpact.network import Network
from netpact.network.watching import watching

EXACT_ROWS = 128  # outputs up to here are taken row by row: probes to a few percent would cost about as much
_FEWEST_PROBES, _MOST_PROBES, _LOOK_EVERY = 16, 512, 8

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PairNorm:
    """One pair i < j, for each sample.

    norm, norm_error  |J|_F and its standard error; None where it was summed row by row
    peak, peak_error  the most over pixels of sqrt(n1 n2) |J at the pixel|_F / |J|_F; None for a linear layer i
    passes            backward passes that were made from x^j
    """

    norm: Numbers
    norm_error: Numbers | None
    peak: Numbers | None
    peak_error: Numbers | None
    passes: int


class _Sums:
    """Running sums of the energies of probes: of all of x^i and of each pixel."""

    def __init__(self) -> None:
        self.count = 0
        self._total: Tensor | None = None
        self._squares: Tensor | None = None

    def add(self, gradient: Tensor) -> None:
        # Shape (samples, pixels); a linear layer's output is one pixel.
        squares = gradient.detach().square()
        energy = (squares.sum(dim=1) if gradient.dim() == 4 else squares).flatten(1)
        energy = (energy if gradient.dim() == 4 else energy.sum(dim=1, keepdim=True)).double()
        whole = torch.cat([energy.sum(dim=1, keepdim=True), energy], dim=1)
        if self._total is None or self._squares is None:
            self._total, self._squares = torch.zeros_like(whole), torch.zeros_like(whole)
        self._total += whole
        self._squares += whole.square()
        self.count += 1

    def mean(self) -> Tensor:
        """Column 0 is the whole Jacobian, the others are its pixels."""
        assert self._total is not None
        return self._total / self.count

    def total(self) -> Tensor:
        assert self._total is not None
        return self._total

    def error(self) -> Tensor:
        """The standard error of the mean, from the spread of the probes."""
        assert self._squares is not None
        spread = (self._squares / self.count - self.mean().square()).clamp(min=0)
        return (spread / (self.count - 1)).sqrt()

    def relative_error(self) -> float:
        """Of |J|_F, the worst of the samples: half of that of its square."""
        whole = self.mean()[:, 0]
        share = self.error()[:, 0] / whole
        return float(share[whole > 0].max()) / 2 if bool((whole > 0).any()) else 0.0


def measure_jacobians(
    network: Network, structure: Structure, inputs: Tensor, *, accuracy: float, seed: Seed
) -> dict[Pair, PairNorm]:
    """Every pair of layers with a path between them, for these samples.

    accuracy  the relative standard error of |J|_F at which probing ends, for every sample (or after 512 probes)
    """
    outputs = run_with_graph(network, structure, inputs)
    found: dict[Pair, PairNorm] = {}
    for end in (*structure.indices, *({structure.logits} - set(structure.indices))):
        starts = [index for index in structure.indices if index < end]
        if starts:
            found |= _measure_end(outputs, starts, end, accuracy=accuracy, seed=seed.child("probes", end))
    return found


def run_with_graph(network: Network, structure: Structure, inputs: Tensor) -> dict[int, Tensor]:
    """x^i of every weight layer, and the logits, joined by the graph that derivatives run through."""
    outputs: dict[int, Tensor] = {}

    def keep(index: int, _: Tensor, output: Tensor) -> Tensor:
        if index not in structure.indices:
            return output
        outputs[index] = output if output.requires_grad else output.requires_grad_()
        # What follows may work in place: the copy takes the change.
        return output.clone()

    with torch.enable_grad(), watching(network, keep):
        logits = network.module(inputs)
    outputs.setdefault(structure.logits, logits)
    return outputs


def _measure_end(
    outputs: Mapping[int, Tensor], starts: list[int], end: int, *, accuracy: float, seed: Seed
) -> dict[Pair, PairNorm]:
    target, points = outputs[end], [outputs[start] for start in starts]
    by_rows = target[0].numel() <= EXACT_ROWS
    sums: dict[int, _Sums] = {}
    for probe in _unit_rows(target) if by_rows else _signs(target, seed):
        pulled = torch.autograd.grad(target, points, probe, retain_graph=True, allow_unused=True)
        for start, gradient in zip(starts, pulled, strict=True):
            if gradient is not None:
                sums.setdefault(start, _Sums()).add(gradient)
        if not sums or (not by_rows and _is_enough(sums, accuracy)):
            break
    images = {start for start, point in zip(starts, points, strict=True) if point.dim() == 4}
    return {(start, end): _summarise(found, by_rows, image=start in images) for start, found in sums.items()}


def _is_enough(sums: Mapping[int, _Sums], accuracy: float) -> bool:
    count = max(found.count for found in sums.values())
    if count < _FEWEST_PROBES or count % _LOOK_EVERY:
        return False
    return all(found.relative_error() <= accuracy for found in sums.values())


def _unit_rows(target: Tensor) -> Iterator[Tensor]:
    for place in range(target[0].numel()):
        probe = torch.zeros(target.shape, dtype=target.dtype)
        probe.flatten(1)[:, place] = 1
        yield probe


def _signs(target: Tensor, seed: Seed) -> Iterator[Tensor]:
    generator = seed.torch()
    for _ in range(_MOST_PROBES):
        yield torch.randint(0, 2, target.shape, generator=generator).to(target.dtype) * 2 - 1


def _summarise(sums: _Sums, by_rows: bool, *, image: bool) -> PairNorm:
    energy = sums.total() if by_rows else sums.mean()
    norm = energy[:, 0].sqrt()
    norm_error = None if by_rows else _divide(sums.error()[:, 0], 2 * norm)
    if not image:
        return PairNorm(norm.numpy(), _numbers(norm_error), None, None, sums.count)
    pixels = energy[:, 1:]
    top = pixels.argmax(dim=1, keepdim=True)
    most = pixels.gather(1, top).squeeze(1)
    peak = _divide(math.sqrt(pixels.shape[1]) * most.sqrt(), norm)
    if by_rows:
        return PairNorm(norm.numpy(), None, peak.numpy(), None, sums.count)
    # Half the relative errors of the two squares, as if they were independent.
    shares = [
        _divide(sums.error()[:, 1:].gather(1, top).squeeze(1), most),
        _divide(sums.error()[:, 0], energy[:, 0]),
    ]
    peak_error = peak / 2 * (shares[0].square() + shares[1].square()).sqrt()
    return PairNorm(norm.numpy(), _numbers(norm_error), peak.numpy(), peak_error.numpy(), sums.count)


def _divide(above: Tensor, below: Tensor) -> Tensor:
    return torch.where(below > 0, above / below.clamp(min=torch.finfo(below.dtype).tiny), torch.zeros_like(above))


def _numbers(tensor: Tensor | None) -> Numbers | None:
    return None if tensor is None else np.asarray(tensor.numpy(), dtype=np.float64)
