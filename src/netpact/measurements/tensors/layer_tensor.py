"""One weight layer as a sum of rank-one tensors, with all that the error of dropping some of them depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from netpact.algebra import CPDecomposition
from netpact.algebra.component_norms import largest_frequencies
from netpact.core.checks import check_choice, check_flag, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.json import check_fields

KINDS = ("conv2d", "linear")
SUM, ROOT, LARGEST = "sum", "root", "largest"
WAYS = (SUM, ROOT, LARGEST)
_UNIT = 2.0**-52


@dataclass(frozen=True, eq=False)
class LayerTensor:
    """M = sum_r lambda_r b_r (x) a_r (x) C_r of a convolution, or of a linear layer as a tensor of order 4 or a matrix.

    components  unit factors, lambda positive and descending
    gains       c_r >= the operator norm of the convolution with C_r, for every image size; 1 for linear layers
    residual    >= |W - sum of all components|_op; 0 where the components are the layer's own
    frobenius   |M|_F of the weights as they are stored
    cushion     zeta = min |X'| / (|M|_F |X|) over the samples: X the layer's input, X' that of the next weight layer,
                or the logits (Definition 4.4, without its factor sqrt(HW))
    reshaping   rho = max |X|_2 / |X|_F of a linear layer's input as a matrix (Definition E.2); 1 for convolutions, and
                where the components are of a matrix
    places      H W: pixels of the layer's input; 1 for a linear layer
    skip        something goes around the layer: not all of the logits' input has passed it
    lipschitz   how much what stands between the layer and the next weight layers can enlarge a difference
    adding      how the norms of components add up: "sum"; "root" of the sum of squares, where what they give out was
                checked to be orthonormal; the "largest", where what they take in was, too
    sides       H, W of the layer's input; () for a linear layer
    printed     the gains of a convolution by Definition 4.2; computed from the kernels where they are asked for
    """

    name: str
    kind: str
    components: CPDecomposition
    gains: Tensor
    residual: float
    frobenius: float
    cushion: float
    reshaping: float
    places: int
    skip: bool
    lipschitz: float = 1.0
    adding: str = SUM
    sides: tuple[int, ...] = ()
    printed: Tensor | None = None

    def __post_init__(self) -> None:
        where = f"layer {self.name}"
        check_choice(self.kind, KINDS, where=f"{where}, kind")
        check_choice(self.adding, WAYS, where=f"{where}, adding")
        check_integer(self.places, where=f"{where}, places", least=1)
        check_flag(self.skip, where=f"{where}, skip")
        for name in ("residual", "frobenius", "cushion", "lipschitz"):
            check_number(getattr(self, name), where=f"{where}, {name}", least=0)
        check_number(self.reshaping, where=f"{where}, reshaping", above=0, most=1)
        if self.gains.shape != self.components.weights.shape or not bool((self.gains >= 0).all()):
            raise PactError(f"must be {self.rank} numbers >= 0, one for each component", where=f"{where}, gains")

    @property
    def rank(self) -> int:
        """R, the number of all components."""
        return self.components.rank

    @property
    def spectrum(self) -> Tensor:
        return self.components.weights.double()

    def tensorization(self) -> Tensor:
        """t_j for j = 0 .. R: at least the operator norm of the layer with the j largest components alone.

        t_j = sum_{r <= j} lambda_r c_r                               (Li et al. 2020, Definitions 4.2 and E.3)
        """
        return self._added(self.spectrum * self.gains)

    def noise(self) -> Tensor:
        """xi_j for j = 0 .. R: at least |W - M_j|_op, with M_j the layer of the j largest components.

            xi_j = sum_{r > j} lambda_r c_r + residual / rho          (Definitions 4.3 and E.5, and the residual)

        On the samples |(W - M_j) X| <= rho xi_j |X|: each dropped component meets |X|_2 <= rho |X|, the residual |X|.
        """
        dropped = self._added((self.spectrum * self.gains).flip(0)).flip(0)
        return (dropped + self.residual / self.reshaping) * (1 + 4 * _UNIT)

    def _added(self, norms: Tensor) -> Tensor:
        """Of the first 0, 1, .., R components, from above."""
        outward = 1 + (self.rank + 64) * _UNIT
        start = norms.new_zeros(1)
        if self.adding == LARGEST:
            return torch.cat([start, norms.cummax(dim=0).values]) * outward if self.rank else start
        power = 1 if self.adding == SUM else 2
        return torch.cat([start, norms.pow(power).cumsum(dim=0)]).pow(1 / power) * outward

    def low_rankness(self, threshold: float = 0.2) -> float:
        """The share of components whose lambda is above this share of the largest (Li et al. 2020, Figure 4)."""
        check_number(threshold, where="threshold", least=0, most=1)
        if not self.rank:
            return 0.0
        return float((self.spectrum > threshold * self.spectrum[0]).double().mean())

    def as_printed(self) -> LayerTensor:
        """By the paper's own definitions: unitary DFT on H x W frequencies, a cushion larger by sqrt(HW), no residual.

        What the paper says it proves does not hold for them.
        """
        if self.kind != "conv2d":
            return replace(self, residual=0.0, adding=SUM, lipschitz=1.0, gains=torch.ones_like(self.spectrum))
        gains, cushion = self._printed_gains(), self.cushion * math.sqrt(self.places)
        return replace(self, residual=0.0, adding=SUM, lipschitz=1.0, gains=gains, cushion=cushion)

    def _printed_gains(self) -> Tensor:
        if self.printed is not None:
            return self.printed
        # The kernels are the last factor, in CP forms of any order.
        kernels = self.components.factors[-1].T.reshape(self.rank, *self.components.shape[-2:])
        return largest_frequencies(kernels, self.sides)

    def to_json(self) -> dict[str, object]:
        """Without the factors: they are the network's own, or follow from its weights."""
        found = self.components
        return {
            "name": self.name,
            "kind": self.kind,
            "shape": list(found.shape),
            "factors": [len(factor) for factor in found.factors],
            "relative_error": found.relative_error,
            "spectrum": self.spectrum.tolist(),
            "gains": self.gains.tolist(),
            "printed": self._printed_gains().tolist() if self.kind == "conv2d" else None,
            **{name: getattr(self, name) for name in _NUMBERS},
            "sides": list(self.sides),
        }

    @classmethod
    def from_json(cls, value: object) -> LayerTensor:
        """The factors have their sizes, but no values."""
        content: Mapping[str, Any] = check_fields(value, (*_LISTS, *_NUMBERS), where="layer")
        weights, gains = (torch.tensor(content[name], dtype=torch.float64) for name in ("spectrum", "gains"))
        factors = tuple(torch.empty(size, len(weights), device="meta") for size in content["factors"])
        found = CPDecomposition(weights, factors, tuple(content["shape"]), content["relative_error"])
        printed = None if content["printed"] is None else torch.tensor(content["printed"], dtype=torch.float64)
        numbers = {name: content[name] for name in _NUMBERS}
        sides = tuple(content["sides"])
        return cls(content["name"], content["kind"], found, gains, sides=sides, printed=printed, **numbers)


_LISTS = ("name", "kind", "shape", "factors", "relative_error", "spectrum", "gains", "printed", "sides")
_NUMBERS = ("residual", "frobenius", "cushion", "reshaping", "places", "skip", "lipschitz", "adding")
