"""Where two networks are not proven to predict the same class; counted twice, in two ways."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netpact.core.errors import PactError
from netpact.core.json import JsonValue
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.network import AsRun, CountingRun, refuse_bad_logits, this_program
from netpact.network.as_run import near_ties
from netpact.network.travelling import open_pickle, write_pickle
from netpact.pacts.verification.recount import Recount
from netpact.runs.parcels import Parcel, parcel
from netpact.shards import HERE, Execution, Shards, go_through, shard_done

_BATCH = 512
_BATCH_ANEW = 256


@dataclass(frozen=True)
class Bounds:
    """Between these two numbers lies each logit of every run in the stated precision.

    as_run  the network is certified as run: the two are one number
    """

    lower: Tensor
    upper: Tensor
    as_run: bool = False


@dataclass(frozen=True)
class DisagreementCount:
    """disagreements are all samples without proof of agreement; uncertain are those among them within rounding.

    Of networks as run, uncertain are the near ties, agreed on or not.
    """

    disagreements: int
    uncertain: int
    samples: int


def count_disagreements(
    first: CountingRun,
    second: CountingRun,
    samples: Samples,
    *,
    progress: Progress | None = None,
    pair: Parcel | None = None,
    execution: Execution = HERE,
) -> DisagreementCount:
    """How many samples the two networks are not proven to put into the same class.

    A prediction is certain if its lower bound exceeds the upper bounds of all other classes. A sample counts as a
    disagreement if either prediction is uncertain, or both are certain and differ.

    pair       both runs as they travel to workers
    execution  who counts, and where finished counts are kept
    """
    runs = (first, second)
    shards = Shards(samples, max(run.batch(samples.input_shape, most=_BATCH) for run in runs), turn=1)
    found = _go_through(shards, disagree_in_shard, runs, pair, execution, progress)
    return DisagreementCount(*(sum(column) for column in zip(*found, strict=True)))


def disagree_in_shard(pair: str, shard: str, batch: int, program: str) -> JsonValue:
    """Disagreements, uncertain ones and samples of one shard; pair and shard are parcels."""
    disagreements = uncertain = seen = 0
    for one, other in logit_bounds(pair, shard, batch=batch, program=program):
        (class_one, sure_one), (class_other, sure_other) = _predict(one), _predict(other)
        disagreements += int((~(sure_one & sure_other) | (class_one != class_other)).sum())
        doubtful = [near_ties(b.lower) if b.as_run else ~sure for b, sure in ((one, sure_one), (other, sure_other))]
        uncertain += int((doubtful[0] | doubtful[1]).sum())
        seen += len(one.lower)
    return [disagreements, uncertain, seen]


def _predict(bounds: Bounds) -> tuple[Tensor, Tensor]:
    """The class with the highest lower bound, and whether no other class can reach it."""
    best, winner = bounds.lower.max(dim=1)
    rivals = bounds.upper.scatter(1, winner[:, None], -torch.inf)
    return winner, best > rivals.amax(dim=1)


def recount_disagreements(
    first: CountingRun,
    second: CountingRun,
    samples: Samples,
    progress: Progress | None = None,
    *,
    pair: Parcel | None = None,
    execution: Execution = HERE,
) -> Recount:
    """Count again, the other way round: a sample is agreed on if one class beats all others in both networks."""
    runs = (first, second)
    shards = Shards(samples, max(run.batch(samples.input_shape, most=_BATCH_ANEW) for run in runs), turn=2)
    found = _go_through(shards, disagree_anew, runs, pair, execution, progress)
    return Recount(*(sum(column) for column in zip(*found, strict=True)))


def disagree_anew(pair: str, shard: str, batch: int, program: str) -> JsonValue:
    """What Recount says, of one shard; pair and shard are parcels."""
    agreed = near = undecided = seen = 0
    for one, other in logit_bounds(pair, shard, batch=batch, program=program):
        same = (_wins(one) & _wins(other)).any(dim=1)
        close = [_is_close(bounds) if bounds.as_run else torch.zeros_like(same) for bounds in (one, other)]
        sure = [torch.ones_like(same) if bounds.as_run else _wins(bounds).any(dim=1) for bounds in (one, other)]
        agreed += int(same.sum())
        near += int((close[0] | close[1] | ~sure[0] | ~sure[1]).sum())
        undecided += int((~same & (close[0] | close[1])).sum())
        seen += len(same)
    return [seen - agreed, seen, near, undecided]


def _wins(bounds: Bounds) -> Tensor:
    """For every sample and class: does this class beat each other one?"""
    beaten = bounds.lower[:, :, None] > bounds.upper[:, None, :]
    beaten.diagonal(dim1=1, dim2=2).fill_(True)
    return beaten.all(dim=2)


def _is_close(bounds: Bounds) -> Tensor:
    """A second class within the tolerance of the highest logit."""
    values = bounds.lower.numpy()
    reach = this_program().tolerance * np.abs(values).max(axis=1)
    return torch.from_numpy((values >= (values.max(axis=1) - reach)[:, None]).sum(axis=1) > 1)


def _go_through(
    shards: Shards,
    function: Callable[..., JsonValue],
    runs: tuple[CountingRun, CountingRun],
    pair: Parcel | None,
    execution: Execution,
    progress: Progress | None,
) -> list[Any]:
    sent = pair or Parcel(f"pair {uuid.uuid4().hex}", lambda: runs, write_pickle, open_pickle, True, lasting=False)
    program = str(this_program()) if any(isinstance(run, AsRun) for run in runs) else ""
    given: dict[str, JsonValue] = {"pair": sent.name, "batch": shards.batch, "program": program}
    return list(go_through(shards, function, given, parcels=[sent], execution=execution, progress=progress))


def logit_bounds(pair: str, shard: str, *, batch: int, program: str) -> Iterator[tuple[Bounds, Bounds]]:
    """Both networks' logits, batch by batch; NaN and a different number of classes are refused."""
    if program and program != str(this_program()):
        raise PactError(f"this worker runs {this_program()}, the others {program}", where="arithmetic as run")
    runs: tuple[CountingRun, CountingRun] = parcel(pair)
    seen = 0
    for inputs, labels, places in parcel(shard).batches(batch):
        both = [run.decide(inputs, places) for run in runs]
        for logits in both:
            refuse_bad_logits(logits, np.zeros_like(labels), places)
        one, other = (
            Bounds(logits.values - logits.spread, logits.values + logits.spread, isinstance(run, AsRun))
            for logits, run in zip(both, runs, strict=True)
        )
        if one.lower.shape != other.lower.shape:
            raise PactError(
                f"the compressed network has {one.lower.shape[1]} classes, the original {other.lower.shape[1]}",
                where="original network",
            )
        yield one, other
        seen += len(inputs)
        shard_done(seen)
    for run in runs:
        run.finish()
