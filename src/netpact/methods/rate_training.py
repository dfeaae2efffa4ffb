"""The training loop of RateAware: symbols move under the loss and under the price of their bits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.methods.rate_symbols import SoftSymbols
from netpact.training.memory import Memory

if TYPE_CHECKING:
    from netpact.methods.rate_aware import RateAware

_BATCHES = 100  # in an epoch, as far as the sizes allow
_BATCH_SIZES = (32, 512)
_REPRICE = 8  # steps between two looks at what the symbols cost
_SETTLED = 0.75  # the share of training after which the steps are those of the message, and stay


def fine_tune(module: nn.Module, symbols: SoftSymbols, data: Memory, options: RateAware, progress: Progress) -> None:
    """Change the symbols in place. The module stays in evaluation mode: its batch norm does not move."""
    optimizer = torch.optim.Adam([symbols.values, symbols.log_steps], lr=options.learning_rate)
    batch_size = min(max(data.count // _BATCHES, _BATCH_SIZES[0]), _BATCH_SIZES[1])
    batches = max(1, data.count // batch_size)
    for epoch in range(options.epochs):
        order = torch.randperm(data.count, generator=Seed(options.seed).child("rate-aware", epoch).torch())
        for step, picked in enumerate(order.tensor_split(batches), start=epoch * batches):
            share = step / (options.epochs * batches)
            if step % _REPRICE == 0:
                symbols.price()
            if share >= _SETTLED:
                symbols.settle_steps()
            optimizer.param_groups[0]["lr"] = options.learning_rate * (1 + math.cos(math.pi * share)) / 2
            optimizer.zero_grad()
            price = options.rate * min(1.0, 3 * share) * math.log(2) / data.count
            if not math.isfinite(_add_gradients(module, symbols, *data.pick(picked), price=price)):
                raise _diverged(epoch, options)
            optimizer.step()
            symbols.confine()
            # At once, and not only by the next loss: what is not finite cannot be counted.
            if not symbols.are_sound():
                raise _diverged(epoch, options)
        progress(epoch + 1, options.epochs)
    symbols.settle_steps()


def _add_gradients(module: nn.Module, symbols: SoftSymbols, inputs: Tensor, labels: Tensor, *, price: float) -> float:
    with torch.enable_grad():
        logits = functional_call(module, symbols.weights(), (inputs,))
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()
    assert symbols.values.grad is not None
    symbols.values.grad.add_(symbols.bit_gradient(), alpha=price)
    return loss.item()


def _diverged(epoch: int, options: RateAware) -> PactError:
    return PactError(
        "the loss or the weights became NaN or infinite",
        where=f"{options.name}, epoch {epoch + 1}",
        hint=f"lower the learning rate (now {options.learning_rate:g}) and check the scale of the inputs",
    )
