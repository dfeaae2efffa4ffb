"""Running an integer network: one plain pass, with the account of its numbers beside it."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.whole.account import in_integers
from netpact.layers.whole.proving import run_counted, settle_layers
from netpact.network.rounding.batching import samples_at_once
from netpact.network.rounding.counting import Logits

_KEPT = 8  # samples of the first batch that are run again at the end, and computed in integers
_MOST_AT_ONCE = 64  # activations of so many samples stay in the processor's cache, or near it


class WholeRun:
    """A module of integer layers prepared to be run; the one given is not changed.

    Every batch is run with its account, so that a network cannot take a way that was not looked at. One sample of each
    batch is also run alone and as it is in practice.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = copy.deepcopy(module).float().eval()
        settle_layers(self._module)
        self._first: tuple[Tensor, Tensor] | None = None  # some inputs of the first batch, and their logits
        self._runs = 0
        self._at_once: int | None = None

    def batch(self, input_shape: tuple[int, ...], *, most: int) -> int:
        """How many samples to hand over at a time."""
        if self._at_once is None:
            self._at_once = samples_at_once(copy.deepcopy(self._module).double(), input_shape)
        return min(most, self._at_once, _MOST_AT_ONCE)

    @torch.no_grad()
    def __call__(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits:
        """Integers, the same on every machine: their spread is 0."""
        size = self.batch(inputs.shape[1:], most=max(1, len(inputs)))
        values = torch.cat([self._run(part) for part in torch.from_numpy(inputs).split(size)])
        return Logits(values, torch.zeros_like(values))

    decide = __call__  # nothing is quicker

    def _run(self, x: Tensor) -> Tensor:
        values = run_counted(self._module, x)
        if self._first is None:
            few, logits = self._first = x[:_KEPT].clone(), values[:_KEPT]
            company = few[:1].clone() if len(x) > 1 else torch.cat([x, 1 - x])
            self._compare(
                few.clone(), logits, "the network computes something else when its numbers are kept account of"
            )
            self._compare(company, logits[:1], _COMPANY)
            self._compare(few.roll(1, dims=0), logits.roll(1, dims=0), _COMPANY)
        else:
            row = self._runs % len(x)
            self._compare(x[row : row + 1].clone(), values[row : row + 1], _COMPANY)
        self._runs += 1
        return values

    def _compare(self, x: Tensor, values: Tensor, otherwise: str) -> None:
        found = self._module(x)[: len(values)].double()
        if not torch.equal(found.nan_to_num(), values.nan_to_num()):
            raise PactError(otherwise, where="network")

    @torch.no_grad()
    def finish(self) -> None:
        """After the last batch: the first samples again. A network that counts its calls answers otherwise now."""
        if self._first is not None:
            hint = "the first samples have other logits now than when they were run first"
            self._compare(self._first[0].clone(), self._first[1], hint)

    @torch.no_grad()
    def check_in_integers(self) -> None:
        """The first samples again, by the slow second implementation: every logit must be the same."""
        if self._first is None:
            return
        inputs, values = self._first
        with in_integers():
            found = run_counted(self._module, inputs.double())
        if not torch.equal(found, values):
            raise PactError(
                "a run on this machine differs from the same network in 64-bit integers",
                where="network",
                hint="this torch runs with reduced precision or fast convolution algorithms: see docs/networks.md",
            )


_COMPANY = "a sample's logits depend on the other samples of its batch, or on earlier batches"
