"""Errors of a batch, counted so that every machine's count is covered: ties and near ties are errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.certificates.program import AS_RUN, WHOLE
from netpact.core.errors import PactError
from netpact.network.rounding.tolerance_run import Logits as Logits
from netpact.network.rounding.tolerance_run import ToleranceRun as ToleranceRun
from netpact.network.rounding.tolerance_run import are_same as are_same
from netpact.network.rounding.tolerance_run import refuse_flushing as refuse_flushing


@dataclass(frozen=True)
class ErrorCount:
    """errors are all samples not proven right; near_ties are those among them within rounding of being right.

    overflows  of the near ties, those for which no rounding bound exists: an activation may leave the precision's range
    """

    errors: int
    near_ties: int
    samples: int
    overflows: int = 0

    def __add__(self, other: ErrorCount) -> ErrorCount:
        mine, more = asdict(self), asdict(other)
        return ErrorCount(**{name: mine[name] + more[name] for name in mine})


class CountingRun(Protocol):
    """A network prepared to be run on all samples: logits, and how far those of any other run may be from them."""

    def batch(self, input_shape: tuple[int, ...], *, most: int) -> int: ...

    def decide(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits: ...

    def finish(self) -> None: ...


def open_run(module: nn.Module, arithmetic: str, *, patient: bool = True) -> CountingRun:
    """The run that counts errors in this arithmetic: with rounding bounds; or in integers, or by one program, which
    have none.
    """
    from netpact.network.as_run import AsRun  # they need what is here
    from netpact.network.whole_run import WholeRun

    if arithmetic == WHOLE:
        return WholeRun(module)
    return AsRun(module) if arithmetic == AS_RUN else ToleranceRun(module, arithmetic, patient=patient)


def count_batch(
    run: CountingRun, inputs: NDArray[np.float32], labels: NDArray[np.int64], places: NDArray[np.int64]
) -> ErrorCount:
    """A sample is right if its own logit minus its spread exceeds every other logit plus that one's spread."""
    logits, y = run.decide(inputs, places), torch.from_numpy(labels)
    refuse_bad_logits(logits, labels, places)
    surely = margins_between(logits.values - logits.spread, logits.values + logits.spread, y) > 0
    apparently = margins_between(logits.values, logits.values, y) > 0
    return ErrorCount(
        errors=int((~surely).sum()),
        near_ties=int((apparently & ~surely).sum()),
        samples=len(labels),
        overflows=int((apparently & torch.isinf(logits.spread).any(dim=1)).sum()),
    )


def refuse_bad_logits(logits: Logits, labels: NDArray[np.int64], places: NDArray[np.int64]) -> None:
    if logits.values.dim() != 2 or len(logits.values) != len(labels):
        raise PactError(
            f"the network must return logits of shape (samples, classes), got {tuple(logits.values.shape)}",
            where="network output",
        )
    bad = torch.nonzero(~torch.isfinite(logits.values).all(dim=1))
    if len(bad):
        raise PactError("NaN or infinite logits", where=f"sample {int(places[int(bad[0])])}")
    if int(labels.max()) >= logits.values.shape[1]:
        raise PactError(
            f"label {int(labels.max())}, but the network has {logits.values.shape[1]} classes",
            where=f"sample {int(places[int(labels.argmax())])}",
        )


def margins_between(own: Tensor, others: Tensor, labels: Tensor) -> Tensor:
    rivals = others.scatter(1, labels[:, None], -torch.inf)
    return own.gather(1, labels[:, None]).squeeze(1) - rivals.amax(dim=1)
