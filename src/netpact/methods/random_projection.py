"""RandomProjection: each layer encoded by its products with random matrices (Arora et al. 2018, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.algebra.projection import valid_count
from netpact.algebra.stream import MAX_SEED
from netpact.coding.format import Compressed
from netpact.coding.forms import VARIANTS, Projection
from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import UNIT_STEP, Coefficients, as_array, code_network
from netpact.methods.choices import settle_bits
from netpact.methods.fitting import Array
from netpact.methods.grids import make_grid
from netpact.methods.layer_budgets import MEASURED_BUDGETS, MeasuredShares, samples_to_measure, split_budget
from netpact.methods.method import METHODS
from netpact.methods.projection_amounts import BUDGETS, CUSHIONS, EQUAL, SIZE, check_gamma, check_keep, check_total
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_KEEP = 0.5
# The probability that an accuracy is missed: that of a fixed product of a layer, or that of the outputs.
_FAILURE = 0.01


@METHODS.add
@dataclass(frozen=True)
class RandomProjection:
    """Each weight tensor becomes k numbers, its products with k random matrices that the decoder regenerates.

    Their number is given in one of three ways, by default keep=0.5:

    keep     an integer for all layers together, a fraction of the weights, or a tuple with one count for each layer
    eps      an accuracy, which is missed with a probability of 1 %; for variant "signs", for which it is proven
    gamma    a margin: eps is what Lemma 10 of Arora et al. 2018 asks for, gamma / (sqrt(2) max|f|), budget "cushions"

    budget   "size": layers share by their sizes, and eps is that of each layer: a fixed product u^T A v is right
             within eps |A|_F |u| |v| (`valid_count`).
             "equal": every layer gets as many as the others, as far as it has weights; on the networks tried this keeps
             most at equal size, as small layers are left whole
             "cushions": layers share a total by their effective parameters, measured on the samples, and eps is that
             of the outputs: |f - f^| <= eps |f|, with the counts that Lemma 3 needs
    variant  "hadamard": fast, smaller errors; "signs": independent signs, as printed
    grid     "uniform", "codebook" or "ternary": how the numbers are written; see Quantize
    bits     for each number before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8, ternary 2
    rate     the price of a bit, in squared steps; see Quantize
    seed     of the matrices; it is coded in the message

    A layer with as many numbers as weights is rounded as by `Quantize(bits, grid)`, and so are biases and all others.
    """

    keep: int | float | tuple[int, ...] | None = None
    eps: float | None = None
    variant: str = "hadamard"
    bits: int | None = None
    seed: int = 0
    gamma: float | None = None
    budget: str | None = None
    grid: str = "uniform"
    rate: float = 0.0
    name: ClassVar[str] = "random-projection"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("keep", (0.75, 0.5, 0.25, 0.1), {"budget": EQUAL, "bits": 5}),)

    def __post_init__(self) -> None:
        check_choice(self.variant, VARIANTS, where="variant")
        settle_bits(self, self.grid, self.bits, rate=self.rate)
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)
        if self.budget is None:
            object.__setattr__(self, "budget", SIZE if self.gamma is None else CUSHIONS)
        check_choice(self.budget, BUDGETS, where="budget")
        self._check_amount()

    def _check_amount(self) -> None:
        amounts = {"keep": self.keep, "eps": self.eps, "gamma": self.gamma}
        given = [option for option, value in amounts.items() if value is not None]
        if len(given) > 1:
            raise PactError(f"one of {', '.join(amounts)} is given, not {' and '.join(given)}", where=given[0])
        if not given:
            object.__setattr__(self, "keep", _KEEP)
        elif self.keep is not None:
            check_keep(self.keep, budget=self.budget or SIZE)
        elif self.variant != "signs":
            raise PactError('an accuracy is proven for variant="signs" only', where=given[0], hint="or give keep")
        elif self.budget == EQUAL:
            raise PactError('budget="equal" shares a total', where=given[0], hint="give keep")
        elif self.eps is not None:
            valid_count(eps=self.eps, eta=_FAILURE)
        else:
            assert self.gamma is not None
            check_gamma(self.gamma)
            if self.budget != CUSHIONS:
                raise PactError('a margin is kept with budget="cushions" only', where="budget", hint="leave it out")

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        sizes = tuple(tensor.numel() for tensor in weights.values())
        if self.budget == CUSHIONS:
            given = samples_to_measure(network, samples, of_outputs=self.keep is None, instead='budget="size"')
            measured = MEASURED_BUDGETS[CUSHIONS].measure(network, given, tuple(weights), progress)
            counts = self._counts_by_cushions(measured, sizes)
        else:
            counts = self._counts(sizes)
        projected = {
            name: self._project(as_array(tensor), count=counts[layer], layer=layer)
            for layer, (name, tensor) in enumerate(weights.items())
            if counts[layer] < tensor.numel()
        }
        return code_network(network, make_grid(self.grid, bits=self.bits, rate=self.rate), projected)

    def _counts_by_cushions(self, cushions: MeasuredShares, sizes: tuple[int, ...]) -> tuple[int, ...]:
        delta = 2 * _FAILURE  # Lemma 3 holds but for a probability of delta/2
        if self.gamma is not None:
            return cushions.count_for_gamma(self.gamma, delta=delta, caps=sizes)
        if self.eps is not None:
            return cushions.count_for_output(self.eps, delta=delta, caps=sizes)
        return cushions.split(self._total(sizes), caps=sizes)

    def _total(self, sizes: tuple[int, ...]) -> int:
        assert self.keep is not None
        assert not isinstance(self.keep, tuple)
        total = self.keep if isinstance(self.keep, int) else max(len(sizes), round(self.keep * sum(sizes)))
        check_total(total, sizes)
        return total

    def _counts(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """How many coefficients each layer gets; as many as it has weights where projecting does not pay."""
        if self.eps is not None:
            return tuple(min(size, valid_count(eps=self.eps, eta=_FAILURE)) for size in sizes)
        if isinstance(self.keep, tuple):
            if len(self.keep) != len(sizes):
                raise PactError(
                    f"the network has {len(sizes)} layers with weights, {len(self.keep)} counts are given", where="keep"
                )
            return tuple(min(pair) for pair in zip(self.keep, sizes, strict=True))
        assert self.keep is not None
        if self.budget == SIZE and not isinstance(self.keep, int):
            return tuple(max(1, round(self.keep * size)) for size in sizes)
        total = self._total(sizes)
        return split_budget(total, weights=sizes if self.budget == SIZE else [1.0] * len(sizes), caps=sizes)

    def _project(self, values: Array, *, count: int, layer: int) -> Coefficients:
        draw = Projection(UNIT_STEP, count, self.variant, seed=self.seed, layer=layer)
        draw.symbol_count(values.shape)  # refuses what a decoder would refuse, before the work
        # weights = sum_i coefficient_i M_i, and coefficient_i stands for <A, M_i> / count.
        products = draw.projector(values.size).measure(values.reshape(1, -1)) / count
        return Coefficients(products, draw, values.shape)
