"""Quantize: every weight of a trained network to the nearest point of a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import Tensor

from netpact.coding.format import Compressed
from netpact.coding.forms import MAX_CODEBOOK_BITS, CodedTensor, Zero
from netpact.core.errors import PactError, one_of
from netpact.core.progress import Progress
from netpact.methods import fitting
from netpact.methods.fitting import Array
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

BIAS_BITS = 8  # biases are few, and their errors are not averaged away

# Which numbers of bits each grid takes.
GRIDS: dict[str, range] = {"uniform": range(2, 17), "codebook": range(1, MAX_CODEBOOK_BITS + 1), "ternary": range(2, 3)}


@dataclass(frozen=True)
class Quantize:
    """Round the weights of linear and conv layers to a grid, and biases to 8 bits; nothing is retrained.

    bits     uniform: 2 to 16 bits a weight before entropy coding; codebook: 1 to 8; ternary: always 2 (-1, 0, 1)
    grid     "uniform" (evenly spaced), "codebook" (2^bits values fitted to them), "ternary" (the largest, as signs)
    shared   one grid for all layers instead of one for each
    density  ternary: the share of weights that is kept
    """

    bits: int | None = None
    grid: str = "uniform"
    shared: bool = False
    density: float = 0.3
    name: ClassVar[str] = "quantize"

    def __post_init__(self) -> None:
        if self.grid not in GRIDS:
            raise one_of(self.grid, GRIDS, option="grid")
        if self.bits is None:
            object.__setattr__(self, "bits", 2 if self.grid == "ternary" else 4)
        allowed = GRIDS[self.grid]
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or self.bits not in allowed:
            raise PactError(
                f"{allowed.start} to {allowed.stop - 1} are allowed for the {self.grid} grid, got {self.bits!r}",
                where="bits",
            )
        if not isinstance(self.shared, bool):
            raise PactError(f"true or false is needed, got {self.shared!r}", where="shared")
        if isinstance(self.density, bool) or not isinstance(self.density, (int, float)) or not 0 < self.density <= 1:
            raise PactError(f"a share above 0 and up to 1 is needed, got {self.density!r}", where="density")

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        parameters = dict(network.module.named_parameters())
        weights = {name: _array(tensor) for name, tensor in parameters.items() if tensor.dim() >= 2}
        others = {name: _array(tensor) for name, tensor in parameters.items() if tensor.dim() < 2}
        coded = self._code_weights(weights) | _code_evenly(others, bits=BIAS_BITS, shared=self.shared)
        coded |= {name: code_buffer(tensor) for name, tensor in network.module.named_buffers()}
        order = [name for name, _ in [*network.module.named_parameters(), *network.module.named_buffers()]]
        return Compressed(network.architecture, {name: coded[name] for name in order})

    def _code_weights(self, weights: dict[str, Array]) -> dict[str, CodedTensor]:
        if self.grid == "uniform":
            return _code_evenly(weights, bits=self._bits, shared=self.shared)
        if self.grid == "codebook":
            return _fit(
                weights,
                lambda values: fitting.fit_codebook(values, bits=self._bits),
                fitting.round_codebook,
                shared=self.shared,
            )
        if self.grid == "ternary":
            return self._code_ternary(weights)
        raise one_of(self.grid, GRIDS, option="grid")

    def _code_ternary(self, weights: dict[str, Array]) -> dict[str, CodedTensor]:
        symbols = {name: fitting.ternary_symbols(values, density=self.density) for name, values in weights.items()}
        if self.shared:
            together = np.concatenate([values.ravel() for values in weights.values()])
            form = fitting.fit_ternary_step(together, np.concatenate(list(symbols.values())))
            forms = dict.fromkeys(weights, form)
        else:
            forms = {name: fitting.fit_ternary_step(values, symbols[name]) for name, values in weights.items()}
        return {
            name: fitting.zero_tensor(values.shape)
            if isinstance(forms[name], Zero)
            else CodedTensor(forms[name], symbols[name], values.shape)
            for name, values in weights.items()
        }

    @property
    def _bits(self) -> int:
        assert self.bits is not None
        return self.bits


def code_buffer(tensor: Tensor) -> CodedTensor:
    """Buffers are kept exactly: running statistics are few, and counters must stay whole."""
    values = tensor.detach().numpy()
    if tensor.is_floating_point():
        return fitting.keep_exact(values.astype(np.float32))
    return fitting.keep_integers(values.astype(np.int64))


def _code_evenly(tensors: dict[str, Array], *, bits: int, shared: bool) -> dict[str, CodedTensor]:
    return _fit(
        tensors,
        lambda values: fitting.fit_uniform_step(values, bits=bits),
        lambda values, form: fitting.round_uniform(values, form, bits=bits),
        shared=shared,
    )


def _fit(
    tensors: dict[str, Array],
    fit: Callable[[Array], fitting.FormT],
    apply: Callable[[Array, fitting.FormT], CodedTensor],
    *,
    shared: bool,
) -> dict[str, CodedTensor]:
    """Fit one form to all tensors together, or one to each, and round every tensor to its form."""
    if not tensors:
        return {}
    if shared:
        form = fit(np.concatenate([values.ravel() for values in tensors.values()]))
        return {name: apply(values, form) for name, values in tensors.items()}
    return {name: apply(values, fit(values)) for name, values in tensors.items()}


def _array(tensor: Tensor) -> Array:
    return tensor.detach().numpy().astype(np.float64)
