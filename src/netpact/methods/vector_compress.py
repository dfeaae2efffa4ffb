"""VectorCompress: a linear classifier with few entries, drawn at random (Arora et al. 2018, Algorithm 2, Lemma 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.algebra.vectors import check_gamma, draw_entries, lemma5_step
from netpact.coding.format import Compressed
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.methods.approximations import FewEntries, code_network
from netpact.methods.grids import UniformGrid
from netpact.methods.linear_classifier import LEMMA, find_classifier, largest_row, lemma_grid, scale_below
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True)
class VectorCompress:
    """Keep entries of a linear classifier at random, with a probability that grows with their square; the rest are 0.

    For each fixed input x and each class, with probability 1 - eta over the draw, the logit moves by at most
    gamma * (largest norm of a row) * |x|. Some of many inputs do fail. Biases take 8 bits.

    gamma  how far a logit may move, above 0 and up to 1
    eta    how often it may move further, above 0 and up to 1
    seed   of the draw; it is on the sender's side, and the file holds its outcome
    grid   "lemma": the even grid of Lemma 5, for which the above is proven; or any other for the entries that are kept
    bits   of another grid than that of the lemma
    """

    gamma: float = 0.5
    eta: float = 0.1
    seed: int = 0
    grid: str = LEMMA
    bits: int | None = None
    name: ClassVar[str] = "vector-compress"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("gamma", (0.25, 0.5, 1.0)),)

    def __post_init__(self) -> None:
        check_gamma(gamma=self.gamma, eta=self.eta)
        Seed(self.seed)
        lemma_grid(self.grid, bits=self.bits)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        name, weight = find_classifier(network, method=self.name)
        scale = largest_row(weight)
        if not scale:
            return code_network(network, UniformGrid())
        step = scale_below(scale * lemma5_step(gamma=self.gamma, entries=weight.shape[1]))
        random = Seed(self.seed).child(self.name).numpy()
        drawn = scale * draw_entries(weight / scale, gamma=self.gamma, eta=self.eta, random=random)
        return code_network(network, lemma_grid(self.grid, bits=self.bits, step=step), {name: FewEntries(drawn)})
