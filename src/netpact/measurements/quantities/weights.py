"""Norms of a layer's weights, and the distance from those before training."""

from __future__ import annotations

from netpact.measurements.definition import QUANTITIES, OfLayer
from netpact.measurements.passes import Context
from netpact.measurements.quantity import MOST, Quantity, of_weights
from netpact.measurements.structure import WeightLayer
from netpact.measurements.weights import INITIAL, SPECTRA, frobenius


def _size(layer: WeightLayer, context: Context) -> Quantity:
    """|A|_F of the weight as it is stored."""
    return of_weights(frobenius(layer))


def _lower(layer: WeightLayer, context: Context) -> Quantity:
    return of_weights(context[SPECTRA][layer.index][0])


def _upper(layer: WeightLayer, context: Context) -> Quantity:
    return of_weights(context[SPECTRA][layer.index][1])


def _rank(layer: WeightLayer, context: Context) -> Quantity:
    """|A|_F^2 / |A|_op^2 from below: |A|_F^2 / spectral_upper^2."""
    upper = context[SPECTRA][layer.index][1]
    return of_weights((frobenius(layer) / upper) ** 2 if upper > 0 else 0.0)


def _distance(layer: WeightLayer, context: Context) -> Quantity | None:
    """|A - A_0|_F."""
    return of_weights(context[INITIAL][layer.index]) if context[INITIAL] else None


for row in (
    OfLayer("frobenius", _size, symbol="|A|_F", title="Frobenius norm", side=MOST),
    OfLayer("spectral_lower", _lower, title="operator norm, lower bound", side=MOST, needs=(SPECTRA,)),
    OfLayer("spectral_upper", _upper, symbol="|A|_op", title="operator norm, upper bound", side=MOST, needs=(SPECTRA,)),
    OfLayer("stable_rank", _rank, title="stable rank", side=MOST, needs=(SPECTRA,)),
    OfLayer("distance_from_initial", _distance, title="distance from the start", side=MOST, needs=(INITIAL,)),
):
    QUANTITIES.add(row)
