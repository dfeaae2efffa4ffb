"""Counting errors as this program gets them: ties are errors, near ties are told."""

from __future__ import annotations

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples, mixed_batches
from netpact.network.as_run import AsRun, near_ties
from netpact.network.rounding.counting import ErrorCount, margins_between, refuse_bad_logits


def count_as_run(module: nn.Module, samples: Samples, *, progress: Progress | None = None) -> ErrorCount:
    """How many samples the network gets wrong here, and how many, right or wrong, are near ties."""
    run = AsRun(module)
    errors = near = seen = 0
    for inputs, labels, places in mixed_batches(samples, run.batch(samples.input_shape, most=1), turn=1):
        logits = run(inputs)
        refuse_bad_logits(logits, labels, places)
        errors += int((~(margins_between(logits.values, logits.values, torch.from_numpy(labels)) > 0)).sum())
        near += int(near_ties(logits.values).sum())
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)
    if not seen:
        raise PactError("no samples to count errors on", where=samples.name)
    run.finish()
    return ErrorCount(errors, near, seen)
