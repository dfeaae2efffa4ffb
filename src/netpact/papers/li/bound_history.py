"""Figure 2b: the bound of Theorem 4.5 while a network is trained."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from netpact.bounds import EstimateOptions
from netpact.datasets import Data
from netpact.experiments.history import History
from netpact.measurements import tensor_properties
from netpact.measurements.folded import fold_for_measuring
from netpact.methods.ranks_from_margin import find_ranks
from netpact.network import measure_margins
from netpact.training import error_rate


@dataclass(frozen=True)
class BoundPoint:
    """After one epoch. valid, printed: numbers in the components that the margin gamma asks for."""

    epoch: int
    train_error: float
    test_error: float
    gamma: float
    valid: int
    printed: int
    samples: int

    @property
    def gap(self) -> float:
        """The generalization error."""
        return self.test_error - self.train_error

    def bound(self, parameters: int) -> float:
        """sqrt(sum_k R_k (s + o + kx ky + 1) / m), without constants and logarithms."""
        return math.sqrt(parameters / self.samples)

    @staticmethod
    def read(record: Mapping[str, Any]) -> BoundPoint:
        return BoundPoint(**record)


class BoundHistory(History[BoundPoint]):
    """The margin is that of a tenth of the samples that are right, as in netpact bounds."""

    def __init__(self, file: Path, data: Data, *, every: int) -> None:
        super().__init__(file, every=every, look=lambda epoch, module: look(epoch, module, data), read=BoundPoint.read)


def look(epoch: int, module: nn.Module, data: Data) -> BoundPoint:
    assert data.test is not None, "the networks of experiments are tested"
    network, _ = fold_for_measuring(copy.deepcopy(module).eval(), data)
    margins = measure_margins(network, data.train)
    gamma = EstimateOptions().gamma.candidates(margins)[0]
    properties = tensor_properties(network, data)
    valid, printed = (find_ranks(properties, margin=gamma, as_printed=flag).parameters for flag in (False, True))
    errors, count = error_rate(module, data.test)
    return BoundPoint(epoch, margins.share_below(0.0), errors / count, gamma, valid, printed, margins.count)
