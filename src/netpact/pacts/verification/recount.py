"""Counting errors a second time, in another way than certify does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import nn

from netpact.certificates import AS_RUN
from netpact.core.errors import PactError
from netpact.core.json import JsonValue
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.network import CountingRun, open_run, refuse_bad_logits, this_program
from netpact.network.as_run_counting import as_run_batch
from netpact.network.travelling import module_parcel
from netpact.network.whole_run import WholeRun
from netpact.runs.parcels import Parcel, at_hand, made_of, parcel
from netpact.shards import HERE, Execution, Shards, go_through, shard_done

_BATCH = 256


class Recount(NamedTuple):
    """open_errors  of arithmetic as run: errors that are near ties, and that another program may not make"""

    errors: int
    samples: int
    near_ties: int
    open_errors: int = 0

    def explains(self, stated: int) -> bool:
        """Whether so few errors elsewhere need not be a lie, though there are more here."""
        return self.errors - self.open_errors <= stated


def count_anew(
    module: nn.Module,
    samples: Samples,
    arithmetic: str,
    progress: Progress | None = None,
    *,
    network: Parcel | None = None,
    execution: Execution = HERE,
) -> Recount:
    """Count again, the other way round: find the class that surely wins, if there is one, and compare with the label.

    A near tie is a sample whose label has the highest logit of all, though not surely. With arithmetic as run: one
    whose second highest logit is within the tolerance of the highest.
    Of an integer network some samples are computed a second time, in integers.

    network    the module as it travels to workers; default: any module that can
    execution  who counts, and where finished counts are kept
    """
    network = network or module_parcel(module)
    with at_hand([network]):
        size = _opened(network.name, arithmetic).batch(samples.input_shape, most=_BATCH)
        size = as_run_batch(size, samples.count, execution) if arithmetic == AS_RUN else size
        shards = Shards(samples, size, turn=2)
        tolerance = this_program().tolerance if arithmetic == AS_RUN else None
        given: dict[str, JsonValue] = {
            "network": network.name,
            "arithmetic": arithmetic,
            "batch": size,
            "tolerance": tolerance,
        }
        given["program"] = str(this_program()) if arithmetic == AS_RUN else ""
        found: list[Any] = go_through(
            shards, recount_shard, given, parcels=[network], execution=execution, progress=progress
        )
    return Recount(*(sum(column) for column in zip(*found, strict=True)))


def recount_shard(
    network: str, shard: str, arithmetic: str, batch: int, tolerance: float | None, program: str
) -> JsonValue:
    """Errors, samples, near ties, open errors of one shard. In a worker or here; network and shard are parcels."""
    if program and program != str(this_program()):
        raise PactError(f"this worker runs {this_program()}, the others {program}", where="arithmetic as run")
    run = _opened(network, arithmetic)
    wrong = near = seen = undecided = 0
    for inputs, labels, places in parcel(shard).batches(batch):
        logits = run.decide(inputs, places)
        refuse_bad_logits(logits, labels, places)
        values, spread = logits.values.numpy(), logits.spread.numpy()
        upper = values + spread
        rows = np.arange(len(labels))
        winner = (values - spread).argmax(axis=1)
        floor = (values - spread)[rows, winner]
        upper[rows, winner] = -np.inf
        missed = (winner != labels) | (upper.max(axis=1) >= floor)
        wrong += int(np.count_nonzero(missed))
        if tolerance is None:
            ahead = (values >= values[rows, labels][:, None]).sum(axis=1) == 1
            near += int(np.count_nonzero(missed & ahead))
        else:
            second, first = np.sort(values, axis=1)[:, -2:].T
            close = first - second <= tolerance * np.abs(values).max(axis=1)
            near += int(np.count_nonzero(close))
            undecided += int(np.count_nonzero(close & missed))
        seen += len(labels)
        shard_done(seen)
    run.finish()
    if isinstance(run, WholeRun):
        made_of(network, "checked in integers", lambda _: run.check_in_integers())
    return [wrong, seen, near, undecided]


def _opened(network: str, arithmetic: str) -> CountingRun:
    """Prepared once in each process."""
    run: CountingRun = made_of(network, f"recount {arithmetic}", lambda module: open_run(module, arithmetic))
    return run
