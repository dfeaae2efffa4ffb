"""TernarySearch: a sparse head of signs, found by changing the message itself until the bound stops falling."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.coding.format import Compressed
from netpact.coding.format.loading import load_module
from netpact.coding.forms import MAX_PLACES, CodedTensor, Form, Ternary, TernaryMap, image_sides
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.datasets.arrays import rows_in_cache
from netpact.methods.annealing import anneal
from netpact.methods.approximations import UNIT_STEP, code_network
from netpact.methods.feature_cache import layer_inputs
from netpact.methods.fitting import zero_tensor
from netpact.methods.flips import Flips
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.method import METHODS
from netpact.methods.sign_code import MAP, SignCode
from netpact.methods.sign_training import train_signs
from netpact.methods.size_knobs import SizeKnob
from netpact.models import Architecture, OwnModule, parameter_grids
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_START_RATES = (5.0, 7.0, 3.5)  # nats of cross-entropy a nat of message is worth at the start, by restart


@METHODS.add
@dataclass(frozen=True)
class TernarySearch:
    """Replace the last linear layer by a sparse matrix of signs without bias, searched on the training samples.

    The search starts from signs that were trained by gradient under a price for bits. Every step looks at many single
    changes of one row (-1, 0 or 1 in one place), counts the errors each would leave and the bits it would cost, and
    takes one at random, better ones far more likely, ever more greedily. What is lowered is the certified bound itself,
    so errors and bits are traded at the price that the bound puts on them.

    steps      changes tried in each restart
    restarts   independent searches; the one with the lowest bound is kept
    bit_price  how dear a bit is compared with what the bound says; below 1 gives larger messages with fewer errors
    body_bits  bits of the grid for the layers before the last one; 4 by default, 2 for a ternary one
    body_grid  that grid: "uniform", "codebook" or "ternary"; see Quantize
    seed       of the search; the result is in the message, so the seed is not
    """

    steps: int = 4000
    restarts: int = 2
    bit_price: float = 1.0
    body_bits: int | None = None
    seed: int = 0
    body_grid: str = "uniform"
    name: ClassVar[str] = "ternary-search"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("bit_price", (0.3, 1.0, 3.0)), SizeKnob("body_bits", (3, 2)))

    def __post_init__(self) -> None:
        for option, least in (("steps", 1), ("restarts", 1), ("seed", 0)):
            check_integer(getattr(self, option), where=option, least=least)
        check_number(self.bit_price, where="bit_price", above=0, below=1e6)
        self._body_grid()
        if self.body_bits is None:
            object.__setattr__(self, "body_bits", default_bits(self.body_grid))

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if samples is None:
            raise PactError("this method searches on the training samples and was given none", where=self.name)
        head = network.layers[-1]
        if head.kind != "linear":
            raise PactError(f"the last layer must be linear, {head.name} is {head.kind}", where=self.name)
        refuse_shared_head(network, where=self.name)
        body = code_network(network, self._body_grid())
        features, labels = head_inputs(_decoded(network, body), head.name, samples)
        image = head_image(body.architecture, head.name)
        flips = Flips(features, labels, classes=head.shape[0], image=image)
        trained = network.module.get_submodule(head.name).get_parameter("weight").detach().numpy().astype(np.float64)
        signs = search_signs(flips, trained, self, progress)
        return replace_head(body, head.name, signs)

    def _body_grid(self) -> Grid:
        return make_grid(self.body_grid, bits=self.body_bits)


def refuse_shared_head(network: Network, *, where: str) -> None:
    """Signs are searched for the last layer's inputs alone; the same weights elsewhere would change with them."""
    head = network.layers[-1]
    if network.is_shared(head.index):
        raise PactError(
            f"the weights of the last layer, {head.name}, also serve elsewhere in the network",
            where=where,
            hint="give the last layer weights of its own",
        )


def head_image(architecture: Architecture | OwnModule, name: str) -> tuple[int, int]:
    """Rows and columns of the maps that the named layer's inputs are, as far as the architecture tells; else 1 x 1."""
    if not isinstance(architecture, Architecture):
        return 1, 1
    rows, columns = image_sides(parameter_grids(architecture)[f"{name}.weight"])
    return (rows, columns) if rows * columns <= MAX_PLACES else (1, 1)


def replace_head(body: Compressed, name: str, signs: NDArray[np.int8]) -> Compressed:
    """The same network with the named linear layer coded as signs, without bias."""
    tensors = dict(body.tensors)
    form = sign_form(signs, head_image(body.architecture, name))
    tensors[f"{name}.weight"] = CodedTensor(form, signs.ravel().astype(np.int64), signs.shape)
    bias = f"{name}.bias"
    if bias in tensors:
        tensors[bias] = zero_tensor(tensors[bias].shape)
    return replace(body, tensors=tensors)


def sign_form(signs: NDArray[np.int8], image: tuple[int, int]) -> Form:
    """The form in which these signs are shortest."""
    if image == (1, 1):
        return Ternary(UNIT_STEP)
    classes, features = signs.shape
    template = SignCode((classes, features), rows=image[0], columns=image[1]).cheapest(signs).template
    return TernaryMap(UNIT_STEP) if template == MAP else template


def search_signs(
    flips: Flips, trained: NDArray[np.float64], options: TernarySearch, progress: Progress | None
) -> NDArray[np.int8]:
    """The signs with the lowest bound among all restarts; `trained` is where the training of the signs starts."""
    total = options.steps * options.restarts
    results = []
    for restart in range(options.restarts):

        def report(done: int, _: int, before: int = restart * options.steps) -> None:
            if progress is not None:
                progress(before + done, total)

        seed = Seed(options.seed).child("ternary-search", restart)
        rate = options.bit_price * _START_RATES[restart % len(_START_RATES)]
        start = train_signs(flips, trained, rate=rate, seed=seed.child("start"))
        random = seed.numpy()
        found = anneal(flips, start, steps=options.steps, bit_price=options.bit_price, random=random, progress=report)
        results.append(found)
    return min(results, key=lambda found: found.score).signs


def _decoded(network: Network, body: Compressed) -> nn.Module:
    return load_module(body, copy.deepcopy(network.module))


@torch.no_grad()
def head_inputs(module: nn.Module, name: str, samples: Samples) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """What the named linear layer receives for every sample, and the labels. Its output must be the logits."""
    batches = samples.batches(rows_in_cache(samples.input_shape))
    found = [(layer_inputs(module, name, inputs), truth) for inputs, truth in batches]
    return np.concatenate([features for features, _ in found]), np.concatenate([truth for _, truth in found])
