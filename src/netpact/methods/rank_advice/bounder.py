"""Deviation bounds of a network in which one layer is replaced: what belongs to the others is computed once."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from netpact.algebra.outward import norm_up, round_up
from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.deviations.deviation import Walker
from netpact.deviations.layer_bounds import LayerBounds, compare, measure_distance
from netpact.layers import Chain
from netpact.layers.rewrites import replace_part
from netpact.network.kinds import KINDS

_ARITHMETIC = {torch.float32: "float32", torch.float64: "float64"}


class Bounder:
    """The network with every CP layer as the one layer that it computes, in the network's precision.

    note  why there are no deviation bounds; "" where there are
    """

    def __init__(self, module: nn.Module, samples: Samples | None) -> None:
        run = copy.deepcopy(module)
        while chain := next((part for part in run.modules() if isinstance(part, Chain)), None):
            run = replace_part(run, chain, chain.to_dense())
        self._run, self._same = run, dict[str, LayerBounds]()
        self._batches = [] if samples is None else [inputs for inputs, _ in samples.batches(64)]
        self.note = "" if samples is not None else "deviation bounds were not asked for"
        dtypes = {tensor.dtype for tensor in run.parameters()}
        self._arithmetic = _ARITHMETIC.get(dtypes.pop(), "") if len(dtypes) == 1 else ""
        if samples is not None:
            self._try()

    def _try(self) -> None:
        """A network that has no rule for one of its operations has no bound at any rank."""
        if not self._arithmetic:
            self.note = "no deviation bounds: parameters are not of one type, float32 or float64"
            return
        owners = [(name, part) for name, part in self._run.named_modules() if KINDS.find(part) is not None]
        try:
            self._same = {name: compare(run=part, other=part) for name, part in owners}
            self._largest(self._same, self._batches[:1])
        except PactError as error:
            self.note = f"no deviation bounds: {error}"

    def bound(self, name: str, layer: nn.Module) -> tuple[float, float | None]:
        """An upper bound on |W - W^|_op, and the largest bound on |f - f^|_2 of the samples, if there is one."""
        own = self._run.get_submodule(name)
        if self.note:
            return measure_distance(own, layer).weights, None
        known = compare(run=own, other=layer)
        return known.distance.weights, self._largest({**self._same, name: known}, self._batches)

    def _largest(
        self, layers: dict[str, LayerBounds], batches: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]
    ) -> float:
        walker = Walker(self._run, layers, arithmetic=self._arithmetic, other_arithmetic=self._arithmetic)
        largest = 0.0
        for inputs in batches:
            walked = walker(inputs)
            bound = round_up(walked.bound + 2 * norm_up(walked.spread))
            largest = max(largest, float(bound.nan_to_num(nan=torch.inf, posinf=torch.inf).max()))
        return largest
