"""Counting errors a second time, in another way than certify does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import nn

from netpact.certificates import AS_RUN
from netpact.core.progress import Progress
from netpact.datasets import Samples, mixed_batches
from netpact.network import open_run, refuse_bad_logits, this_program
from netpact.network.whole_run import WholeRun

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


def count_anew(module: nn.Module, samples: Samples, arithmetic: str, progress: Progress | None = None) -> Recount:
    """Count again, the other way round: find the class that surely wins, if there is one, and compare with the label.

    A near tie is a sample whose label has the highest logit of all, though not surely. With arithmetic as run: one
    whose second highest logit is within the tolerance of the highest.
    Of a network of whole numbers some samples are computed a second time, in integers.
    """
    run, tolerance = open_run(module, arithmetic), this_program().tolerance if arithmetic == AS_RUN else None
    wrong = near = seen = undecided = 0
    for inputs, labels, places in mixed_batches(samples, run.batch(samples.input_shape, most=_BATCH), turn=2):
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
        if progress is not None:
            progress(seen, samples.count)
    run.finish()
    if isinstance(run, WholeRun):
        run.check_in_integers()
    return Recount(wrong, seen, near, undecided)
