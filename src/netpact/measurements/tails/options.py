"""Which tails are measured, and how a convolution is a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from torch import Tensor

from netpact.core.checks import check_choice, check_flag, check_instance, check_integer
from netpact.core.seed import Seed


def _whole(weight: Tensor) -> tuple[Tensor, ...]:
    return (weight.flatten(1),)


def _slices(weight: Tensor) -> tuple[Tensor, ...]:
    return weight.flatten(2).unbind(2) if weight.ndim > 2 else (weight,)


# The matrices that eigenvalues are taken of; a linear layer is one either way.
CONVOLUTIONS: Mapping[str, Callable[[Tensor], tuple[Tensor, ...]]] = MappingProxyType(
    {"matrix": _whole, "slices": _slices}
)


@dataclass(frozen=True)
class TailOptions:
    """convolution  "matrix": outputs x (inputs * kernel), one matrix; "slices": outputs x inputs at each place of the
                 kernel, their eigenvalues together, as WeightWatcher takes them
    weights      fit the magnitudes of the weights
    eigenvalues  fit the eigenvalues of W^T W
    stable       fit an alpha-stable distribution to the weights
    repeats      of the bootstrap that the p-values come from; 0 for none, since each repeat costs a fit
    """

    convolution: str = "matrix"
    weights: bool = True
    eigenvalues: bool = True
    stable: bool = True
    repeats: int = 0
    seed: Seed = field(default_factory=lambda: Seed(0))

    def __post_init__(self) -> None:
        check_choice(self.convolution, CONVOLUTIONS, where="convolution")
        for name in ("weights", "eigenvalues", "stable"):
            check_flag(getattr(self, name), where=name)
        check_integer(self.repeats, where="repeats", least=0)
        check_instance(self.seed, Seed, where="seed")
