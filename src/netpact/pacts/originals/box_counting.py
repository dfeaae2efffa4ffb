"""Which samples no network in a box can get wrong: those whose margin is larger than what the box can take away."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.deviations import Walked, Walker, margin_needed
from netpact.network import refuse_bad_logits
from netpact.network.rounding.batching import samples_at_once
from netpact.pacts.fresh.networks import ORIGINAL_ARITHMETIC
from netpact.pacts.originals.box import Box, layer_bounds

_SAME = 1e-9  # of the largest logit: what two float64 runs of one network may differ by


def count_reachable_errors(
    module: nn.Module, box: Box, samples: Samples, *, arithmetic: str, progress: Progress | None = None
) -> int:
    """How many samples some network in the box may get wrong, in any run in float32:

        #{ margin_g(x, y) <= sqrt(2) E(x) }

    E(x) bounds |f(x) - g(x)|_2 for every f in the box, from g and the box alone. The margin of g is taken at its least
    within rounding.
    """
    errors = 0
    for walked, labels in walk_box(module, box, samples, arithmetic=arithmetic, batch=512, progress=progress):
        y = torch.from_numpy(labels)[:, None]
        own = (walked.values - walked.spread).gather(1, y).squeeze(1)
        rivals = (walked.values + walked.spread).scatter(1, y, -torch.inf).amax(dim=1)
        errors += int((~(own - rivals > margin_needed(walked.bound))).sum())
    return errors


def walk_box(
    module: nn.Module, box: Box, samples: Samples, *, arithmetic: str, batch: int, progress: Progress | None
) -> Iterator[tuple[Walked, NDArray[np.int64]]]:
    """The network in the file on all samples, with a bound on where the logits of the networks in the box are."""
    walker = Walker(module, layer_bounds(box, module), arithmetic=arithmetic, other_arithmetic=ORIGINAL_ARITHMETIC)
    size = min(batch, samples_at_once(copy.deepcopy(module).double().eval(), samples.input_shape))
    seen = 0
    for inputs, labels in samples.batches(size):
        walked = walker(inputs)
        refuse_bad_logits(walked, labels, np.arange(seen, seen + len(labels)))
        yield walked, labels
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)


def refuse_other_code(compressed: nn.Module, original: nn.Module, samples: Samples) -> None:
    """The original must be the file's network with other weights: a copy with its weights computes the same."""
    twin = copy.deepcopy(compressed).double().eval()
    own = copy.deepcopy(original).double().eval()
    twin.load_state_dict(own.state_dict())
    inputs, _ = next(iter(samples.batches(64)))
    with torch.no_grad():
        x = torch.from_numpy(inputs).double()
        first, second = twin(x), own(x)
    if first.shape != second.shape or not torch.allclose(
        first, second, rtol=0.0, atol=_SAME * (1 + float(second.abs().max()))
    ):
        raise PactError(
            "the original network computes something else than the one in the file would with its weights",
            where="original network",
            hint="only a network of the same architecture can be compared without further samples",
        )
