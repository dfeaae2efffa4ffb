"""The same measurements with a few of the worst samples left out (Arora et al. 2018, Corollaries A.1 and C.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from netpact.core.errors import PactError
from netpact.measurements.effective import EFFECTIVE_PARTS, count_effective
from netpact.measurements.quantity import Quantity, check_zeta
from netpact.measurements.records import LayerMeasures, Measures


def leave_out_outliers(measures: Measures, zeta: float) -> Measures:
    """Every quantity over samples becomes the worst one once its own worst zeta share is left out.

    The effective parameters are counted anew from these. Each quantity leaves out samples of its own, so what holds for
    all of them together holds on a share of 1 - zeta times their number. Standard errors stay those of the worst one.
    """
    check_zeta(zeta)
    network = {name: _trim(quantity, zeta) for name, quantity in measures.network_quantities.items()}
    return replace(
        measures,
        layers=tuple(_trim_layer(layer, zeta) for layer in measures.layers),
        **network,  # type: ignore[arg-type]  # the names are the record's own
    )


def _trim_layer(layer: LayerMeasures, zeta: float) -> LayerMeasures:
    trimmed: dict[str, Quantity] = {name: _trim(quantity, zeta) for name, quantity in layer.quantities()}
    if "effective_parameters" in trimmed:
        if missing := [name for name in EFFECTIVE_PARTS if name not in trimmed]:
            raise PactError(
                f"the effective parameters are counted anew from {', '.join(missing)}, not measured here",
                where="zeta",
                hint="measure these too",
            )
        parts = [trimmed[name] for name in EFFECTIVE_PARTS]
        trimmed["effective_parameters"] = count_effective(*parts, cover=layer.cover)
    return replace(
        layer,
        interlayer_cushions=_trim_pairs(layer.interlayer_cushions, zeta),
        interlayer_cushions_with_bias=_trim_pairs(layer.interlayer_cushions_with_bias, zeta),
        **trimmed,  # type: ignore[arg-type]  # the names are the record's own
    )


def _trim_pairs(pairs: Mapping[int, Quantity], zeta: float) -> dict[int, Quantity]:
    return {end: _trim(quantity, zeta) for end, quantity in pairs.items()}


def _trim(quantity: Quantity, zeta: float) -> Quantity:
    return replace(quantity, value=quantity.zeta_value(zeta))
