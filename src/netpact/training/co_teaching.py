"""Co-teaching under label noise: two networks, each learns from the samples that the other one finds easy.

Han, Yao, Yu, Niu, Xu, Hu, Tsang and Sugiyama 2018, algorithm 1. A network learns true labels before it learns by
heart the wrong ones, so samples of small loss are probably labelled right. A network that picks its own would confirm
its own errors; the other one has made different ones.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.models import AnyModule, as_module
from netpact.training.checkpoints import identify_run, load_checkpoint, save_checkpoint
from netpact.training.epoch import Epoch
from netpact.training.evaluation import check_fits, device_of, run_network
from netpact.training.memory import Memory, gather
from netpact.training.options import TrainOptions
from netpact.training.parts import (
    batch_bounds,
    check_parts,
    choose_test,
    diverged,
    make_optimizer,
    measure_epoch,
    own_randomness,
)


@dataclass(frozen=True)
class CoTeaching:
    """How much of a batch is left out, and how soon.

    forget_rate  the share that is left out in the end; the rate of label noise, where it is known
    gradual      after so many epochs it is reached
    exponent     of the number of epochs: 1 is a straight line
    """

    forget_rate: float
    gradual: int = 10
    exponent: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.forget_rate, where="forget_rate", least=0, below=1)
        check_integer(self.gradual, where="gradual", least=1)
        check_number(self.exponent, where="exponent", above=0)

    def kept_share(self, finished: int) -> float:
        """The share of a batch that is learned from, when t epochs are finished: all of it in the first one.

        R(t) = 1 - forget_rate * min(t^exponent / gradual, 1)
        """
        return 1 - self.forget_rate * min(finished**self.exponent / self.gradual, 1.0)

    def to_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class CoTrained(Displayed):
    """Both trained copies in evaluation mode; loss and errors of the history are means over the two."""

    modules: tuple[nn.Module, nn.Module]
    history: tuple[Epoch, ...]
    options: TrainOptions
    co_teaching: CoTeaching

    def display_facts(self) -> Row:
        last = self.history[-1]
        return {
            "epochs": last.epoch,
            "train_error": last.train_error,
            "test_error": last.test_error,
            "loss": last.loss,
            "optimizer": self.options.optimizer,
            "forget_rate": self.co_teaching.forget_rate,
        }

    def display_rows(self) -> list[Row]:
        """One row an epoch."""
        return [epoch.to_json() for epoch in self.history]

    def display_text(self) -> str:
        told = f"co-teaching with forget rate {self.co_teaching.forget_rate:g}, {self.options.optimizer}"
        return f"{told} for {self.options.epochs} epochs; means of both networks: {self.history[-1]}"

    def to_json(self) -> dict[str, object]:
        history = [epoch.to_json() for epoch in self.history]
        return {"options": self.options.to_json(), "co_teaching": self.co_teaching.to_json(), "history": history}


def co_train(
    modules: tuple[AnyModule, AnyModule],
    samples: Samples | Data,
    co_teaching: CoTeaching,
    options: TrainOptions | None = None,
    *,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: str | Path | None = None,
    test: Samples | Data | None = None,
) -> CoTrained:
    """Train copies of two networks on one another's choice of samples; the given ones are not changed.

    modules  two networks, alike or not, with different weights: equal ones would choose alike for ever
    test     samples whose error is reported after each epoch; no influence on training

    The other arguments are those of train. With forget rate 0 each network is trained as train does.
    """
    options = TrainOptions() if options is None else options
    check_instance(options, TrainOptions, where="options")
    check_instance(co_teaching, CoTeaching, where="co_teaching", hint="write CoTeaching(0.2)")
    data = gather(as_data(samples).train)
    held = None if test is None else gather(choose_test(test))
    pair = _copy_pair(modules, data)
    check_parts(data, held, options)
    optimizer = make_optimizer(pair, options)
    path = None if checkpoint is None else Path(checkpoint)
    identity: dict[str, str] = {}
    history: tuple[Epoch, ...] = ()
    if path is not None:
        told = json.dumps(co_teaching.to_json(), sort_keys=True)
        identity = {**identify_run(pair, options, data, held), "co-teaching": told}
        if path.exists():
            history = load_checkpoint(path, identity, pair, optimizer)
        else:
            save_checkpoint(path, identity, pair, optimizer, history)
    for number in range(len(history) + 1, options.epochs + 1):
        started = time.perf_counter()
        loss = _run_epoch(pair, optimizer, data, options, co_teaching, number)
        try:
            both = [measure_epoch(one, data, held, epoch=number, loss=loss, started=started) for one in pair]
        except PactError as error:
            raise diverged(number, options) from error
        history = (*history, _mean(*both))
        if path is not None:
            save_checkpoint(path, identity, pair, optimizer, history)
        if progress is not None:
            progress(history[-1])
    optimizer.zero_grad(set_to_none=True)
    first, second = pair.eval()
    return CoTrained((first, second), history, options, co_teaching)


def _copy_pair(modules: object, data: Memory) -> nn.ModuleList:
    """Both networks as one module with one optimizer: its steps treat every weight by itself, so nothing is mixed."""
    if not isinstance(modules, (tuple, list)) or len(modules) != 2:
        raise PactError("must be two networks", where="modules", hint="write co_train((first, second), ...)")
    pair = [as_module(one, where=f"modules[{place}]") for place, one in enumerate(modules)]
    for module in pair:
        check_fits(module, data)
    if len({device_of(module) for module in pair}) > 1:
        raise PactError("the two networks are on different devices", where="modules", hint="call module.to(device)")
    states = [list(module.parameters()) for module in pair]
    alike = len(states[0]) == len(states[1]) and all(map(torch.equal, *states))
    if alike:
        raise PactError(
            "both networks have the same weights, and would choose the same samples for ever",
            where="modules",
            hint="draw the second one's from another seed: netpact.models.initialise(module, Seed(1))",
        )
    return nn.ModuleList(copy.deepcopy(module) for module in pair)


def _run_epoch(
    pair: nn.ModuleList,
    optimizer: torch.optim.Optimizer,
    data: Memory,
    options: TrainOptions,
    co_teaching: CoTeaching,
    number: int,
) -> float:
    """The mean of both losses over the samples that were learned from. Order and augmentation are those of train."""
    device = device_of(pair)
    order = torch.randperm(data.count, generator=options.seed.child("shuffle", number).torch())
    drawn = options.seed.child("augmentation", number).torch()
    bounds, share = batch_bounds(data.count, options.batch_size), co_teaching.kept_share(number - 1)
    total = learned = 0.0
    pair.train()
    with own_randomness(options.seed.child("layers", number), device), torch.enable_grad():
        for step, (start, stop) in enumerate(bounds, start=(number - 1) * len(bounds)):
            for group in optimizer.param_groups:
                group["lr"] = options.learning_rate_at(step, steps_per_epoch=len(bounds))
            inputs, labels = data.pick(order[start:stop])
            if options.augmentation is not None:
                inputs = options.augmentation.vary(inputs, drawn)
            inputs, labels = inputs.to(device), labels.to(device)
            loss = exchange([run_network(one, inputs, data.classes) for one in pair], labels, share=share)
            if not math.isfinite(loss.item()):
                raise diverged(number, options)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            kept = _count(stop - start, share)
            total, learned = total + loss.item() / 2 * kept, learned + kept
    if not all(bool(torch.isfinite(parameter).all()) for parameter in pair.parameters()):
        raise diverged(number, options)
    return total / learned


def exchange(logits: list[Tensor], labels: Tensor, *, share: float) -> Tensor:
    """The sum of two losses: each network's mean over the samples on which the other one's loss is smallest."""
    easy = [_easiest(one.detach(), labels, share) for one in logits]
    first, second = logits
    losses = [
        nn.functional.cross_entropy(own[chosen], labels[chosen])
        for own, chosen in ((first, easy[1]), (second, easy[0]))
    ]
    return losses[0] + losses[1]


def _easiest(logits: Tensor, labels: Tensor, share: float) -> Tensor:
    """The places of the smallest losses, in the batch's order: where all are kept, nothing is rounded otherwise."""
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    return losses.argsort(stable=True)[: _count(len(labels), share)].sort().values


def _count(samples: int, share: float) -> int:
    # The product of a share such as 1 - 0.45 may fall just below the integer that it stands for.
    return max(1, math.floor(share * samples + 1e-9))


def _mean(first: Epoch, second: Epoch) -> Epoch:
    test = None
    if first.test_error is not None and second.test_error is not None:
        test = (first.test_error + second.test_error) / 2
    return Epoch(first.epoch, first.loss, (first.train_error + second.train_error) / 2, test, second.seconds)
