"""HeadOnBase: a sparse head of signs on the features of a base network."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.coding.format import Compressed
from netpact.coding.format.loading import load_module
from netpact.core.checks import check_flag
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import set_aside
from netpact.methods.approximations import BIAS_GRID
from netpact.methods.base_tensors import all_tensors, code_by_base, list_some, unchanged
from netpact.methods.feature_cache import FeatureCache
from netpact.methods.fitting import zero_tensor
from netpact.methods.flips import Flips
from netpact.methods.head_correction import Head, add_correction, search_correction
from netpact.methods.method import METHODS
from netpact.methods.relative import QuantizeDifference
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.ternary_search import (
    TernarySearch,
    head_image,
    refuse_shared_head,
    replace_head,
    search_signs,
)
from netpact.network import Network
from netpact.network.folding import fold_norms
from netpact.pacts.priors import Base

if TYPE_CHECKING:
    from netpact.datasets import Samples


@METHODS.add
@dataclass(frozen=True, eq=False)
class HeadOnBase:
    """All layers but the last are the base's; the last becomes a sparse matrix of signs without bias.

    The layers before the last are encoded as a difference of zero, some twenty bits for all of them together. The signs
    are trained and searched for as TernarySearch does it, on what the base makes of the training samples; with a
    helper, on those that the helper has not seen, which are the ones that its bound is about.

    Of the network that is compressed only the architecture counts, and of the base all but its last layer: the base
    may tell other classes, and any number of them. Features are real numbers, so run the result in float64, where near
    ties are rare: compress(..., arithmetic="float64").

    With keep_head the base's last layer stays, for a base that tells the same classes: the signs, times a step, are
    added to it, and the search starts from none.

    base       the network that was there before the data; it is not written into the file, but a helper's split is
    steps      changes tried in each restart
    restarts   independent searches; the one with the lowest bound is kept
    bit_price  how dear a bit is compared with what the bound says; below 1 gives larger messages with fewer errors
    seed       of the search; the result is in the message, so the seed is not
    keep_head  whether the base's own last layer is kept, and the signs are added to it
    cache      folder for the base's features, which are computed once for the same base, module and samples; default:
               one below netpact's cache folder; none: no folder
    """

    base: Base
    steps: int = 4000
    restarts: int = 2
    bit_price: float = 1.0
    seed: int = 0
    cache: str = ""
    keep_head: bool = False
    name: ClassVar[str] = "head-on-base"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("bit_price", (0.3, 1.0, 3.0)),)

    def __post_init__(self) -> None:
        # Bad options die here, with the words of the two methods that this one is made of.
        QuantizeDifference(self.base)
        self._search()
        FeatureCache(self.cache)
        check_flag(self.keep_head, where="keep_head")

    def __repr__(self) -> str:
        kept = ", keep_head=True" if self.keep_head else ""
        return (
            f"HeadOnBase(base={self.base.name!r}, steps={self.steps}, restarts={self.restarts}, "
            f"bit_price={self.bit_price}, seed={self.seed}{kept})"
        )

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if samples is None:
            raise PactError("this method searches on the training samples and was given none", where=self.name)
        head = network.layers[-1]
        before = [name for name, _ in network.module.named_parameters() if name.rpartition(".")[0] != head.name]
        if head.kind != "linear" or not before:
            raise PactError(
                f"needs a linear layer after at least one other; {network.name} ends in {head.name} ({head.kind}) "
                f"and has {len(network.layers)}",
                where=self.name,
                hint="ternary-search takes a network of one linear layer",
            )
        refuse_shared_head(network, where=self.name)
        body = self._encode_base(network, head.name)
        counted = samples if body.split is None else set_aside(samples, body.split)[1]
        module = load_module(body, copy.deepcopy(network.module), self.base)
        module = fold_norms(network, module.double())[0].float()  # the same features, sooner
        features, labels = self._features(module, head.name, counted, progress)
        image = head_image(body.architecture, head.name)
        if self.keep_head:
            last = Head(*_linear(module, head.name), features, labels, image)
            return add_correction(body, head.name, search_correction(last, self._search(), progress), image)
        flips = Flips(features, labels, classes=head.shape[0], image=image)
        # The base's own head may be about other classes: the search starts from nothing.
        signs = search_signs(flips, np.zeros(head.shape), self._search(), progress)
        return replace_head(body, head.name, signs)

    def _search(self) -> TernarySearch:
        return TernarySearch(steps=self.steps, restarts=self.restarts, bit_price=self.bit_price, seed=self.seed)

    def _encode_base(self, network: Network, head: str) -> Compressed:
        """The base itself, as a difference of zero; buffers that it lacks as they are, a new head as zeros for now."""
        parts = () if self.keep_head else network.module.get_submodule(head).named_parameters()
        own = {f"{head}.{name}" for name, _ in parts}
        shapes = {name: tuple(tensor.shape) for name, tensor in all_tensors(network.module).items()}
        missing = [
            f"{name} {shapes[name]}"
            for name, _ in network.module.named_parameters()
            if name not in own and not self.base.has(name, shapes[name])
        ]
        if missing:
            raise PactError(
                f"it lacks {list_some(missing)}, and all parameters"
                f"{'' if self.keep_head else f' but those of the last layer, {head},'} are taken from it",
                where=f"base {self.base.name}",
                hint="quantize-difference encodes what a base lacks by itself",
            )
        coded = {name: unchanged(shape) for name, shape in shapes.items() if self.base.has(name, shape)}
        return code_by_base(network, self.base, coded | {name: zero_tensor(shapes[name]) for name in own}, BIAS_GRID)

    def _features(
        self, module: nn.Module, head: str, samples: Samples, progress: Progress | None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        return FeatureCache(self.cache).features(module, head, samples, progress)


def _linear(module: nn.Module, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight and bias of a linear layer; zeros where it has no bias."""
    layer = module.get_submodule(name)
    weight = layer.get_parameter("weight").detach().numpy().astype(np.float64)
    bias = dict(layer.named_parameters()).get("bias")
    return weight, np.zeros(len(weight)) if bias is None else bias.detach().numpy().astype(np.float64)
