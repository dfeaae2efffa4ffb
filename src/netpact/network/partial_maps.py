"""M^{i,j}: what a network makes of layer i's output until layer j's, as a function that can be differentiated.

x^i is the output of weight layer i before its activation; x^{d+1} stands for the logits. The map is the network run
again with x^i replaced, so that what goes around layer i (a skip) is the sample's own.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from netpact.core.errors import PactError
from netpact.network.watching import check_pair, watching

if TYPE_CHECKING:
    from netpact.network.tracing import Network


@dataclass(frozen=True, eq=False)
class PartialMap:
    """M^{i,j} at given samples. Samples do not mix, so derivatives are taken for a whole batch at once.

    network  in eval mode
    start    i, from 1
    ends     the j that are wanted, each above i; the number of layers + 1 stands for the logits
    inputs   the network's input, one row for each sample
    """

    network: Network
    start: int
    ends: tuple[int, ...]
    inputs: Tensor

    def __post_init__(self) -> None:
        for end in self.ends:
            check_pair(self.network, self.start, end)
        if not self.ends:
            raise PactError("no layer to end at", where="partial map")

    def point(self) -> Tensor:
        """x^i of these samples."""
        return self._reached[self.start]

    @cached_property
    def _reached(self) -> dict[int, Tensor]:
        """The outputs of the layers up to i. Those before it stay what they are whatever layer i returns."""
        found: dict[int, Tensor] = {}

        def keep(index: int, _: Tensor, output: Tensor) -> Tensor:
            if index <= self.start:
                found[index] = output
            return output.clone()

        with torch.no_grad(), watching(self.network, keep):
            self.network.module(self.inputs)
        return found

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        """x^j for every j in `ends`, if layer i had returned x."""
        found: dict[int, Tensor] = {}

        def replace(index: int, _: Tensor, output: Tensor) -> Tensor:
            if index == self.start:
                return x.clone()
            if index in self.ends:
                found[index] = output
            return output.clone()

        with watching(self.network, replace, known=self._reached):
            found[len(self.network.layers) + 1] = self.network.module(self.inputs)
        missing = [end for end in self.ends if end not in found]
        if missing:
            raise PactError(f"layer {missing[0]} does not run", where="partial map")
        return tuple(found[end] for end in self.ends)

    def push(self, direction: Tensor) -> tuple[Tensor, ...]:
        """J^{i,j} v for every j, from one forward-mode pass."""
        # The fused kernel for attention has no forward-mode derivative; the one written out has.
        with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH):
            # torch's own module of forward-mode rules uses a deprecated part of torch when it is first loaded.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                pair = torch.func.jvp(self, (self.point(),), (direction,))
            except NotImplementedError as error:
                raise PactError(
                    f"torch has no forward-mode derivative for a part of this network: {str(error).splitlines()[0]}",
                    where="partial map",
                    hint="measure quantities that need no Jacobians: `only`",
                ) from error
        return tuple(pair[1])

    def pull(self, *weights: Tensor) -> Tensor:
        """sum over j of (J^{i,j})^T w_j, from one backward pass; one w for each j in `ends`."""
        x = self.point().clone().requires_grad_()
        with torch.enable_grad():
            outputs = self(x)
            (gradient,) = torch.autograd.grad(outputs, x, grad_outputs=weights)
        return gradient
