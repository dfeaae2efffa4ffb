"""All weights of a network as signs, trained from the start by gradient under a price for their code length.

For networks whose norms take out how large weights are (lnconv), so that -1, 0 and 1 are all that is needed. Of layers
that have a symmetry only the free entries are trained: see netpact.algebra.symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from netpact.algebra.symmetry import Symmetry
from netpact.certificates import risk_bound
from netpact.coding.forms import CodedTensor, Form, Symmetric
from netpact.core.errors import PactError
from netpact.core.progress import Progress, Stop
from netpact.core.seed import Seed
from netpact.datasets.arrays import rows_in_cache
from netpact.methods.sign_code import SignCode
from netpact.methods.sign_training import mark_prices
from netpact.methods.ternary_search import sign_form
from netpact.training.evaluation import wrong
from netpact.training.memory import Memory

# Constants of the training. They steer it and appear in no bound.
_BATCH = 100
_EPOCHS, _FEWEST_STEPS, _MOST_STEPS = 30, 3_000, 15_000
_RATE = 0.01  # Adam's learning rate, in units of the step between two signs
_SPREAD = 0.5  # standard deviation of the starting entries: about a third of them round to a sign
_TEMPERATURE = 0.05  # of the logits at the start; learned
_RAMP = 0.25  # the share of the steps over which bits reach their price: which are needed is not known before
_REPRICE = 10  # steps between two looks at what entries cost
_SHARPNESS = 8.0  # of the smooth count of entries that round to a sign
_FARTHEST = 1.2  # beyond it no gradient would bring an entry back soon
_LOOKS, _JUDGED = 5, 0.9  # looks at the bound after this share of the steps: single steps differ by whole points
_HEADER_BITS = 100  # about what names of architecture and forms take
_DELTA = 0.05

Signs = NDArray[np.int8]


@dataclass(frozen=True)
class SignLayer:
    """A layer whose weights are signs.

    name      of its weights
    shape     of the weights
    grid      outputs, inputs and the sides of the kernel, or of the images that a linear layer's inputs are
    symmetry  what it commutes with, if anything
    """

    name: str
    shape: tuple[int, ...]
    grid: tuple[int, int, int, int]
    symmetry: Symmetry | None

    @property
    def free_grid(self) -> tuple[int, int, int, int]:
        return self.grid if self.symmetry is None else self.symmetry.free_grid(self.grid)

    @property
    def free_shape(self) -> tuple[int, int]:
        outputs, inputs, rows, columns = self.free_grid
        return outputs, inputs * rows * columns

    def owners(self) -> NDArray[np.int64]:
        """For every weight, the number of its free entry."""
        if self.symmetry is None:
            return np.arange(math.prod(self.shape)).reshape(self.shape)
        return self.symmetry.owners(self.grid).reshape(self.shape)

    def add_equals(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """What each free entry of an output's weights is multiplied with: the sum of the inputs whose weights equal it.

        Of a layer whose outputs no symmetry permutes.
        """
        own = self.owners().reshape(self.grid[0], -1)[0]
        equal = np.argsort(own, kind="stable").reshape(self.free_shape[1], -1)
        return np.asarray(features[:, equal].sum(axis=2))

    def code(self) -> SignCode:
        return SignCode(self.free_shape, rows=self.free_grid[2], columns=self.free_grid[3])

    def encode(self, signs: Signs) -> CodedTensor:
        """In the form in which they are shortest."""
        inner = sign_form(signs.reshape(self.free_shape), self.free_grid[2:])
        symbols = signs.ravel().astype(np.int64)
        if self.symmetry is None:
            return CodedTensor(inner, symbols, self.shape)
        rows, columns = (1, 1) if len(self.shape) == 4 else self.grid[2:]
        form: Form = Symmetric(inner, self.symmetry, rows=rows, columns=columns)
        return CodedTensor(form, symbols, self.shape)


class Found(NamedTuple):
    """The weights as a message holds them, and the errors of the network, near ties left out."""

    tensors: dict[str, CodedTensor]
    errors: int


def train_network_signs(
    module: nn.Module,
    layers: tuple[SignLayer, ...],
    data: Memory,
    *,
    rate: float,
    seed: Seed,
    steps: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Found:
    """Weights that lower cross-entropy plus `rate` times the message length, both in nats a sample.

    The module lends its structure; all its parameters are weights of these layers. Towards the end the signs are judged
    by the bound on the training samples, and the best are kept.

    steps  of gradient; by default as many as the number of samples is worth
    stop   asked after every step: where it is true, the entries are rounded as they are
    """
    steps = steps or min(max(_EPOCHS * data.count // _BATCH, _FEWEST_STEPS), _MOST_STEPS)
    generator = seed.torch()
    entries = [(_SPREAD * torch.randn(layer.free_shape, generator=generator)).requires_grad_() for layer in layers]
    log_scale = torch.tensor(math.log(_TEMPERATURE), requires_grad=True)
    network = _Network(module, layers)
    optimizer = torch.optim.Adam([*entries, log_scale], lr=_RATE)
    best = _Best(network, data)
    between = max(1, round((1 - _JUDGED) * steps / _LOOKS))
    for step, picked in enumerate(islice(_draw_batches(data.count, generator), steps), start=1):
        share = (step - 1) / steps
        optimizer.param_groups[0]["lr"] = _RATE * (1 - share)
        if step % _REPRICE == 1:
            prices = [_prices(layer, now) for layer, now in zip(layers, entries, strict=True)]
        inputs, labels = data.pick(picked)
        loss = functional.cross_entropy(log_scale.exp() * network(entries, inputs), labels)
        if not math.isfinite(loss.item()):
            raise PactError("the loss became NaN or infinite", where=f"step {step} of training signs")
        bits = sum((price * _marks(now)).sum() for price, now in zip(prices, entries, strict=True))
        optimizer.zero_grad()
        (loss + min(1.0, share / _RAMP) * rate * math.log(2) / data.count * bits).backward()
        optimizer.step()
        with torch.no_grad():
            for now in entries:
                now.clamp_(-_FARTHEST, _FARTHEST)
        if progress is not None:
            progress(step, steps)
        over = stop is not None and stop()
        if over or step == steps or (step >= _JUDGED * steps and (steps - step) % between == 0):
            best.look([_rounded(now) for now in entries])
        if over:
            break
    return best.found()


def _draw_batches(count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Numbers of samples, all of them in a new order once in every epoch, without end."""
    while True:
        yield from torch.randperm(count, generator=generator).tensor_split(max(1, count // _BATCH))


class _Network:
    """The module as a function of the free entries."""

    def __init__(self, module: nn.Module, layers: tuple[SignLayer, ...]) -> None:
        self._module, self.layers = module, layers
        self._owners = [torch.from_numpy(layer.owners().ravel()) for layer in layers]
        names = {name for name, _ in module.named_parameters()}
        if names != {layer.name for layer in layers}:
            raise PactError(f"the parameters are {sorted(names)}; all must be weights of sign layers", where="layers")

    def __call__(self, entries: list[Tensor], inputs: Tensor) -> Tensor:
        logits: Tensor = functional_call(self._module, self._weights(entries), (inputs,))
        return logits

    def _weights(self, entries: list[Tensor]) -> dict[str, Tensor]:
        """Rounded on the way forward; on the way back as if they were not (straight-through, Bengio et al. 2013)."""
        weights: dict[str, Tensor] = {}
        for layer, owners, now in zip(self.layers, self._owners, entries, strict=True):
            soft = now.clamp(-1, 1)
            hard = soft + (soft.round() - soft).detach()
            weights[layer.name] = hard.ravel()[owners].view(layer.shape)
        return weights


class _Best:
    """The signs with the lowest bound among those that were shown."""

    def __init__(self, network: _Network, data: Memory) -> None:
        self._network, self._data = network, data
        self._score, self._errors = math.inf, data.count
        self._signs: list[Signs] = []

    @torch.no_grad()
    def look(self, signs: list[Signs]) -> None:
        entries = [torch.from_numpy(one).float() for one in signs]
        errors, size = 0, rows_in_cache(self._data.input_shape)
        for start in range(0, self._data.count, size):
            inputs, labels = self._data.pick(slice(start, start + size))
            errors += int(wrong(self._network(entries, inputs), labels).sum())
        bits = _HEADER_BITS + sum(
            layer.code().cheapest(one).message_bits(one) for layer, one in zip(self._network.layers, signs, strict=True)
        )
        score = risk_bound(errors=errors, samples=self._data.count, code_bits=math.ceil(bits), delta=_DELTA)
        if score < self._score or not self._signs:
            self._signs, self._score, self._errors = signs, score, errors

    def found(self) -> Found:
        layers = zip(self._network.layers, self._signs, strict=True)
        return Found({layer.name: layer.encode(signs) for layer, signs in layers}, self._errors)


def _rounded(entries: Tensor) -> Signs:
    return entries.detach().clamp(-1, 1).round().numpy().astype(np.int8)


def _marks(entries: Tensor) -> Tensor:
    """How many entries round to a sign, smoothly."""
    return torch.sigmoid(_SHARPNESS * (entries.abs() - 0.5))


def _prices(layer: SignLayer, entries: Tensor) -> Tensor:
    """For every entry, how many bits a mark with its sign costs more than a zero."""
    return mark_prices(layer.code(), entries.detach())
