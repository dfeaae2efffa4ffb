"""Interlayer cushions (Arora et al. 2018, Definitions 5 and 8): how much of x^i arrives at the layers after it.

mu_ij = min sqrt(n1 n2) |J x^i| / (|J|_F |x^i|),   with bias: |x^j| in the place of |J x^i|
mu_i-> = min(1/sqrt(h_i), min_j mu_ij)
"""

from __future__ import annotations

import math

import numpy as np

from netpact.measurements.definition import QUANTITIES, OfLayer, OfPairs
from netpact.measurements.pairs import PAIRS, PairNumbers
from netpact.measurements.passes import Context
from netpact.measurements.quantity import LEAST, MOST, Probed, Quantity, divide, of_weights, over_samples, worst_of
from netpact.measurements.structure import WeightLayer


def _cushions(layer: WeightLayer, context: Context, *, with_bias: bool = False) -> dict[int, Quantity]:
    numbers = _numbers(layer, context, with_bias=with_bias)
    return {
        end: over_samples(found, side=LEAST, complete=context.complete, errors=errors)
        for end, (found, errors) in numbers.items()
    }


def _least(layer: WeightLayer, context: Context, *, with_bias: bool = False) -> Quantity:
    """Clipped at 1/sqrt(h_i)."""
    clip = 1 / math.sqrt(layer.units)
    return _clipped(layer, context, clip, with_bias=with_bias) or of_weights(clip)


def _clipped(layer: WeightLayer, context: Context, clip: float, *, with_bias: bool = False) -> Quantity | None:
    pairs = _numbers(layer, context, with_bias=with_bias)
    if not pairs:
        return None
    numbers, errors = worst_of(list(pairs.values()), side=LEAST)
    if errors is not None:
        errors = np.where(numbers > clip, 0.0, errors)
    return over_samples(np.minimum(numbers, clip), side=LEAST, complete=context.complete, errors=errors)


def _numbers(layer: WeightLayer, context: Context, *, with_bias: bool) -> dict[int, Probed]:
    """For each j the cushion at each sample, and its standard error."""
    return {
        end: _cushion(numbers, layer.places, with_bias=with_bias)
        for (start, end), numbers in context[PAIRS].items()
        if start == layer.index
    }


def _cushion(pair: PairNumbers, places: int, *, with_bias: bool) -> Probed:
    jacobian, above = pair.jacobian, pair.value if with_bias else pair.pushed
    found = divide(math.sqrt(places) * above, jacobian.norm * pair.point, side=LEAST)
    if jacobian.norm_error is None:
        return found, None
    share = divide(jacobian.norm_error, jacobian.norm, side=MOST)
    return found, np.where(np.isfinite(found), found, 0.0) * share


def _least_with_bias(layer: WeightLayer, context: Context) -> Quantity:
    return _least(layer, context, with_bias=True)


def _unclipped(layer: WeightLayer, context: Context) -> Quantity | None:
    return _clipped(layer, context, math.inf)


def _cushions_with_bias(layer: WeightLayer, context: Context) -> dict[int, Quantity]:
    return _cushions(layer, context, with_bias=True)


def _spread(layer: WeightLayer, context: Context) -> Quantity:
    """beta_i = max sqrt(n1 n2) |J at one pixel|_F / |J|_F over pixels and j; 1 for a linear layer (Definition 9)."""
    norms = [numbers.jacobian for (start, _), numbers in context[PAIRS].items() if start == layer.index]
    peaks = [(norm.peak, norm.peak_error) for norm in norms if norm.peak is not None]
    if layer.kind != "conv2d" or not peaks:
        return of_weights(1.0)
    numbers, errors = worst_of(peaks, side=MOST)
    return over_samples(numbers, side=MOST, complete=context.complete, errors=errors)


for row in (
    OfLayer(
        "min_interlayer_cushion",
        _least,
        title="minimal interlayer cushion",
        symbol="mu ->",
        needs=(PAIRS,),
        short="interlayer",
        reference="Arora et al. 2018, Definitions 5 and 8",
    ),
    OfLayer(
        "min_interlayer_cushion_unclipped",
        _unclipped,
        title="minimal interlayer cushion, not clipped",
        meaning="noise after this layer is damped more on its way to the logits",
        needs=(PAIRS,),
        reference="Arora et al. 2018, Definitions 5 and 8",
    ),
    OfLayer("min_interlayer_cushion_with_bias", _least_with_bias, title="interlayer cushion, bias", needs=(PAIRS,)),
    OfPairs("interlayer_cushions", _cushions, title="interlayer cushion", needs=(PAIRS,)),
    OfPairs("interlayer_cushions_with_bias", _cushions_with_bias, title="interlayer cushion, bias", needs=(PAIRS,)),
    OfLayer(
        "well_distributed",
        _spread,
        title="spread of the Jacobian over pixels",
        symbol="beta",
        meaning="1 is even",
        side=MOST,
        needs=(PAIRS,),
        reference="Arora et al. 2018, Definition 9",
    ),
):
    QUANTITIES.add(row)
