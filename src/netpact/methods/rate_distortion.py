"""Rounding that looks at the bits: the point of a grid with the least squared error plus price of its bits.

Entropy-constrained scalar quantisation (Chou, Lookabaugh and Gray 1989), under the decisions of the real coder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netpact.coding import Contexts, Meter
from netpact.coding.forms import Codebook, CodedTensor, Form, Marked, Symbols, Ternary, Uniform, Zero
from netpact.coding.forms.sparse import DROPPED
from netpact.methods.fitting import Array, zero_tensor
from netpact.methods.rate_costs import Prices, Pricing

MOST_PRICED_BITS = 10  # what a symbol costs is found out for one symbol after the other
_MOST_ROUNDS = 30  # a dozen are enough; each lowers the objective
_LEAST_IMPORTANCE = 0.01
_OFFSETS = (0, -1, 1, -2, 2)  # points that are tried, counted from the nearest one; and 0


def trade_bits(
    coded: Sequence[CodedTensor],
    values: Sequence[Array],
    *,
    price: float,
    importance: Sequence[Array | None] = (),
) -> list[CodedTensor]:
    """Rounded tensors with other symbols: the objective of RateDistortion is at most what it was.

    All of them are in one grid, or zero. At price 0 nothing changes.

    importance  of the weights of each tensor, in any unit: the mean square of their inputs, for example. By default
                all of a tensor's weights are alike
    """
    told = [tensor for tensor in coded if _has_symbols(tensor)]
    if not told or price == 0.0:
        return list(coded)
    triples = zip(coded, values, importance or [None] * len(coded), strict=True)
    parts = [(own.ravel(), _relative(weight, own)) for tensor, own, weight in triples if _has_symbols(tensor)]
    flat, weighed = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    rule = RateDistortion(told[0].form, tuple(tensor.shape for tensor in told), flat, weighed, price)
    traded = iter(rule.split(rule.improve(np.concatenate([tensor.symbols for tensor in told]))))
    return [_without_zeros(next(traded)) if _has_symbols(tensor) else tensor for tensor in coded]


@dataclass(frozen=True, eq=False)
class RateDistortion:
    """objective = sum of importance * error^2 / spacing^2 + price * bits, over tensors of one form.

    Spacing is the step of an even grid, the mean distance between the values of a codebook. Bits are those of all
    symbols as they would stand in one message. Only symbols are used that are there already, and zeros stay: what was
    pruned does not come back because another symbol is cheaper.

    values, importance  of all tensors in one vector; the values before they were rounded
    """

    form: Form
    shapes: tuple[tuple[int, ...], ...]
    values: Array
    importance: Array
    price: float

    def objective(self, symbols: Symbols) -> float:
        meter, contexts = Meter(), Contexts()
        for tensor in self.split(symbols):
            self.form.code_symbols(meter, tensor.symbols, tensor.shape, contexts)
        errors = self.importance * np.square((self._points(symbols) - self.values) / self.spacing)
        return float(errors.sum()) + self.price * meter.total

    def improve(self, symbols: Symbols) -> Symbols:
        """As long as the objective falls: what bits cost from the symbols, then symbols from what bits cost."""
        best, pricing = self.objective(symbols), Pricing.of(self.form, symbols)
        for _ in range(_MOST_ROUNDS):
            other = self._propose(symbols, pricing)
            lower = self.objective(other)
            if not lower < best:
                break
            symbols, best = other, lower
        nothing = np.full_like(symbols, _nothing(self.form))
        return symbols if isinstance(self.form, Codebook) or self.objective(nothing) >= best else nothing

    def split(self, symbols: Symbols) -> list[CodedTensor]:
        ends = np.cumsum([self.form.symbol_count(shape) for shape in self.shapes])[:-1]
        pairs = zip(np.split(symbols, ends), self.shapes, strict=True)
        return [CodedTensor(self.form, part, shape) for part, shape in pairs]

    @property
    def spacing(self) -> float:
        grid = self.form.inner if isinstance(self.form, Marked) else self.form
        if isinstance(grid, (Uniform, Ternary)):
            return grid.step.value
        if not isinstance(grid, Codebook):
            raise TypeError(f"the form {grid.name} is no grid")
        points = grid.weights(np.arange(len(grid.values)), (len(grid.values),))
        return float(np.ptp(points)) / (len(points) - 1) or float(np.abs(points).max()) or 1.0

    def _propose(self, symbols: Symbols, pricing: Pricing) -> Symbols:
        """What every weight would choose if the others stayed."""
        free = np.flatnonzero((self.values != 0) | (self._points(symbols) != 0))
        changed = symbols.copy()
        changed[free] = self._choose(pricing.prices(self.split(symbols)), free)
        return changed

    def _choose(self, prices: Prices, free: Symbols) -> Symbols:
        points = self._points(prices.alphabet)
        order = np.argsort(points, kind="stable")
        points = points[order] / self.spacing
        values = self.values[free] / self.spacing
        nearest = np.searchsorted((points[1:] + points[:-1]) / 2, values)
        tried = [np.clip(nearest + offset, 0, len(points) - 1) for offset in _OFFSETS]
        tried += [np.full(len(free), place) for place in np.flatnonzero(points == 0)]
        best, chosen = np.full(len(free), np.inf), nearest
        for place in tried:
            errors = self.importance[free] * np.square(points[place] - values)
            cost = errors + self.price * prices.bits(order[place], free)
            chosen = np.where(cost < best, place, chosen)
            np.minimum(best, cost, out=best)
        return prices.alphabet[order[chosen]]

    def _points(self, symbols: Symbols) -> Array:
        return self.form.weights(symbols, symbols.shape)


def _relative(importance: Array | None, values: Array) -> Array:
    """In units of its mean over the weights that are not 0, so that a price means the same in every layer.

    A hundredth of the mean is added, as in GPTQ (Frantar et al. 2023): an input that was 0 on a few samples may come.
    """
    if importance is None:
        return np.ones(values.size)
    spread = np.broadcast_to(importance, values.shape).ravel()
    used = spread[values.ravel() != 0]
    mean = float(used.mean()) if len(used) else 0.0
    if not (math.isfinite(mean) and mean > 0):
        return np.ones(values.size)
    return (spread / mean + _LEAST_IMPORTANCE) / (1 + _LEAST_IMPORTANCE)


def _has_symbols(tensor: CodedTensor) -> bool:
    return not isinstance(tensor.form, Zero) and tensor.symbols.size > 0


def _without_zeros(tensor: CodedTensor) -> CodedTensor:
    """A tensor of zeros needs no symbols."""
    if not isinstance(tensor.form, Codebook) and (tensor.symbols == _nothing(tensor.form)).all():
        return zero_tensor(tensor.shape)
    return tensor


def _nothing(form: Form) -> int:
    """The symbol of a 0, of any form but a codebook."""
    return DROPPED if isinstance(form, Marked) else 0
