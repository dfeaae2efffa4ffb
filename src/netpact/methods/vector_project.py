"""VectorProject: a linear classifier encoded by its products with random signs (Arora et al. 2018, Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.algebra.stream import MAX_SEED
from netpact.algebra.vectors import (
    check_gamma,
    printed_project_count,
    printed_project_step,
    valid_project_count,
    valid_project_step,
)
from netpact.coding.format import Compressed
from netpact.coding.forms import Projection
from netpact.core.checks import check_flag, check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import Coefficients, code_network
from netpact.methods.grids import UniformGrid
from netpact.methods.linear_classifier import LEMMA, find_classifier, largest_row, lemma_grid, scale_below
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True)
class VectorProject:
    """Each row of a linear classifier becomes k integers, its products with k vectors of signs.

    The signs come from the helper stream: they are fixed before the data, and the message holds only their seed. For
    each fixed input x and each class, with probability 1 - eta over the signs, the logit moves by at most
    gamma * (largest norm of a row) * |x|. Biases take 8 bits.

    gamma       how far a logit may move, above 0 and up to 1
    eta         how often it may move further, above 0 and up to 1
    seed        of the signs, 0 to 2^32 - 1
    as_printed  k = 16 ln(1/eta) / gamma^2 and products rounded to gamma / (2 sqrt(h k)), as the paper has it;
                otherwise a k that is proven, and multiples of gamma/8, which take far fewer bits
    grid        "lemma": these multiples; or any other grid for the products, about which nothing is proven
    bits        of another grid than that of the lemma
    """

    gamma: float = 1.0
    eta: float = 0.1
    seed: int = 0
    as_printed: bool = False
    grid: str = LEMMA
    bits: int | None = None
    name: ClassVar[str] = "vector-project"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("gamma", (0.6, 0.8, 1.0)),)

    def __post_init__(self) -> None:
        check_gamma(gamma=self.gamma, eta=self.eta)
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)
        check_flag(self.as_printed, where="as_printed")
        lemma_grid(self.grid, bits=self.bits)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        name, weight = find_classifier(network, method=self.name)
        scale = largest_row(weight)
        if not scale:
            return code_network(network, UniformGrid())
        count, width = self._count(weight.shape[1])
        # W^ = (1/k) sum_i z_i v_i with z_i = width * scale * symbol_i
        step = scale_below(width * scale / count)
        draw = Projection(step, count, "signs", seed=self.seed, by_rows=True)
        products = draw.projector(weight.shape[1]).measure(weight) / count
        grid = lemma_grid(self.grid, bits=self.bits, step=step)
        return code_network(network, grid, {name: Coefficients(products, draw, weight.shape)})

    def _count(self, entries: int) -> tuple[int, float]:
        """How many products, and the multiples they are rounded to, for rows of norm at most 1."""
        if self.as_printed:
            count = printed_project_count(gamma=self.gamma, eta=self.eta)
            width = printed_project_step(gamma=self.gamma, entries=entries, count=count)
        else:
            count = valid_project_count(gamma=self.gamma, eta=self.eta)
            width = valid_project_step(gamma=self.gamma)
        if count > entries:
            raise PactError(
                f"gamma {self.gamma:g} and eta {self.eta:g} take {count:,} products for a row of {entries:,} weights",
                where="gamma",
                hint="allow more with gamma or eta, or use Quantize: the rows themselves are shorter",
            )
        return count, width
