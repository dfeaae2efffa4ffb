"""Counting errors as this program gets them: ties are errors, near ties are told."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from netpact.network.as_run import near_ties
from netpact.network.rounding.counting import CountingRun, ErrorCount, margins_between, refuse_bad_logits
from netpact.shards import HERE, Execution

_FEWEST, _SHARDS = 1 << 10, 8  # samples of a batch, and batches where there are more samples than that


def as_run_batch(most: int, count: int, execution: Execution) -> int:
    """Samples of a batch, which is a shard: as many as fill the rows well, unless there would be a few shards only.

    Where nobody shares the work and nothing is kept, a few will do: 10,000 samples at once leave about a tenth of the
    rows empty, 1,250 a quarter. The logits do not depend on it.
    """
    if execution == HERE:
        return most
    return min(most, max(_FEWEST, -(-count // _SHARDS)))


def count_batch_as_run(
    run: CountingRun, inputs: NDArray[np.float32], labels: NDArray[np.int64], places: NDArray[np.int64]
) -> ErrorCount:
    """How many samples the network gets wrong here, and how many, right or wrong, are near ties."""
    logits = run.decide(inputs, places)
    refuse_bad_logits(logits, labels, places)
    wrong = ~(margins_between(logits.values, logits.values, torch.from_numpy(labels)) > 0)
    return ErrorCount(int(wrong.sum()), int(near_ties(logits.values).sum()), len(labels))
