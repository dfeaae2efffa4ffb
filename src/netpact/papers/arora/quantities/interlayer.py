"""Interlayer cushions (Arora et al. 2018, Definitions 5 and 8), and the spread of the Jacobian (Definition 9).

How much of x^i arrives at the layers after it:

    mu_ij = min sqrt(n1 n2) |J x^i| / (|J|_F |x^i|),   with bias: |x^j| in the place of |J x^i|
    mu_i-> = min(1/sqrt(h_i), min_j mu_ij)
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from netpact.measurements.definition import QUANTITIES, OfLayer, OfPairs
from netpact.measurements.pairs import PAIRS
from netpact.measurements.passes import Context
from netpact.measurements.quantity import LEAST, MOST, Probed, Quantity, divide, of_weights, over_samples, worst_of
from netpact.measurements.structure import WeightLayer


def _cushions(layer: WeightLayer, context: Context, *, with_bias: bool = False) -> dict[int, Quantity]:
    numbers = _numbers(layer, context, with_bias=with_bias)
    return {end: _over(found, context, side=LEAST) for end, found in numbers.items()}


def _least(layer: WeightLayer, context: Context, *, with_bias: bool = False) -> Quantity:
    clip = 1 / math.sqrt(layer.units)
    return _clipped(layer, context, clip=clip, with_bias=with_bias) or of_weights(clip)


def _clipped(layer: WeightLayer, context: Context, *, clip: float, with_bias: bool = False) -> Quantity | None:
    pairs = _numbers(layer, context, with_bias=with_bias)
    if not pairs:
        return None
    numbers, errors = worst_of(list(pairs.values()), side=LEAST)
    if errors is not None:
        errors = np.where(numbers > clip, 0.0, errors)
    return _over((np.minimum(numbers, clip), errors), context, side=LEAST)


def _numbers(layer: WeightLayer, context: Context, *, with_bias: bool) -> dict[int, Probed]:
    """For each j the cushion at each sample, and its standard error."""
    found: dict[int, Probed] = {}
    for end, pair in context[PAIRS][layer.index].items():
        above = math.sqrt(layer.places) * (pair.value if with_bias else pair.pushed)
        cushion, errors = divide(above, pair.norm * pair.point, side=LEAST), None
        if pair.norm_error is not None:
            share = divide(pair.norm_error, pair.norm, side=MOST)
            errors = np.where(np.isfinite(cushion), cushion, 0.0) * share
        found[end] = cushion, errors
    return found


def _spread(layer: WeightLayer, context: Context) -> Quantity:
    """beta_i = max sqrt(n1 n2) |J at one pixel|_F / |J|_F over pixels and j; 1 for a linear layer."""
    pairs = context[PAIRS][layer.index].values()
    peaks = [(pair.peak, pair.peak_error) for pair in pairs if pair.peak is not None]
    if layer.kind != "conv2d" or not peaks:
        return of_weights(1.0)
    return _over(worst_of(peaks, side=MOST), context, side=MOST)


def _over(found: Probed, context: Context, *, side: str) -> Quantity:
    return over_samples(found[0], side=side, complete=context.complete, errors=found[1])


_CUSHION = "Arora et al. 2018, Definitions 5 and 8"
_BIASED, _LEAST_BIASED = partial(_cushions, with_bias=True), partial(_least, with_bias=True)

for row in (
    OfLayer(
        "min_interlayer_cushion",
        _least,
        title="minimal interlayer cushion",
        symbol="mu ->",
        needs=(PAIRS,),
        short="interlayer",
        reference=_CUSHION,
    ),
    OfLayer(
        "min_interlayer_cushion_unclipped",
        partial(_clipped, clip=math.inf),
        title="minimal interlayer cushion, not clipped",
        meaning="noise after this layer is damped more on its way to the logits",
        needs=(PAIRS,),
        reference=_CUSHION,
    ),
    OfLayer("min_interlayer_cushion_with_bias", _LEAST_BIASED, title="interlayer cushion, bias", needs=(PAIRS,)),
    OfPairs("interlayer_cushions", _cushions, title="interlayer cushion", needs=(PAIRS,)),
    OfPairs("interlayer_cushions_with_bias", _BIASED, title="interlayer cushion, bias", needs=(PAIRS,)),
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
