"""Two networks of one structure, run as one: how far apart can their activations be?

One of them is run. Every tensor of that run carries, for each sample, a number `bound`: the same tensor of the other
network, run in its stated precision on any machine, is within `bound` of this one in the l2 norm. This one is meant in
real numbers: its values are computed in float64 and carry their own rounding bounds (network/rounding).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netpact.algebra.outward import norm_up
from netpact.core.errors import PactError
from netpact.deviations.layer_bounds import LayerBounds
from netpact.network.nested import tensors_in
from netpact.network.rounding.counting import Logits
from netpact.network.rounding.tolerance import (
    BadSampleError,
    Rounding,
    Spread,
    flushed_part,
    make_spread,
    rounding,
    value_of,
)


@dataclass
class Walk:
    """One run: the precision of the other network, and what was met that has no rule.

    layers  what is known of the layers within an operation, for all batches
    """

    own: Rounding
    other: Rounding
    unknown: list[str] = field(default_factory=list)
    layers: dict[Any, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        return sorted({*self.own.unknown, *self.unknown})


class OutsideLayerError(PactError):
    """Something was computed from parameters alone, where only the layer that owns them can be followed."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"the operation {operation} uses a parameter or buffer outside its layer",
            where="network",
            hint="let only the layer that owns a tensor use it",
        )


class Followed(Tensor):
    """Every operation on it goes by the rules."""

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from netpact.deviations.deviation_rules import apply_rule

        return apply_rule(func, args, kwargs or {})


class Deviation(Followed):
    """A tensor of the network that is run, and a bound for each sample on where the other network's tensor is.

    axis  the one that counts the samples: nearly always the first
    """

    held: Spread
    bound: Tensor
    walk: Walk
    axis: int


class LayerTensor(Followed):
    """A parameter or buffer. Outside its layer it may be used only where the other network's is known as well."""

    other: Tensor | None

    @property
    def is_known(self) -> bool:
        return getattr(self, "other", None) is not None

    def pair(self) -> tuple[Tensor, Tensor]:
        """This network's numbers and the other's."""
        assert self.other is not None
        return self.as_subclass(Tensor), self.other


def make_parameter(tensor: Tensor, other: Tensor | None) -> LayerTensor:
    wrapped = tensor.detach().as_subclass(LayerTensor)
    wrapped.other = None if other is None else other.detach().double()
    return wrapped


class Strays(TorchFunctionMode):
    """While entered, refuses what is computed from a layer's tensors that are reached by another way: from a list."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._own = {tensor.untyped_storage()._cdata for tensor in (*module.parameters(), *module.buffers())}
        self.is_inside_layer = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not self.is_inside_layer:
            for tensor in tensors_in((args, kwargs)):
                if not isinstance(tensor, (Followed, Spread)) and tensor.untyped_storage()._cdata in self._own:
                    name = getattr(func, "__name__", str(func))
                    raise OutsideLayerError(name)
        return func(*args, **(kwargs or {}))


def make_deviation(held: Spread, bound: Tensor, walk: Walk, axis: int = 0) -> Deviation:
    wrapped = value_of(held).as_subclass(Deviation)
    wrapped.held, wrapped.bound, wrapped.walk, wrapped.axis = held, bound, walk, axis
    return wrapped


def size_of(held: Spread) -> Tensor:
    """An upper bound on the norm of each sample's activation in real numbers."""
    return norm_up(value_of(held).abs() + held.spread)


@dataclass(frozen=True)
class Walked(Logits):
    """One batch of logits of the network that was run, and for each sample how far the other network's may be.

    unruled  operations without a rule: where there are any, no bound is finite
    """

    bound: Tensor
    unruled: tuple[str, ...] = ()


class Walker:
    """A module prepared to be compared with another one of its structure. The module given is not changed.

    layers            for every layer with weights, by name, what is known of the other network's
    arithmetic        the precision that rounding bounds of the values are for
    other_arithmetic  the precision that the other network is run in
    other             the other network, where it is known: then parameters may be used outside of layers
    """

    def __init__(
        self,
        module: nn.Module,
        layers: Mapping[str, LayerBounds],
        *,
        arithmetic: str,
        other_arithmetic: str,
        other: nn.Module | None = None,
    ) -> None:
        self._given, self._module = module, copy.deepcopy(module).double().eval()
        self._arithmetic = arithmetic
        with rounding(other_arithmetic) as found:
            self._other = found
        self._seen = 0
        self._layers: dict[Any, Any] = {}
        self._strays = Strays(self._module)
        parts = dict(self._module.named_modules())
        for name, bounds in layers.items():
            part = parts[name]
            part.forward = partial(_through_layer, self._strays, name, copy.deepcopy(part), bounds)
        twins = {} if other is None else {**dict(other.named_parameters()), **dict(other.named_buffers())}
        for name, part in parts.items():
            for tensors in (part._parameters, part._buffers):
                for key, tensor in tensors.items():
                    if tensor is not None:
                        tensors[key] = make_parameter(tensor, twins.get(f"{name}.{key}".lstrip(".")))

    def __call__(self, inputs: NDArray[np.float32]) -> Walked:
        """One batch; refused where an operation has no rule."""
        walked = self.follow(inputs)
        if walked.unruled:
            raise PactError(
                "no bound on the difference of two networks is known for:\n  " + "\n  ".join(walked.unruled),
                where="network",
                hint="docs/deviations.md lists what is supported",
            )
        return walked

    @torch.no_grad()
    def follow(self, inputs: NDArray[np.float32]) -> Walked:
        """One batch; with infinite bounds, and their names, where operations have no rule."""
        x = torch.from_numpy(inputs).double()
        with rounding(self._arithmetic, collect=True) as own:
            walk = Walk(own, self._other, layers=self._layers)
            flushed = flushed_part(torch.from_numpy(inputs))
            start = make_spread(x.clone(), own.limit(flushed, x.abs()))
            # The other network's machine may flush the same numbers, or not.
            bound = norm_up(flushed) if bool(flushed.any()) else torch.zeros(len(x), dtype=torch.float64)
            try:
                with self._strays:
                    logits = self._module(make_deviation(start, bound, walk))
            except BadSampleError as error:
                raise error.at(self._seen + error.row) from error
            except OutsideLayerError as error:
                walk.unknown.append(error.what)
        self._seen += len(x)
        if problems := walk.problems():
            return self._without_bound(x, problems)
        if not isinstance(logits, Deviation):
            raise PactError("the network does not return one tensor of logits computed from its input", where="network")
        if logits.axis:
            return self._without_bound(x, ["logits whose first axis does not count the samples"])
        # Nothing is known of what may overflow; infinity times zero is no number at all.
        spread, bound = (
            found.nan_to_num(nan=torch.inf, posinf=torch.inf) for found in (logits.held.spread, logits.bound)
        )
        return Walked(value_of(logits.held), spread, bound)

    def _without_bound(self, x: Tensor, problems: list[str]) -> Walked:
        """Whatever was found on the way: an operation without a rule may have led anywhere, by integers too."""
        logits = copy.deepcopy(self._given).double().eval()(x)
        return Walked(
            logits, torch.zeros_like(logits), torch.full((len(x),), torch.inf, dtype=torch.float64), tuple(problems)
        )


def _through_layer(strays: Strays, name: str, layer: nn.Module, bounds: LayerBounds, x: Any) -> Any:
    from netpact.deviations.layer_rule import follow_layer

    strays.is_inside_layer = True
    try:
        return follow_layer(name, layer, bounds, x)
    finally:
        strays.is_inside_layer = False
