"""Where two networks are not proven to predict the same class; counted twice, in two ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples, mixed_batches
from netpact.network import AsRun, CountingRun, refuse_bad_logits, this_program
from netpact.network.as_run import near_ties
from netpact.pacts.verification.recount import Recount

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
    first: CountingRun, second: CountingRun, samples: Samples, *, progress: Progress | None = None
) -> DisagreementCount:
    """How many samples the two networks are not proven to put into the same class.

    A prediction is certain if its lower bound exceeds the upper bounds of all other classes. A sample counts as a
    disagreement if either prediction is uncertain, or both are certain and differ.
    """
    disagreements = uncertain = 0
    for one, other in logit_bounds(first, second, samples, batch=_BATCH, turn=1, progress=progress):
        (class_one, sure_one), (class_other, sure_other) = _predict(one), _predict(other)
        disagreements += int((~(sure_one & sure_other) | (class_one != class_other)).sum())
        doubtful = [near_ties(b.lower) if b.as_run else ~sure for b, sure in ((one, sure_one), (other, sure_other))]
        uncertain += int((doubtful[0] | doubtful[1]).sum())
    return DisagreementCount(disagreements, uncertain, samples.count)


def _predict(bounds: Bounds) -> tuple[Tensor, Tensor]:
    """The class with the highest lower bound, and whether no other class can reach it."""
    best, winner = bounds.lower.max(dim=1)
    rivals = bounds.upper.scatter(1, winner[:, None], -torch.inf)
    return winner, best > rivals.amax(dim=1)


def recount_disagreements(
    first: CountingRun, second: CountingRun, samples: Samples, progress: Progress | None = None
) -> Recount:
    """Count again, the other way round: a sample is agreed on if one class beats all others in both networks."""
    agreed = near = undecided = 0
    for one, other in logit_bounds(first, second, samples, batch=_BATCH_ANEW, turn=2, progress=progress):
        same = (_wins(one) & _wins(other)).any(dim=1)
        close = [_is_close(bounds) if bounds.as_run else torch.zeros_like(same) for bounds in (one, other)]
        sure = [torch.ones_like(same) if bounds.as_run else _wins(bounds).any(dim=1) for bounds in (one, other)]
        agreed += int(same.sum())
        near += int((close[0] | close[1] | ~sure[0] | ~sure[1]).sum())
        undecided += int((~same & (close[0] | close[1])).sum())
    return Recount(samples.count - agreed, samples.count, near, undecided)


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


def logit_bounds(
    first: CountingRun, second: CountingRun, samples: Samples, *, batch: int, turn: int, progress: Progress | None
) -> Iterator[tuple[Bounds, Bounds]]:
    """Both networks' logits, batch by batch; NaN and a different number of classes are refused."""
    runs = (first, second)
    size = max(run.batch(samples.input_shape, most=batch) for run in runs)
    seen = 0
    for inputs, labels, places in mixed_batches(samples, size, turn=turn):
        pair = [run.decide(inputs, places) for run in runs]
        for logits in pair:
            refuse_bad_logits(logits, np.zeros_like(labels), places)
        one, other = (
            Bounds(logits.values - logits.spread, logits.values + logits.spread, isinstance(run, AsRun))
            for logits, run in zip(pair, runs, strict=True)
        )
        if one.lower.shape != other.lower.shape:
            raise PactError(
                f"the compressed network has {one.lower.shape[1]} classes, the original {other.lower.shape[1]}",
                where="original network",
            )
        yield one, other
        seen += len(inputs)
        if progress is not None:
            progress(seen, samples.count)
    for run in runs:
        run.finish()
