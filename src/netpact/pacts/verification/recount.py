"""Counting errors a second time, in another way than certify does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import nn

from netpact.core.progress import Progress
from netpact.datasets import Samples, mixed_batches
from netpact.network import ToleranceRun, refuse_bad_logits

_BATCH = 256


class Recount(NamedTuple):
    errors: int
    samples: int
    near_ties: int


def count_anew(module: nn.Module, samples: Samples, arithmetic: str, progress: Progress | None = None) -> Recount:
    """Count again, the other way round: find the class that surely wins, if there is one, and compare with the label.

    A near tie is a sample whose label has the highest logit of all, though not surely.
    """
    run = ToleranceRun(module, arithmetic)
    wrong = near = seen = 0
    for inputs, labels, places in mixed_batches(samples, run.batch(samples.input_shape, most=_BATCH), turn=2):
        logits = run(inputs, places)
        refuse_bad_logits(logits, labels, places)
        values, spread = logits.values.numpy(), logits.spread.numpy()
        upper = values + spread
        rows = np.arange(len(labels))
        winner = (values - spread).argmax(axis=1)
        floor = (values - spread)[rows, winner]
        upper[rows, winner] = -np.inf
        missed = (winner != labels) | (upper.max(axis=1) >= floor)
        ahead = (values >= values[rows, labels][:, None]).sum(axis=1) == 1
        wrong += int(np.count_nonzero(missed))
        near += int(np.count_nonzero(missed & ahead))
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)
    run.finish()
    return Recount(wrong, seen, near)
