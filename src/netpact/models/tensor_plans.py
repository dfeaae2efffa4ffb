"""Plans of networks with CP layers: those of a dense family, with a CP layer in the place of each convolution.

A convolution that looks at single pixels stays as it is, and so does the linear layer at the end: the CP form of a
matrix would be two factors of low rank, which are another thing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from netpact.core.errors import PactError
from netpact.layers.ranks import largest_rank
from netpact.models.norms import AS_TRAINED, FOLDED, NORMS
from netpact.models.plan import Conv, CPConv, DenseStep, Layer, Plan, Residual

Planner = Callable[[tuple[int, ...], tuple[int, ...], int], Plan]


def plan_with_cp(
    plan_dense: Planner, sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int, *, family: str
) -> Plan:
    """sizes: the dense family's but the last one, then the share, then how batch norm stands."""
    *dense, share, norm = sizes
    if norm not in (AS_TRAINED, FOLDED):
        raise PactError(f"the last size of {family} is {NORMS}; got {norm}", where=f"sizes[{len(sizes) - 1}]")
    return factor_plan(plan_dense((*dense, norm), input_shape, classes), share)


def factor_plan(plan: Plan, share: int) -> Plan:
    """CP layers in the place of all convolutions with kernels larger than 1x1. Batch norm is as it was."""
    return tuple((name, _factor(layer, share)) for name, layer in plan)


def _factor(layer: Layer, share: int) -> Layer:
    if isinstance(layer, Residual):
        return Residual(factor_plan(layer.body, share), factor_plan(layer.shortcut, share))
    if isinstance(layer, DenseStep):
        return DenseStep(factor_plan(layer.body, share))
    if isinstance(layer, Conv) and layer.kernel > 1:
        return CPConv(layer, rank_for(layer, share))
    return layer


def rank_for(layer: Conv, share: int) -> int:
    """The largest rank with  100 R (in + out + k^2) <= share in out k^2,  at least 1. Files depend on it."""
    return largest_rank((layer.outputs, layer.inputs, layer.kernel**2), Fraction(share, 100))
