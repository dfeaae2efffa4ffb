"""Weights that are trained as symbols: real numbers, rounded in every forward pass, and a step for each tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.coding import ShortFloat
from netpact.coding.forms import CodedTensor, Ternary, Uniform
from netpact.methods.fitting import zero_tensor
from netpact.methods.rate_costs import Costs, decision_costs

FORM_BITS = 14  # about what naming a form and its step costs

# Wide enough that about half of the symbols start as zero: where all symbols occur equally often, bits have no slope.
_FIRST_WIDTH = 1.5


class SoftSymbols:
    """All tensors in one vector of real numbers in units of their steps: weight = step * round(soft symbol).

    other_bits  what the message holds besides: tensors that are not trained
    """

    def __init__(self, tensors: Mapping[str, Tensor], *, levels: int, other_bits: int = 0) -> None:
        self.levels = levels
        self.other_bits = other_bits
        self.shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        self.sizes = [tensor.numel() for tensor in tensors.values()]
        arrays = [tensor.detach().double().numpy().ravel() for tensor in tensors.values()]
        steps = [first_step(array) for array in arrays]
        soft = [np.clip(array / step, -levels, levels) for array, step in zip(arrays, steps, strict=True)]
        self.values = torch.from_numpy(np.concatenate(soft)).float().requires_grad_()
        self.log_steps = torch.tensor([math.log(step) for step in steps]).requires_grad_()
        self._owner = torch.repeat_interleave(torch.arange(len(steps)), torch.tensor(self.sizes))
        self._costs = decision_costs(levels)
        self._slopes = torch.zeros(len(steps), 2 * levels)

    def weights(self) -> dict[str, Tensor]:
        """The rounded weights. Their gradients pass to the values unrounded (straight-through, Bengio et al. 2013)."""
        rounded = self.values + (self.values.round() - self.values).detach()
        parts = torch.split(rounded * self.log_steps.exp()[self._owner], self.sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def price(self) -> None:
        """Bring the costs up to date with the symbols as they are now."""
        for row, counts in enumerate(self._counts()):
            bits = self._costs.symbol_bits(counts)
            self._slopes[row] = torch.from_numpy(np.diff(bits))

    @torch.no_grad()
    def bit_gradient(self) -> Tensor:
        """The slope of the code length, its costs at whole symbols joined by straight lines."""
        segment = (self.values + self.levels).floor().long().clamp_(0, 2 * self.levels - 1)
        return self._slopes[self._owner, segment]

    @torch.no_grad()
    def neighbour_bits(self) -> tuple[Tensor, Tensor]:
        """What one symbol more, and one less, would add to the code length; infinity beyond the outermost symbols."""
        place = (self.values.round() + self.levels).long()
        edge = torch.full((len(self.sizes), 1), math.inf)
        up, down = torch.cat([self._slopes, edge], dim=1), torch.cat([edge, -self._slopes], dim=1)
        return up[self._owner, place], down[self._owner, place]

    @torch.no_grad()
    def harden(self) -> None:
        """Let every value be the symbol that it is rounded to."""
        self.values.round_()

    @torch.no_grad()
    def confine(self) -> None:
        """Beyond the outermost symbol no gradient would bring a value back."""
        self.values.clamp_(-self.levels, self.levels)

    @torch.no_grad()
    def are_sound(self) -> bool:
        """Finite symbols, and steps that float32 holds."""
        steps = self.log_steps.exp()
        return bool(torch.isfinite(self.values).all() and torch.isfinite(steps).all() and (steps > 0).all())

    @torch.no_grad()
    def settle_steps(self) -> None:
        """Move every step to the nearest one that a message can hold, for good."""
        if self.log_steps.requires_grad:
            self.log_steps.copy_(torch.tensor([math.log(step.value) for step in self._steps()]))
            self.log_steps.requires_grad_(False)
            self.log_steps.grad = None  # what the optimizer finds no gradient for it leaves alone

    def estimate_bits(self) -> float:
        """The length of the message but for its header, which is a few bytes."""
        return self.other_bits + sum(_tensor_bits(counts, self._costs) for counts in self._counts())

    def code(self) -> dict[str, CodedTensor]:
        """Every tensor in the form that holds its symbols in the fewest bits."""
        coded = {}
        for name, symbols, step in zip(self.shapes, self._symbols(), self._steps(), strict=True):
            largest = int(np.abs(symbols).max(initial=0))
            if largest == 0:
                coded[name] = zero_tensor(self.shapes[name])
            else:
                coded[name] = CodedTensor((Ternary if largest == 1 else Uniform)(step), symbols, self.shapes[name])
        return coded

    def _symbols(self) -> list[NDArray[np.int64]]:
        hard = self.values.detach().round().numpy().astype(np.int64)
        return np.split(hard, np.cumsum(self.sizes)[:-1])

    def _counts(self) -> list[NDArray[np.float64]]:
        width = 2 * self.levels + 1
        return [np.bincount(part + self.levels, minlength=width).astype(np.float64) for part in self._symbols()]

    def _steps(self) -> list[ShortFloat]:
        return [ShortFloat.nearest(step) for step in self.log_steps.detach().double().exp().tolist()]


_TERNARY = decision_costs(1)


def _tensor_bits(counts: NDArray[np.float64], costs: Costs) -> float:
    levels = costs.levels
    if counts[levels] == counts.sum():
        return 2.0  # one of the shortest names
    inner = counts[levels - 1 : levels + 2]
    if inner.sum() == counts.sum():
        return FORM_BITS + _TERNARY.total_bits(inner)
    return FORM_BITS + costs.total_bits(counts)


def first_step(values: NDArray[np.float64]) -> float:
    """A multiple of the root mean square of the weights; 1 for a tensor of zeros."""
    return _FIRST_WIDTH * float(np.sqrt(np.square(values).mean())) or 1.0
