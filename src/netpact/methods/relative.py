"""QuantizeDifference: what a network has learned beyond a base network, rounded to an even grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, Relative, Uniform
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.fitting import fit_uniform_step, round_uniform
from netpact.models import OwnModule
from netpact.network import Network
from netpact.pacts.priors import Base

if TYPE_CHECKING:
    from netpact.datasets import Samples

_LEAST, _MOST = 2, 16
_ANY_STEP = ShortFloat(exponent=0, mantissa=0)


@dataclass(frozen=True, eq=False)
class QuantizeDifference:
    """Every parameter as the base's plus a whole number of steps; where nothing changed, a symbol costs almost nothing.

    base  the network that was there before the data; it is not written into the file, but a helper's split is
    bits  2 to 16 bits for each difference before entropy coding
    """

    base: Base
    bits: int = 4
    name: ClassVar[str] = "quantize-difference"

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not _LEAST <= self.bits <= _MOST:
            raise PactError(f"{_LEAST} to {_MOST} are allowed, got {self.bits!r}", where="bits")
        if not isinstance(self.base, Base):
            raise PactError(f"a Base is needed, got {type(self.base).__name__}", where="base", hint="open_base(path)")

    def __repr__(self) -> str:
        return f"QuantizeDifference(base={self.base.name!r}, bits={self.bits})"

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if isinstance(network.architecture, OwnModule) or any(True for _ in network.module.buffers()):
            raise PactError("only netpact's own architectures can be told relative to a base", where=network.name)
        tensors = {}
        for name, parameter in network.module.named_parameters():
            own = parameter.detach().numpy().astype(np.float64)
            tensors[name] = self._code(own - self.base.tensor(name, own.shape))
        split = None if self.base.recipe is None else self.base.recipe.split
        return Compressed(network.architecture, tensors, split=split)

    def _code(self, difference: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> CodedTensor:
        form = fit_uniform_step(difference, bits=self.bits)
        # Zero would mean a weight of 0: a tensor equal to the base's has the base's weights, in steps of any size.
        if not isinstance(form, Uniform):
            form = Uniform(_ANY_STEP)
        rounded = round_uniform(difference, form, bits=self.bits)
        return CodedTensor(Relative(form.step), rounded.symbols, difference.shape)
