"""Iterative magnitude pruning with rewinding: train, prune the smallest weights, go back, and again.

Frankle and Carbin 2019 (back to the initial weights), Frankle, Dziugaite, Roy and Carbin 2020 (back to an early epoch),
Renda, Frankle and Carbin 2020 (back to an early learning rate). Section 6 of Guha et al. 2023 bounds what it gives.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from netpact.algebra.pruning import keep_largest
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.models import AnyModule, as_module, initialise
from netpact.models.tensors import state_of
from netpact.models.weights import fill_module
from netpact.training.checkpoints import identify_run
from netpact.training.epoch import Epoch
from netpact.training.evaluation import check_fits
from netpact.training.masks import Masks, check_masks, prunable_weights
from netpact.training.memory import Memory, gather
from netpact.training.options import TrainOptions
from netpact.training.parts import check_parts, choose_test
from netpact.training.plain import Trained, train_in_place
from netpact.training.pruning_checkpoints import Standing, State, load_standing, save_standing
from netpact.training.pruning_options import IterativePruning
from netpact.training.tickets import PruningRound, Ticket, masks_of


def iterative_pruning(
    module: AnyModule,
    samples: Samples | Data,
    pruning: IterativePruning,
    options: TrainOptions | None = None,
    *,
    test: Samples | Data | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    on_round: Callable[[PruningRound, nn.Module], object] | None = None,
) -> Ticket:
    """Train a copy of the module, and again with ever fewer weights; the given one is not changed.

    Round 0 is train with these options, bit for bit.

    test        samples whose error is reported; no influence on training or pruning
    checkpoint  a file written after each round, with FILE.round-N beside it after each epoch; if it exists, the run
                resumes from them
    progress    called after each epoch with how many are done, and how many there will be
    on_round    called after each round with its network, which it must not change. Called before the checkpoint is
                written, so a run killed in it calls it again
    """
    options = TrainOptions() if options is None else options
    check_instance(options, TrainOptions, where="options")
    check_instance(pruning, IterativePruning, where="pruning", hint="write IterativePruning(keep=0.05)")
    if pruning.rewind_to >= options.epochs:
        raise PactError(
            f"must be below the number of epochs, {options.epochs}, got {pruning.rewind_to}", where="rewind_to"
        )
    module = as_module(module, where="module")
    data = gather(as_data(samples).train)
    held = None if test is None else gather(choose_test(test))
    check_fits(module, data)
    check_parts(data, held, options)
    path = None if checkpoint is None else Path(checkpoint)
    run = _Run(module, data, held, options, pruning, path, progress)
    run.check()
    standing = run.resume()
    while len(standing.rounds) <= pruning.round_count:
        standing = run.run_round(standing, on_round)
    return Ticket(
        run.network(standing.trained).eval(),
        run.network(standing.start).eval(),
        standing.removed,
        standing.rounds,
        options,
        pruning,
        data.fingerprint(),
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """What stays the same from round to round."""

    module: nn.Module
    data: Memory
    held: Memory | None
    options: TrainOptions
    pruning: IterativePruning
    path: Path | None
    progress: Progress | None

    def check(self) -> None:
        """What would fail in a later round fails now."""
        sizes = [weight.numel() for weight in prunable_weights(self.module).values()]
        for share in self.pruning.shares:
            self.pruning.counts(sizes, share)
        self.pruning.options_of_round(1, self.options)
        if self.pruning.control:
            initialise(copy.deepcopy(self.module), self.options.seed)

    def identity(self) -> dict[str, str]:
        told = json.dumps(self.pruning.to_json(), sort_keys=True)
        return {**identify_run(self.module, self.options, self.data, self.held), "pruning": told}

    def resume(self) -> Standing:
        if self.path is not None and self.path.exists():
            standing = load_standing(self.path, self.identity())
            # A kill may have come between the round's end and this.
            self._forget_epochs(len(standing.rounds) - 1)
            return standing
        start = {} if self.pruning.rewind_to else state_of(self.module)
        weights = prunable_weights(self.module)
        none_removed = {name: torch.zeros(weight.shape, dtype=torch.int16) for name, weight in weights.items()}
        standing = Standing((), start, {}, none_removed)
        self._save(standing)
        return standing

    def run_round(self, standing: Standing, on_round: Callable[[PruningRound, nn.Module], object] | None) -> Standing:
        number = len(standing.rounds)
        if number:
            standing = replace(standing, removed=self._prune(standing, number))
            start = standing.start if self.pruning.rewind == "weights" else standing.trained
            trained = self._train(self.network(start), standing, number, masks_of(standing.removed, number))
        else:
            trained, standing = self._train_dense(standing)
        found = self._describe(standing, trained, number)
        if on_round is not None:
            on_round(found, trained.module)
        standing = replace(standing, rounds=(*standing.rounds, found), trained=state_of(trained.module))
        self._save(standing)
        self._forget_epochs(number)
        return standing

    def network(self, state: State) -> nn.Module:
        other = copy.deepcopy(self.module)
        fill_module(other, state, where="checkpoint")
        return other

    def _train_dense(self, standing: Standing) -> tuple[Trained, Standing]:
        """Round 0, in which the state to go back to is copied."""

        def copy_state(epoch: int, network: nn.Module) -> None:
            nonlocal standing
            if epoch == self.pruning.rewind_to:
                # In the file before this epoch's checkpoint: an epoch that is not repeated has left its copy.
                standing = replace(standing, start=state_of(network))
                self._save(standing)

        trained = self._train(copy.deepcopy(self.module), standing, 0, None, on_epoch=copy_state)
        return trained, standing

    def _train(
        self,
        trainee: nn.Module,
        standing: Standing,
        number: int,
        masks: Masks | None,
        on_epoch: Callable[[int, nn.Module], object] | None = None,
    ) -> Trained:
        finished = sum(len(one.history) for one in standing.rounds) + self._control_epochs(number)
        return train_in_place(
            trainee,
            self.data,
            self.held,
            self.pruning.options_of_round(number, self.options),
            progress=lambda epoch: self._tell(finished + epoch.epoch),
            checkpoint=self._epochs_file(number),
            on_epoch=on_epoch,
            masks=None if masks is None else check_masks(trainee, masks),
        )

    def _describe(self, standing: Standing, trained: Trained, number: int) -> PruningRound:
        kept = sum(int(mask.sum()) for mask in masks_of(standing.removed, number).values())
        weights = sum(rounds.numel() for rounds in standing.removed.values())
        control = self._train_control(standing, trained, number) if number and self.pruning.control else None
        return PruningRound(number, kept, weights, trained.history, control)

    def _train_control(self, standing: Standing, trained: Trained, number: int) -> Epoch:
        """The same masks with new initial weights: what Frankle and Carbin 2019 call a random reinitialization."""
        other, seed = copy.deepcopy(self.module), self.options.seed.child("pruning control", number)
        initialise(other, seed)
        finished = sum(len(one.history) for one in standing.rounds) + len(trained.history)
        return train_in_place(
            other,
            self.data,
            self.held,
            replace(self.options, seed=seed),
            progress=lambda epoch: self._tell(finished + self._control_epochs(number) + epoch.epoch),
            checkpoint=self._epochs_file(number, "-control"),
            masks=check_masks(other, masks_of(standing.removed, number)),
        ).history[-1]

    def _prune(self, standing: Standing, number: int) -> State:
        """The smallest of the weights that are left; the largest of each layer stays."""
        left = {name: rounds == 0 for name, rounds in standing.removed.items()}
        sizes = [mask.numel() for mask in left.values()]
        counts = self.pruning.counts(sizes, self.pruning.shares[number - 1])
        magnitudes = [rank_weights(standing.trained[name], mask).numpy() for name, mask in left.items()]
        together = [magnitudes] if len(counts) == 1 else [[one] for one in magnitudes]
        kept = [
            mask for group, count in zip(together, counts, strict=True) for mask in keep_largest(group, count=count)
        ]
        removed = {}
        for (name, rounds), mask in zip(standing.removed.items(), kept, strict=True):
            now = (rounds == 0) & ~torch.from_numpy(mask)
            removed[name] = rounds.masked_fill(now, number)
        return removed

    def _save(self, standing: Standing) -> None:
        if self.path is not None:
            save_standing(self.path, self.identity(), standing)

    def _epochs_file(self, number: int, ending: str = "") -> Path | None:
        return None if self.path is None else self.path.with_name(f"{self.path.name}.round-{number}{ending}")

    def _forget_epochs(self, number: int) -> None:
        for ending in ("", "-control"):
            file = self._epochs_file(number, ending)
            if file is not None:
                file.unlink(missing_ok=True)

    def _control_epochs(self, number: int) -> int:
        return max(0, number - 1) * self.options.epochs if self.pruning.control else 0

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            rounds, epochs = self.pruning.round_count, self.options.epochs
            controls = rounds * epochs if self.pruning.control else 0
            self.progress(done, epochs + rounds * (epochs - self.pruning.rewind_to) + controls)


def rank_weights(weights: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
    """Magnitudes of the weights that are left, 0 for the others, and infinity for the largest, so that one stays.

    A weight that is left and happens to be 0 is above those that are gone.
    """
    ranked = weights.abs().clamp(min=torch.finfo(weights.dtype).tiny).masked_fill(~left, 0.0)
    flat = ranked.flatten()
    flat[flat.argmax()] = torch.inf
    return flat.reshape(weights.shape)
