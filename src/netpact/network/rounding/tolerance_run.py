"""A network run with rounding bounds, batch by batch, and refused where its samples do not stand by themselves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.algebra.outward import norm_up
from netpact.core.errors import PactError
from netpact.network.adapting import other_inputs
from netpact.network.rounding.batching import samples_at_once
from netpact.network.rounding.constants import Constants
from netpact.network.rounding.tolerance import (
    BadSampleError,
    Constant,
    Lengths,
    Spread,
    flushed_part,
    make_spread,
    rounding,
    value_of,
)

_SAME = 1e-9  # two float64 runs of one network differ by far less
_GUARDED = 64  # samples of the first batch that are also run as they are in practice
_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_FAR = 2.0**10  # times its margin: a bound so wide is hardly ever mended entry by entry
_TRIALS = 64  # such samples are run entry by entry before the others of their kind are given up


@dataclass(frozen=True)
class Logits:
    """One batch of logits computed in float64, and how far any run in the stated precision may be from them.

    An infinite spread says that such a run may overflow.
    """

    values: Tensor
    spread: Tensor


class ToleranceRun:
    """A module prepared to be run with rounding bounds. The module given is not changed.

    Inputs of any number are run in parts that bound the memory: a large network takes a few samples at once.

    patient  False: `decide` may leave samples open that have a winner, if their bounds are far too wide and others like
             them were run entry by entry in vain
    trials   how many more such samples are run entry by entry before the others are given up; None: all of them
    """

    def __init__(self, module: nn.Module, arithmetic: str, *, patient: bool = True) -> None:
        with rounding(arithmetic):  # refuses a precision that is not known
            self._given, self._arithmetic = module, arithmetic
        refuse_flushing()
        self._module = copy.deepcopy(module).double().eval()
        self._refuse_lost_digits()
        self._constants = Constants(self._module)
        self._norms: dict[Any, Any] = {}  # of its layers
        self._first: tuple[Tensor, Tensor] | None = None  # some inputs of the first batch, and their logits
        self._runs = 0
        self.trials: int | None = None if patient else _TRIALS
        self._at_once: int | None = None

    def _refuse_lost_digits(self) -> None:
        """Weights of more digits than the precision has are other weights there."""
        for name, tensor in [*self._module.named_parameters(), *self._module.named_buffers()]:
            if tensor.is_floating_point() and not torch.equal(tensor, tensor.to(_DTYPES[self._arithmetic]).double()):
                raise PactError(
                    f"{name} holds numbers that {self._arithmetic} does not have",
                    where="network",
                    hint=f"round the weights first (module.to(torch.{self._arithmetic})), or use float64",
                )

    def batch(self, input_shape: tuple[int, ...], *, most: int) -> int:
        """How many samples to hand over at a time: `most`, or as many as run at once where those are fewer."""
        if self._at_once is None:
            self._at_once = samples_at_once(self._module, input_shape)
        return min(most, self._at_once)

    @torch.no_grad()
    def __call__(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits:
        """places  of these samples among all, for what is said about one of them"""
        return self._in_parts(inputs, places, self._run_fully)

    @torch.no_grad()
    def decide(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits:
        """The same logits, with wider spreads for samples of which one class wins all the same: that takes less time.

        All samples are run with bounds in the Euclidean norm, and those that it leaves open entry by entry as well.
        """
        return self._in_parts(inputs, places, self._run_quickly)

    def _in_parts(
        self,
        inputs: NDArray[np.float32],
        places: NDArray[np.int64] | None,
        run: Callable[[Tensor], Logits],
    ) -> Logits:
        size = self.batch(inputs.shape[1:], most=max(1, len(inputs)))
        parts = []
        for start, part in enumerate(torch.from_numpy(inputs).split(size)):
            try:
                parts.append(self._guarded(part, run(part)))
            except BadSampleError as error:
                row = start * size + error.row
                raise error.at(row if places is None else int(places[row])) from error
        if len(parts) == 1:
            return parts[0]
        return Logits(torch.cat([part.values for part in parts]), torch.cat([part.spread for part in parts]))

    def _run_fully(self, inputs: Tensor) -> Logits:
        return self._follow(inputs, Lengths(alone=False, norms=self._norms))

    def _run_quickly(self, inputs: Tensor) -> Logits:
        quick = self._follow(inputs, Lengths(alone=True, norms=self._norms))
        if quick.values.dim() != 2 or quick.values.shape[1] < 2:
            return self._run_fully(inputs)
        unsure, far = ~has_winner(quick), _is_far(quick)
        open_ = torch.nonzero(unsure & ~far if self.trials == 0 else unsure).flatten()
        if not len(open_):
            return quick
        full = self._run_fully(inputs[open_])
        in_vain = ~has_winner(full)[far[open_]]
        if self.trials is not None:
            self.trials = max(0, self.trials - len(in_vain)) if bool(in_vain.all()) else None
        if not are_same(full.values, quick.values[open_]):
            raise PactError("a sample's logits depend on the other samples of its batch", where="network")
        return Logits(quick.values.index_copy(0, open_, full.values), quick.spread.index_copy(0, open_, full.spread))

    def _follow(self, inputs: Tensor, lengths: Lengths | None) -> Logits:
        x = inputs.double()
        with rounding(self._arithmetic, lengths=lengths) as run:
            spread = run.limit(flushed_part(inputs), x.abs())
            length = norm_up(spread) if bool(spread.any()) else torch.zeros(len(x), dtype=torch.float64)
            start = make_spread(x.clone(), spread, length)
            with self._constants:
                logits = self._module(start)
        if not isinstance(logits, Spread) or isinstance(logits, Constant):
            raise PactError("the network does not return one tensor of logits computed from its input", where="network")
        return Logits(value_of(logits), logits.spread.nan_to_num(nan=torch.inf, posinf=torch.inf).contiguous())

    def _guarded(self, inputs: Tensor, result: Logits) -> Logits:
        x = inputs.double()
        if self._first is None:
            self._refuse_disagreement(x, result)
            self._refuse_other_arithmetic(inputs, result)
            self._first = x[:_GUARDED], result.values[:_GUARDED]
        else:
            self._refuse_company(x, result)
        self._runs += 1
        return result

    @torch.no_grad()
    def finish(self) -> None:
        """After the last batch: the first samples again. A network that counts its calls answers otherwise now."""
        if self._first is not None and not are_same(self._module(self._first[0].clone()), self._first[1]):
            raise PactError(
                "the first samples have other logits now than when they were run first",
                where="network",
                hint="a network must not remember what it was run on",
            )

    def _refuse_company(self, x: Tensor, result: Logits) -> None:
        """One sample of every batch, now here and now there, is run alone."""
        row = self._runs % len(x)
        if not are_same(self._module(x[row : row + 1].clone()), result.values[row : row + 1]):
            raise PactError(
                "a sample's logits depend on the other samples of its batch, or on earlier batches", where="network"
            )

    def _refuse_disagreement(self, x: Tensor, result: Logits) -> None:
        """The rules must compute what the module computes; tricks with aliases or in-place changes would show here."""
        plain = self._module(x.clone())
        if not are_same(plain, result.values):
            raise PactError(
                "the network computes something else under rounding analysis than when it is run",
                where="network",
                hint="avoid in-place changes of tensors that are used again",
            )
        # A sum over the batch shows when a sample is alone, a look at one place of the batch when all move on by one.
        company = x[:1].clone() if len(x) > 1 else torch.cat([x, other_inputs(self._module, x)])
        other, moved = self._module(company)[:1], self._module(x.roll(1, dims=0))
        if not (are_same(plain[:1], other) and are_same(plain.roll(1, dims=0), moved)):
            raise PactError("a sample's logits depend on the other samples of its batch", where="network")

    def _refuse_other_arithmetic(self, inputs: Tensor, result: Logits) -> None:
        """Run the module as it is run in practice, in the stated precision: it must lie within the proven bound."""
        dtype = _DTYPES[self._arithmetic]
        found = copy.deepcopy(self._given).to(dtype).eval()(inputs[:_GUARDED].to(dtype))
        values, spread = result.values[:_GUARDED], result.spread[:_GUARDED]
        within = (found.double() - values).abs() <= spread
        outside = torch.nonzero(~(within | torch.isinf(spread)).flatten(1).all(dim=1))
        if found.dtype != dtype or len(outside):
            raise PactError(
                f"a run in {self._arithmetic} on this machine is not within the proven rounding bound",
                where=f"network, sample {int(outside[0, 0]) if len(outside) else 0} of the first batch",
                hint="the network looks at the type of its numbers, or this torch runs with reduced precision or fast "
                "convolution algorithms: see docs/certificate.md",
            )


def refuse_flushing() -> None:
    """A process that flushes subnormal numbers cannot even see which of the weights are subnormal."""
    if bool(torch.tensor([2.0**-140]) == 0):
        raise PactError(
            "subnormal numbers are flushed to zero in this process",
            where="torch",
            hint="call torch.set_flush_denormal(False) while errors are counted",
        )


def has_winner(logits: Logits) -> Tensor:
    """For each sample, whether one class surely has the highest logit in every run."""
    lower, winner = (logits.values - logits.spread).max(dim=1)
    rivals = (logits.values + logits.spread).scatter(1, winner[:, None], -torch.inf)
    return lower > rivals.amax(dim=1)


def _is_far(logits: Logits) -> Tensor:
    """For each sample, whether the bound is wider than its margin by far."""
    second, first = logits.values.sort(dim=1).values[:, -2:].unbind(1)
    return logits.spread.amax(dim=1) > _FAR * (first - second)


def are_same(first: Tensor, second: Tensor) -> bool:
    """Up to the rounding of two float64 runs. NaN is equal to NaN here: it is reported later, with its sample."""
    if first.shape != second.shape:
        return False
    size = 1 + float(first[torch.isfinite(first)].abs().max()) if bool(torch.isfinite(first).any()) else 1.0
    return torch.allclose(first, second, rtol=0.0, atol=_SAME * size, equal_nan=True)
