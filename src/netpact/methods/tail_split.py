"""A tensor taken apart at a threshold: entries that are kept, and noise that stands for the others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netpact.coding import ShortFloat
from netpact.coding.forms import CodedTensor, KeptInNoise, Zero
from netpact.coding.forms.heavy_tail import MAX_SHIFT, SHIFT_PARTS
from netpact.methods.approximations import UNIT_STEP, Dense, FewEntries
from netpact.methods.fitting import Array
from netpact.methods.grids import Grid, TernaryGrid

_ANY = KeptInNoise(Zero(), UNIT_STEP)  # its noise does not matter


@dataclass(frozen=True, eq=False)
class TailSplit:
    """W = A + B: B has the entries that are kept, and a Gaussian of this mean and std stands for A.

    everywhere  the noise is added to the kept entries too: W(t) = sqrt(t) G + B, std = sqrt(t)
    seed, layer of the noise, which the decoder draws again
    """

    values: Array
    kept: NDArray[np.bool_]
    mean: float
    std: float
    everywhere: bool
    seed: int = 0
    layer: int = 0

    @property
    def kept_count(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def noise(self) -> tuple[float, float]:
        """Mean and std of the noise as a message says them; (0, 0) where there is none."""
        form = self._form(_ANY)
        return (form.shift / SHIFT_PARTS * form.std.value, form.std.value) if form is not None else (0.0, 0.0)

    def with_seed(self, seed: int) -> TailSplit:
        return replace(self, seed=seed)

    def weights(self) -> Array:
        """Without rounding of what is kept: the noise that a file of this seed would decode to."""
        large = np.where(self.kept, self.values, 0.0)
        form = self._form(_ANY)
        if form is None:
            return large if self.everywhere else self.values.copy()
        noise = form.weights(np.zeros(0, dtype=np.int64), self.values.shape)
        return large + noise if self.everywhere else np.where(self.kept, self.values, noise)

    def code(self, grid: Grid) -> CodedTensor:
        """A grid of signs keeps the signs of all that is kept: what is small is gone already."""
        finer = TernaryGrid(1.0) if isinstance(grid, TernaryGrid) else grid
        coded = FewEntries(np.where(self.kept, self.values, 0.0)).code(finer)
        form = self._form(replace(_ANY, inner=coded.form))
        if form is None:
            return coded if self.everywhere else Dense(self.values).code(grid)
        return CodedTensor(form, coded.symbols, coded.shape)

    def _form(self, like: KeptInNoise) -> KeptInNoise | None:
        """With this noise; None where there is none, or where no message can say how far its mean is from 0."""
        if not self.std > 0 or (self.kept.all() and not self.everywhere):
            return None
        std = ShortFloat.nearest(self.std)
        shift = round(self.mean / std.value * SHIFT_PARTS) if abs(self.mean) < MAX_SHIFT * std.value else MAX_SHIFT + 1
        if abs(shift) > MAX_SHIFT:
            return None
        return replace(like, std=std, shift=shift, everywhere=self.everywhere, seed=self.seed, layer=self.layer)


def split_by_recipe(values: Array, threshold: float, *, signed: bool) -> TailSplit:
    """Shin 2021, appendix E: entries up to the threshold become a Gaussian with the tensor's mean and std.

    signed  as printed, so that all negative entries are replaced; otherwise by magnitude
    """
    sizes = values if signed else np.abs(values)
    return TailSplit(values, sizes > threshold, float(values.mean()), float(values.std()), everywhere=False)


def split_by_theory(values: Array, tau: float, *, t: float | None = None) -> TailSplit:
    """Shin 2021, section 3.2: W(t) = sqrt(t) G + B, B the entries above tau in magnitude.

    t  the variance of the noise; None for that of the entries it stands for, about 0
    """
    kept = np.abs(values) > tau
    found = mean_square(values[~kept]) if t is None else t
    return TailSplit(values, kept, 0.0, math.sqrt(found), everywhere=True)


def largest_tau(values: Array, budget: float) -> float:
    """The largest magnitude of an entry that tau can be, so that tau^2 + t <= budget; 0 where none can.

    t is the mean square of the entries up to tau, as in split_by_theory; it grows with tau.
    """
    sizes = np.sort(np.abs(values), axis=None)
    squares = np.square(sizes)
    spent = squares + np.cumsum(squares) / np.arange(1, sizes.size + 1)
    # Equal magnitudes are on one side: what the last of them has spent counts for all.
    last = np.searchsorted(sizes, sizes, side="right") - 1
    fits = np.flatnonzero(spent[last] <= budget)
    return float(sizes[fits[-1]]) if fits.size else 0.0


def mean_square(values: Array) -> float:
    return float(np.square(values).mean()) if values.size else 0.0
