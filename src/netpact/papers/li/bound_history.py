"""Figure 2b: the bound of Theorem 4.5 while a network is trained."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from netpact.bounds import EstimateOptions
from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import decode_json, encode_json
from netpact.datasets import Data
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


class BoundHistory:
    """Called after each epoch; looks at the first, at every n-th, and keeps what it saw in a file that survives a kill.

    The margin is that of a tenth of the samples that are right, as in netpact bounds.
    """

    def __init__(self, file: Path, data: Data, *, every: int) -> None:
        self._file, self._data, self._every = file, data, every
        found: Any = decode_json(read_bytes(file).decode(), where=str(file)) if file.exists() else []
        self._points = {point["epoch"]: BoundPoint.read(point) for point in found}

    @property
    def points(self) -> tuple[BoundPoint, ...]:
        return tuple(self._points[epoch] for epoch in sorted(self._points))

    def __call__(self, epoch: int, module: nn.Module) -> None:
        if epoch > 1 and epoch % self._every:
            return
        self._points[epoch] = look(epoch, module, self._data)
        told = encode_json([asdict(point) for point in self.points], where=f"epoch {epoch}")
        write_atomically(self._file, told.encode())


def look(epoch: int, module: nn.Module, data: Data) -> BoundPoint:
    assert data.test is not None, "the networks of experiments are tested"
    network, _ = fold_for_measuring(copy.deepcopy(module).eval(), data)
    margins = measure_margins(network, data.train)
    gamma = EstimateOptions().gamma.candidates(margins)[0]
    properties = tensor_properties(network, data)
    valid, printed = (find_ranks(properties, margin=gamma, as_printed=flag).parameters for flag in (False, True))
    errors, count = error_rate(module, data.test)
    return BoundPoint(epoch, margins.share_below(0.0), errors / count, gamma, valid, printed, margins.count)
