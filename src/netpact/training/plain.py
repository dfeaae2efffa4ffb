"""Plain training by cross entropy: a module in, a trained copy out, the same bits every time under one seed."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from netpact.core.checks import check_instance
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.models import AnyModule, as_module
from netpact.training.checkpoints import digest_tensors, identify_run, load_checkpoint, save_checkpoint
from netpact.training.epoch import Epoch
from netpact.training.evaluation import check_fits, device_of, run_network
from netpact.training.masks import Masks, check_masks, hold_zeros
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


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Displayed):
    """The trained copy in evaluation mode, the history of the epochs, and the options."""

    module: nn.Module
    history: tuple[Epoch, ...]
    options: TrainOptions

    def display_facts(self) -> Row:
        last = self.history[-1]
        return {
            "epochs": last.epoch,
            "train_error": last.train_error,
            "test_error": last.test_error,
            "loss": last.loss,
            "optimizer": self.options.optimizer,
        }

    def display_rows(self) -> list[Row]:
        """One row an epoch."""
        return [epoch.to_json() for epoch in self.history]

    def display_text(self) -> str:
        return f"trained with {self.options.optimizer} for {self.options.epochs} epochs; {self.history[-1]}"

    def to_json(self) -> dict[str, object]:
        return {"options": self.options.to_json(), "history": [epoch.to_json() for epoch in self.history]}


def train(
    module: AnyModule,
    samples: Samples | Data,
    options: TrainOptions | None = None,
    *,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: str | Path | None = None,
    test: Samples | Data | None = None,
    on_epoch: Callable[[int, nn.Module], object] | None = None,
    masks: Masks | None = None,
) -> Trained:
    """Train a copy of the module; the given one and all global random state are not changed.

    module      a module, or the path of a file of save_weights
    samples     what to train on; of Data the training part
    checkpoint  a file written after each epoch; if it exists, the run resumes from it
    test        samples whose error is reported after each epoch; no influence on training
    progress    called after each epoch, when its checkpoint is on the disk
    on_epoch    called with the epoch's number and the network after it, which it must not change: a netpact.Monitor,
                for example. Called before the checkpoint is written, so a run killed in it repeats this epoch
    masks       weights that are zero from the start and stay so: for some parameters, by name, a boolean tensor that is
                True where a weight is kept
    """
    options = TrainOptions() if options is None else options
    check_instance(options, TrainOptions, where="options")
    module = as_module(module, where="module")
    data = gather(as_data(samples).train)
    held = None if test is None else gather(choose_test(test))
    check_fits(module, data)
    check_parts(data, held, options)
    return train_in_place(
        copy.deepcopy(module),
        data,
        held,
        options,
        progress=progress,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        on_epoch=on_epoch,
        masks=None if masks is None else check_masks(module, masks),
    )


def train_in_place(
    trainee: nn.Module,
    data: Memory,
    held: Memory | None,
    options: TrainOptions,
    *,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: Path | None = None,
    on_epoch: Callable[[int, nn.Module], object] | None = None,
    masks: Masks | None = None,
) -> Trained:
    """train, for arguments that were checked and samples that were read."""
    optimizer = make_optimizer(trainee, options)
    if masks is not None:
        hold_zeros(trainee, optimizer, masks)
    identity = {} if checkpoint is None else identify_run(trainee, options, data, held)
    if checkpoint is not None and masks is not None:
        identity["masks"] = digest_tensors({name: mask.cpu() for name, mask in masks.items()})
    history: tuple[Epoch, ...] = ()
    if checkpoint is not None and checkpoint.exists():
        history = load_checkpoint(checkpoint, identity, trainee, optimizer)
    elif checkpoint is not None:
        # A file that cannot be written should stop the run now, not after the first epoch.
        save_checkpoint(checkpoint, identity, trainee, optimizer, history)
    for number in range(len(history) + 1, options.epochs + 1):
        started = time.perf_counter()
        loss = _run_epoch(trainee, optimizer, data, options, number)
        try:
            history = (*history, measure_epoch(trainee, data, held, epoch=number, loss=loss, started=started))
        except PactError as error:
            # Data and network have been checked by now: what is left is finite weights with infinite outputs.
            raise diverged(number, options) from error
        if on_epoch is not None:
            on_epoch(number, trainee)
        if checkpoint is not None:
            save_checkpoint(checkpoint, identity, trainee, optimizer, history)
        if progress is not None:
            progress(history[-1])
    optimizer.zero_grad(set_to_none=True)
    return Trained(trainee.eval(), history, options)


def _run_epoch(
    trainee: nn.Module, optimizer: torch.optim.Optimizer, data: Memory, options: TrainOptions, number: int
) -> float:
    device = device_of(trainee)
    order = torch.randperm(data.count, generator=options.seed.child("shuffle", number).torch())
    # Like the order, a stream of each epoch's own: a resumed run draws what a whole one does.
    drawn = options.seed.child("augmentation", number).torch()
    bounds = batch_bounds(data.count, options.batch_size)
    total = 0.0
    trainee.train()
    with own_randomness(options.seed.child("layers", number), device), torch.enable_grad():
        for step, (start, stop) in enumerate(bounds, start=(number - 1) * len(bounds)):
            rate = options.learning_rate_at(step, steps_per_epoch=len(bounds))
            for group in optimizer.param_groups:
                group["lr"] = rate
            inputs, labels = data.pick(order[start:stop])
            if options.augmentation is not None:
                inputs = options.augmentation.vary(inputs, drawn)
            logits = run_network(trainee, inputs.to(device), data.classes)
            loss = nn.functional.cross_entropy(logits, labels.to(device))
            if not math.isfinite(loss.item()):
                raise diverged(number, options)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * (stop - start)
    # The last step can spoil the weights after the last loss was seen.
    if not all(bool(torch.isfinite(parameter).all()) for parameter in trainee.parameters()):
        raise diverged(number, options)
    return total / data.count
