"""The form of a tensor of which few entries are kept and the others are noise, which the decoder draws again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from netpact.algebra.stream import GAUSSIAN_UNIT, MAX_SEED, Stream
from netpact.coding import Coder, ShortFloat, code_flag, code_short_float, code_signed, code_uint
from netpact.coding.forms.form import FORMS, Effort, Form, Symbols, Weights, code_form, entry_count, expect
from netpact.coding.forms.nested import Nested
from netpact.core.checks import check_flag, check_integer

SHIFT_PARTS = 1 << 8  # a mean is a multiple of the noise's standard deviation over this
MAX_SHIFT = 1 << 20
_SHIFT_UNIT = round(1 / (SHIFT_PARTS * GAUSSIAN_UNIT))  # of a shift, in units of the table
_PURPOSE = "heavy-tail noise"
_BLOCK = 1 << 14  # entries that are drawn at once; even, so that a block begins with a word of the stream
_BLOCK_BYTES = 64  # for each of them
_STEPS = 60  # for each entry


@FORMS.add
@dataclass(frozen=True)
class KeptInNoise(Nested):
    """weight = that of the inner form + noise, or noise only where that of the inner form is 0; in float32.

    noise = std * (shift / 256 + g), g from the table of normal numbers, by the helper stream (seed, layer).

    inner       the form of the entries that are kept; the others are 0 in it
    everywhere  noise is added to the kept entries too
    """

    std: ShortFloat
    _: KW_ONLY
    shift: int = 0
    everywhere: bool = False
    seed: int = 0
    layer: int = 0
    tag: ClassVar[int] = 15
    name: ClassVar[str] = "heavy-tail"
    one_to_one: ClassVar[bool] = True
    since: ClassVar[int] = 3
    level: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self.everywhere, where="everywhere")
        check_integer(self.shift, where="shift", least=-MAX_SHIFT, most=MAX_SHIFT)
        for name, value in (("seed", self.seed), ("layer", self.layer)):
            check_integer(value, where=name, least=0, most=MAX_SEED)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> KeptInNoise:
        known = None if form is None else expect(form, cls)
        std = code_short_float(coder, None if known is None else known.std)
        shift = code_signed(coder, None if known is None else known.shift)
        everywhere = code_flag(coder, None if known is None else known.everywhere)
        seed = code_uint(coder, None if known is None else known.seed)
        layer = code_uint(coder, None if known is None else known.layer)
        inner = code_form(coder, None if known is None else known.inner, below=cls.level)
        return cls(inner, std, shift=shift, everywhere=everywhere, seed=seed, layer=layer)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """That of the inner form, and of noise that is drawn in blocks."""
        entries = entry_count(grid)
        work, memory = self.inner.effort(grid)
        return Effort(work + _STEPS * entries, memory + _BLOCK_BYTES * min(entries, _BLOCK))

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        kept = self.inner.weights(symbols, shape)  # a new array, to be written to
        flat = kept.reshape(-1)
        for here, noise in self._noise(flat.size):
            own = flat[here]
            if self.everywhere:
                noise += own
            else:
                np.copyto(noise, own, where=own != 0)
            with np.errstate(over="ignore"):  # infinity is refused where a module is filled
                own[:] = noise.astype(np.float32)
        return flat.reshape(shape)

    def _noise(self, count: int) -> Iterator[tuple[slice, Weights]]:
        """Integers below 2^33 times a number of five bits: exact, before the sum is rounded to float32."""
        stream = Stream(self.seed, _PURPOSE, self.layer)
        for start in range(0, count, _BLOCK):
            here = slice(start, min(start + _BLOCK, count))
            drawn = stream.gaussians(start, here.stop - start)
            drawn += self.shift * _SHIFT_UNIT
            yield here, drawn.astype(np.float64) * (self.std.value * GAUSSIAN_UNIT)
