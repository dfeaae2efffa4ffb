"""RandomProjection: each layer told by its products with random matrices (Arora et al. 2018, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.algebra.projection import valid_count
from netpact.coding import ShortFloat
from netpact.errors import PactError, one_of
from netpact.format import Compressed
from netpact.forms import VARIANTS, CodedTensor, Projection, Zero
from netpact.methods.fitting import Array, fit_uniform_step, round_uniform, zero_tensor
from netpact.methods.layer_budgets import split_budget
from netpact.methods.quantize import Quantize
from netpact.network import Network
from netpact.progress import Progress
from netpact.stream import MAX_SEED

if TYPE_CHECKING:
    from netpact.datasets import Samples

_KEEP = 0.5
_ETA = 0.01  # the probability, for each fixed product, that it is missed by more than eps
_ANY_STEP = ShortFloat(exponent=0, mantissa=0)


@dataclass(frozen=True)
class RandomProjection:
    """Each weight tensor becomes k whole numbers, its products with k random matrices that the decoder makes again.

    keep     how many such numbers: a whole number for all layers together, a fraction of each layer's weights, or a
             tuple with one count for each layer (`split_budget` makes one); by default half of the weights
    eps      instead of keep: as many as make each fixed product u^T A v right within eps |A|_F |u| |v| with
             probability 99 % (`valid_count`); only for variant "signs", for which it is proven
    variant  "hadamard": fast, smaller errors; "signs": independent signs, as printed
    bits     2 to 16 bits for each number before entropy coding
    seed     of the matrices; it is coded in the message

    A layer with as many numbers as weights is rounded as by `Quantize(bits)`, and so are biases and all others.
    """

    keep: int | float | tuple[int, ...] | None = None
    eps: float | None = None
    variant: str = "hadamard"
    bits: int = 8
    seed: int = 0
    name: ClassVar[str] = "random-projection"

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise one_of(self.variant, VARIANTS, option="variant")
        Quantize(bits=self.bits)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed <= MAX_SEED:
            raise PactError(f"a whole number from 0 to 2^32 - 1 is needed, got {self.seed!r}", where="seed")
        if self.eps is not None:
            valid_count(eps=self.eps, eta=_ETA)
            if self.keep is not None:
                raise PactError("either keep or eps is given, not both", where="keep")
            if self.variant != "signs":
                raise PactError('an accuracy is proven for variant="signs" only', where="eps", hint="or give keep")
        elif self.keep is None:
            object.__setattr__(self, "keep", _KEEP)
        elif not _is_budget(self.keep):
            raise PactError(
                f"a whole number from 1 up, a fraction above 0 and up to 1, or a tuple of counts is needed, "
                f"got {self.keep!r}",
                where="keep",
            )

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        plain = Quantize(bits=self.bits).compress(network)
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        counts = self._counts(tuple(tensor.numel() for tensor in weights.values()))
        projected = {
            name: self._project(tensor.detach().numpy().astype(np.float64), count=counts[layer], layer=layer)
            for layer, (name, tensor) in enumerate(weights.items())
            if counts[layer] < tensor.numel()
        }
        return replace(plain, tensors={**plain.tensors, **projected})

    def _counts(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """How many coefficients each layer gets; as many as it has weights where projecting does not pay."""
        if self.eps is not None:
            return tuple(min(size, valid_count(eps=self.eps, eta=_ETA)) for size in sizes)
        if isinstance(self.keep, tuple):
            if len(self.keep) != len(sizes):
                raise PactError(
                    f"the network has {len(sizes)} layers with weights, {len(self.keep)} counts are given", where="keep"
                )
            return tuple(min(pair) for pair in zip(self.keep, sizes, strict=True))
        if isinstance(self.keep, int):
            if self.keep < len(sizes):
                raise PactError(f"{len(sizes)} layers need at least as many numbers, got {self.keep}", where="keep")
            return split_budget(self.keep, weights=sizes, caps=sizes)
        assert self.keep is not None
        return tuple(max(1, round(self.keep * size)) for size in sizes)

    def _project(self, values: Array, *, count: int, layer: int) -> CodedTensor:
        form = Projection(_ANY_STEP, count, self.variant, seed=self.seed, layer=layer)
        form.symbol_count(values.shape)  # refuses what a decoder would refuse, before the work
        # weights = step * sum_i symbol_i M_i: step * symbol_i stands for <A, M_i> / count.
        products = form.projector(values.size).measure(values.reshape(1, -1))[0] / count
        grid = fit_uniform_step(products, bits=self.bits)
        if isinstance(grid, Zero):
            return zero_tensor(values.shape)
        symbols = round_uniform(products, grid, bits=self.bits).symbols
        return CodedTensor(replace(form, step=grid.step), symbols, values.shape)


def _is_budget(keep: object) -> bool:
    if isinstance(keep, tuple):
        return bool(keep) and all(
            isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in keep
        )
    if isinstance(keep, bool) or not isinstance(keep, (int, float)):
        return False
    return keep >= 1 if isinstance(keep, int) else 0 < keep <= 1
