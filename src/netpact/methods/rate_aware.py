"""RateAware: train a network further with the length of its own message as part of the loss."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torch import nn

from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import code_buffer
from netpact.methods.method import METHODS
from netpact.methods.rate_sweep import sweep
from netpact.methods.rate_symbols import SoftSymbols
from netpact.methods.rate_training import fine_tune
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network
from netpact.network.kinds import KINDS
from netpact.training.memory import gather

if TYPE_CHECKING:
    from netpact.datasets import Samples

MOST_LEVELS = 127

_ROUNDS = 4  # of the last sweep for each epoch; a round takes a third of an epoch's time
_EXACT_BITS = 32  # of an entry that is kept exactly


@METHODS.add
@dataclass(frozen=True)
class RateAware:
    """Fine-tune linear and conv layers, as integer symbols, by cross-entropy plus the length of the message.

        loss = mean cross-entropy + rate * message bits * ln 2 / number of samples

    Every weight is a whole symbol between -levels and levels times a step that its tensor learns. What a symbol costs
    is read off the coder's own decisions and the counts of the symbols at that moment, so weights move to where the
    message gets shorter and the loss does not mind. Batch norm is kept as it is, exactly.

    epochs         passes over the training samples; the price of bits grows to its full height over the first third
    rate           the price of a bit: 1 sets a nat of the message equal to a nat of cross-entropy summed over samples
    learning_rate  of Adam, in units of symbols; falls to 0 along a cosine
    levels         the largest magnitude of a symbol; 1 trains a ternary network
    seed           of the order of the samples
    """

    epochs: int = 20
    rate: float = 3.0
    learning_rate: float = 0.05
    levels: int = 3
    seed: int = 0
    name: ClassVar[str] = "rate-aware"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("rate", (0.3, 1.0, 3.0, 10.0)),)

    def __post_init__(self) -> None:
        check_integer(self.epochs, where="epochs", least=1)
        check_integer(self.levels, where="levels", least=1, most=MOST_LEVELS)
        check_integer(self.seed, where="seed", least=0)
        check_number(self.rate, where="rate", least=0)
        check_number(self.learning_rate, where="learning_rate", above=0)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if samples is None:
            raise PactError("this method trains on the training samples and was given none", where=self.name)
        coded: dict[str, CodedTensor] = train_symbols(network, samples, self, progress).code()
        tensors = [*network.module.named_parameters(), *network.module.named_buffers()]
        return Compressed(
            network.architecture,
            {name: coded[name] if name in coded else code_buffer(tensor) for name, tensor in tensors},
        )


def train_symbols(network: Network, samples: Samples, options: RateAware, progress: Progress | None) -> SoftSymbols:
    """The symbols of all linear and conv layers after training and a last sweep; the network stays as it was."""
    module = copy.deepcopy(network.module).requires_grad_(False)
    layers = {layer.name for layer in network.layers if layer.kind in KINDS.measured()}
    tensors = {name: tensor for name, tensor in module.named_parameters() if name.rpartition(".")[0] in layers}
    if not tensors:
        raise PactError("the network has no linear or conv layer to train", where=options.name)
    everything = [*module.named_parameters(), *module.named_buffers()]
    other_bits = sum(_EXACT_BITS * tensor.numel() for name, tensor in everything if name not in tensors)
    symbols = SoftSymbols(tensors, levels=options.levels, other_bits=other_bits)
    settle_symbols(module, symbols, samples, options, progress)
    return symbols


def settle_symbols(
    module: nn.Module, symbols: SoftSymbols, samples: Samples, options: RateAware, progress: Progress | None
) -> None:
    """Training and a last sweep: the symbols are changed in place, the module lends its structure."""
    data = gather(samples)
    rounds = _ROUNDS * options.epochs
    total = options.epochs + rounds
    fine_tune(module, symbols, data, options, lambda done, _: _tell(progress, done, total))
    sweep(
        module,
        symbols,
        data,
        rate=options.rate,
        rounds=rounds,
        progress=lambda done, _: _tell(progress, options.epochs + done, total),
    )
    _tell(progress, total, total)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
