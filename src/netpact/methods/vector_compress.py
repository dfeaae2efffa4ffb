"""VectorCompress: a linear classifier with few entries, drawn at random (Arora et al. 2018, Algorithm 2, Lemma 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.algebra.vectors import check_gamma, compress_to_grid, lemma5_step
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, Uniform
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.methods.linear_classifier import find_classifier, largest_row, scale_below
from netpact.methods.quantize import Quantize
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples


@dataclass(frozen=True)
class VectorCompress:
    """Entries of a linear classifier are kept with a probability that grows with their square, the others are 0.

    For each fixed input x and each class, with probability 1 - eta over the draw, the logit moves by at most
    gamma * (largest norm of a row) * |x|. Some of many inputs do fail. Biases take 8 bits.

    gamma  how far a logit may move, above 0 and up to 1
    eta    how often it may move further, above 0 and up to 1
    seed   of the draw; it is on the sender's side, and the file holds its outcome
    """

    gamma: float = 0.5
    eta: float = 0.1
    seed: int = 0
    name: ClassVar[str] = "vector-compress"

    def __post_init__(self) -> None:
        check_gamma(gamma=self.gamma, eta=self.eta)
        Seed(self.seed)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        name, weight = find_classifier(network, method=self.name)
        coded = dict(Quantize().compress(network).tensors)
        scale = largest_row(weight)
        if scale > 0:
            step = scale_below(scale * lemma5_step(gamma=self.gamma, entries=weight.shape[1]))
            symbols = compress_to_grid(
                weight / scale,
                gamma=self.gamma,
                eta=self.eta,
                step=step.value / scale,
                random=Seed(self.seed).child(self.name).numpy(),
            )
            coded[name] = CodedTensor(Uniform(step), symbols.ravel(), weight.shape)
        return Compressed(network.architecture, coded)
