"""Grids: how real numbers are written. What they are (weights, coefficients, factors) does not matter here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from netpact.coding import ShortFloat
from netpact.coding.forms import MAX_CODEBOOK_BITS, CodedTensor, Scaled, Symbols, Uniform, Zero, matrix_sides
from netpact.coding.forms.scaled import MOST_SCALE, SCALES_PER_OCTAVE, scale_values
from netpact.core.checks import check_choice, check_flag, check_integer, check_number
from netpact.core.errors import PactError
from netpact.methods import fitting
from netpact.methods.fitting import Array
from netpact.methods.rate_distortion import MOST_PRICED_BITS, trade_bits

BITS = range(2, 17)  # of an even grid
_DEFAULT_BITS, _TERNARY_BITS = 4, 2


class Grid(ABC):
    @abstractmethod
    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        """Every array, in one grid that is fitted to all of them."""

    def round(self, values: Array) -> CodedTensor:
        return self.round_all([values])[0]

    def round_kept(self, values: Array) -> CodedTensor:
        """What is left of a pruned tensor, all of it: no number becomes 0."""
        raise NotImplementedError(f"{type(self).__name__} has no rule for pruned tensors")

    def settle(self, coded: CodedTensor, values: Array) -> CodedTensor:
        """A whole tensor, some of whose entries were rounded in this grid: the last word on its symbols."""
        return coded

    def weighed(self, importance: Sequence[Array | None]) -> Grid:
        """The grid for arrays whose numbers are not all as important, if it can tell them apart."""
        return self


@dataclass(frozen=True)
class UniformGrid(Grid):
    """Evenly spaced, 2^(bits-1) - 1 points to either side of 0; the step with the least squared error."""

    bits: int = _DEFAULT_BITS

    def __post_init__(self) -> None:
        check_integer(self.bits, where="bits", least=BITS.start, most=BITS.stop - 1)

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        form = fitting.fit_uniform_step(_together(arrays), bits=self.bits)
        return [fitting.round_uniform(values, form, bits=self.bits) for values in arrays]

    def round_kept(self, values: Array) -> CodedTensor:
        form = fitting.fit_uniform_step(values, bits=self.bits, least=1)
        return fitting.round_uniform(values, form, bits=self.bits, least=1)


@dataclass(frozen=True)
class StepGrid(Grid):
    """Multiples of a given step, however large."""

    step: ShortFloat

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        form = Uniform(self.step)
        return [
            CodedTensor(form, np.rint(values.ravel() / self.step.value).astype(np.int64), values.shape)
            for values in arrays
        ]


@dataclass(frozen=True)
class CodebookGrid(Grid):
    """2^bits values, chosen for the numbers (Lloyd)."""

    bits: int = _DEFAULT_BITS

    def __post_init__(self) -> None:
        check_integer(self.bits, where="bits", least=1, most=MAX_CODEBOOK_BITS)

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        together = _together(arrays)
        if not together.any():
            return [fitting.zero_tensor(values.shape) for values in arrays]
        form = fitting.fit_codebook(together, bits=self.bits)
        return [fitting.round_codebook(values, form) for values in arrays]

    def round_kept(self, values: Array) -> CodedTensor:
        return fitting.avoid_zero(self.round(values), values)


@dataclass(frozen=True)
class TernaryGrid(Grid):
    """The signs of the largest numbers, a `density` share of each array, times one step; 0 for the others."""

    density: float = 0.3

    def __post_init__(self) -> None:
        check_number(self.density, where="density", above=0, most=1)

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        symbols = [fitting.ternary_symbols(values, density=self.density) for values in arrays]
        form = fitting.fit_ternary_step(_together(arrays), np.concatenate(symbols))
        return [
            fitting.zero_tensor(values.shape) if isinstance(form, Zero) else CodedTensor(form, own, values.shape)
            for values, own in zip(arrays, symbols, strict=True)
        ]

    def round_kept(self, values: Array) -> CodedTensor:
        """Something else has decided what is kept."""
        return TernaryGrid(1.0).round(values)


@dataclass(frozen=True)
class Priced(Grid):
    """The points of a grid, chosen by squared error and bits; `price` is that of a bit, in squared steps."""

    grid: Grid
    price: float
    importance: tuple[Array | None, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        check_number(self.price, where="rate", least=0)

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        return trade_bits(self.grid.round_all(arrays), arrays, price=self.price, importance=self.importance)

    def round_kept(self, values: Array) -> CodedTensor:
        """Before it is settled: what an entry costs depends on those that are not kept."""
        return self.grid.round_kept(values)

    def settle(self, coded: CodedTensor, values: Array) -> CodedTensor:
        return trade_bits([coded], [values], price=self.price, importance=self.importance)[0]

    def weighed(self, importance: Sequence[Array | None]) -> Priced:
        return replace(self, importance=tuple(importance))


@dataclass(frozen=True)
class PerChannel(Grid):
    """A grid, and a scale for each channel of a matrix or tensor: its rows (first axis), or columns (all others)."""

    grid: Grid
    columns: bool = False

    def round_all(self, arrays: Sequence[Array]) -> list[CodedTensor]:
        """Scales are the root mean squares of the channels."""
        return self.round_scaled(arrays, [self._sizes(values) for values in arrays])

    def weighed(self, importance: Sequence[Array | None]) -> PerChannel:
        """In units of the channel's scale, as the grid's step is."""
        return replace(self, grid=self.grid.weighed(importance))

    def round_scaled(self, arrays: Sequence[Array], sizes: Sequence[Array]) -> list[CodedTensor]:
        """With given sizes: the grid's step in a channel is proportional to the channel's size, nearly."""
        scales = [_nearest_scales(own) for own in sizes]
        coded = self.grid.round_all([self._divide(*pair) for pair in zip(arrays, scales, strict=True)])
        return [self._wrap(*pair) for pair in zip(coded, scales, strict=True)]

    def code_scaled(self, values: Array, sizes: Array, code: Callable[[Array, Grid], CodedTensor]) -> CodedTensor:
        """With given sizes, and another way to code what was divided by them in the grid."""
        scales = _nearest_scales(sizes)
        return self._wrap(code(self._divide(values, scales), self.grid), scales)

    def _sizes(self, values: Array) -> Array:
        if values.ndim < 2:
            return np.ones(matrix_sides(values.shape)[self.columns])
        # In units of the largest, so that no square underflows or overflows.
        matrix = values.reshape(matrix_sides(values.shape)) / (np.abs(values).max(initial=0.0) or 1.0)
        return np.asarray(np.sqrt(np.square(matrix).mean(axis=0 if self.columns else 1)))

    def _divide(self, values: Array, scales: Symbols) -> Array:
        divisors = scale_values(scales)
        matrix = values.reshape(matrix_sides(values.shape))
        return np.asarray((matrix / (divisors if self.columns else divisors[:, None])).reshape(values.shape))

    def _wrap(self, coded: CodedTensor, scales: Symbols) -> CodedTensor:
        if isinstance(coded.form, Zero) or not scales.any():
            return coded
        return CodedTensor(Scaled(coded.form, self.columns), np.concatenate([scales, coded.symbols]), coded.shape)


def _nearest_scales(sizes: Array) -> Symbols:
    """On the ladder of `Scaled`: the median size is at 0, the cheapest symbol, and so is a channel of zeros."""
    used = sizes > 0
    if not used.any():
        return np.zeros(len(sizes), dtype=np.int64)
    relative = np.where(used, sizes / np.median(sizes[used]), 1.0)
    mantissas, exponents = np.frexp(relative)
    symbols = SCALES_PER_OCTAVE * (exponents - 1) + np.rint((2 * mantissas - 1) * SCALES_PER_OCTAVE)
    return np.clip(symbols, -MOST_SCALE, MOST_SCALE).astype(np.int64)


def _together(arrays: Sequence[Array]) -> Array:
    return np.concatenate([values.ravel() for values in arrays])


GRIDS: Mapping[str, type[UniformGrid] | type[CodebookGrid] | type[TernaryGrid]] = MappingProxyType(
    {"uniform": UniformGrid, "codebook": CodebookGrid, "ternary": TernaryGrid}
)


def default_bits(name: str, *, uniform: int = _DEFAULT_BITS) -> int:
    return {"uniform": uniform, "ternary": _TERNARY_BITS}.get(name, _DEFAULT_BITS)


def make_grid(
    name: str, *, bits: int | None = None, density: float = 0.3, per_channel: bool = False, rate: float = 0.0
) -> Grid:
    """The grid that a method's options describe; each method that rounds numbers takes some of these."""
    check_choice(name, GRIDS, where="grid")
    ternary = TernaryGrid(density)
    bits = default_bits(name) if bits is None else bits
    if name == "ternary":
        check_integer(bits, where="bits", least=_TERNARY_BITS, most=_TERNARY_BITS)
    grid: Grid = ternary if name == "ternary" else UniformGrid(bits) if name == "uniform" else CodebookGrid(bits)
    if check_number(rate, where="rate", least=0):
        if bits > MOST_PRICED_BITS:
            raise PactError(f"with a rate at most {MOST_PRICED_BITS} are allowed, got {bits}", where="bits")
        grid = Priced(grid, rate)
    return PerChannel(grid) if check_flag(per_channel, where="per_channel") else grid
