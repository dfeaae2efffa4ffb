"""LowRankDifference: what each layer has learned beyond a base network, as a product of narrow factors."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from netpact.algebra.singular_values import SingularValues, decompose
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, matrix_sides
from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import set_aside
from netpact.methods.approximations import as_array, beyond_base
from netpact.methods.base_tensors import code_by_base, difference, refuse_foreign_base
from netpact.methods.factor_training import SoftFactors
from netpact.methods.fitting import Array
from netpact.methods.grids import UniformGrid
from netpact.methods.low_rank_fitting import round_low_rank
from netpact.methods.method import METHODS
from netpact.methods.rate_aware import RateAware, settle_symbols
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network
from netpact.pacts.priors import Base

if TYPE_CHECKING:
    from netpact.datasets import Samples

_BITS, _MOST_BITS = 8, 16  # of factors that are rounded
_TRAINED_BITS, _MOST_TRAINED_BITS = 3, 8  # of factors that are trained as symbols
_BUFFER_BITS = 8  # about what a running statistic takes beside the base's


@METHODS.add
@dataclass(frozen=True)
class LowRankDifference:
    """Each weight matrix as the base's plus a product of two narrow matrices (LoRA, Hu et al. 2022).

    Without epochs: the largest singular values of the difference, rounded; no data are needed. With epochs the factors
    are trained further as integer symbols, by cross-entropy plus the length of the message, as RateAware trains
    weights. That takes labels, and everything that is learned from them is in the message.

    A convolution is out x (in * taps). Where a product of this rank has no fewer numbers than the difference itself,
    the difference is written entry by entry, and so are vectors. Tensors that are equal to the base's stay so; those
    that the base lacks are written by themselves.

    base           the network that was there before the data; it is not written into the file, but a helper's split is
    rank           of each difference, at most
    bits           for each number of the factors: 2 to 16, by default 8; trained: 2 to 8, by default 3
    epochs         passes over the training samples; 0: no training
    rate           trained: the price of a bit; 1 sets a nat of the message equal to a nat of cross-entropy
    learning_rate  trained: of Adam, in units of symbols; falls to 0 along a cosine
    seed           trained: of the order of the samples
    """

    base: Base
    rank: int = 4
    bits: int | None = None
    epochs: int = 0
    rate: float = 1.0
    learning_rate: float = 0.05
    seed: int = 0
    name: ClassVar[str] = "low-rank-difference"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("rank", (8, 4, 2, 1)),)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Base):
            raise PactError(f"must be a Base, got {type(self.base).__name__}", where="base", hint="open_base(path)")
        check_integer(self.rank, where="rank", least=1)
        check_integer(self.epochs, where="epochs", least=0)
        if self.bits is None:
            object.__setattr__(self, "bits", _TRAINED_BITS if self.epochs else _BITS)
        most = _MOST_TRAINED_BITS if self.epochs else _MOST_BITS
        check_integer(self.bits, where="bits", least=2, most=most)
        self._training()

    def __repr__(self) -> str:
        told = f"LowRankDifference(base={self.base.name!r}, rank={self.rank}, bits={self.bits}"
        trained = f", epochs={self.epochs}, rate={self.rate}, learning_rate={self.learning_rate}, seed={self.seed}"
        return told + (trained if self.epochs else "") + ")"

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        refuse_foreign_base(network, self.base)
        assert self.bits is not None
        grid, parts = UniformGrid(self.bits), self._divide(network)
        if self.epochs:
            return code_by_base(network, self.base, self._train(network, parts, samples, progress), grid)
        rounded = {
            name: beyond_base(round_low_rank(found, parts.ground[name].shape, bits=self.bits))
            for name, found in parts.products.items()
        }
        return code_by_base(network, self.base, rounded, grid)

    def _divide(self, network: Network) -> _Parts:
        parts = _Parts({}, {}, {})
        for name, parameter in network.module.named_parameters():
            values = as_array(parameter)
            if not parameter.is_floating_point() or not values.size:
                continue
            if not self.base.has(name, values.shape):
                parts.entries[name] = values
                continue
            beyond = difference(self.base, name, values)
            if not beyond.any():
                continue
            parts.ground[name] = self.base.tensor(name, values.shape)
            rows, columns = matrix_sides(values.shape)
            if self.rank * (rows + columns) < rows * columns:
                parts.products[name] = decompose(beyond.reshape(rows, columns)).truncate(self.rank)
            else:
                parts.entries[name] = beyond
        return parts

    def _train(
        self, network: Network, parts: _Parts, samples: Samples | None, progress: Progress | None
    ) -> dict[str, CodedTensor]:
        if samples is None:
            raise PactError(
                "to train the factors it needs the training samples", where=self.name, hint="epochs=0 needs none"
            )
        if not parts.products and not parts.entries:
            return {}
        options = self._training()
        recipe = self.base.recipe
        # With a helper, on the samples that its bound is about.
        counted = samples if recipe is None else set_aside(samples, recipe.split)[1]
        buffers = sum(tensor.numel() for tensor in network.module.buffers() if tensor.is_floating_point())
        symbols = SoftFactors(*parts, levels=options.levels, other_bits=_BUFFER_BITS * buffers)
        module = copy.deepcopy(network.module).requires_grad_(False)
        settle_symbols(module, symbols, counted, options, progress)
        return symbols.code()

    def _training(self) -> RateAware:
        assert self.bits is not None
        levels = (1 << (min(self.bits, _MOST_TRAINED_BITS) - 1)) - 1
        how = {"rate": self.rate, "learning_rate": self.learning_rate}
        return RateAware(epochs=max(1, self.epochs), levels=levels, seed=self.seed, **how)


class _Parts(NamedTuple):
    """The base's tensors beside which others are written; differences as products; what is written entry by entry."""

    ground: dict[str, Array]
    products: dict[str, SingularValues]
    entries: dict[str, Array]
