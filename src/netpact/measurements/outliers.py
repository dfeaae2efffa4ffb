"""The same measurements with a few of the worst samples left out (Arora et al. 2018, Corollaries A.1 and C.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from netpact.core.errors import PactError
from netpact.measurements.assembly import derive
from netpact.measurements.definition import QUANTITIES
from netpact.measurements.quantity import Quantity, check_zeta
from netpact.measurements.records import LayerMeasures, Measures

KeyT = TypeVar("KeyT")


def leave_out_outliers(measures: Measures, zeta: float) -> Measures:
    """Every quantity over samples becomes the worst one once its own worst zeta share is left out.

    Quantities that are computed from others are computed again. Each quantity leaves out samples of its own, so what
    holds for all of them together holds on a share of 1 - zeta times their number. Standard errors stay those of the
    worst one.
    """
    check_zeta(zeta)
    layers = tuple(_trim_layer(layer, zeta) for layer in measures.layers)
    return replace(measures, layers=layers, found=_trim(measures.found, zeta))


def _trim_layer(layer: LayerMeasures, zeta: float) -> LayerMeasures:
    rows = [row for name, row in QUANTITIES.items() if name in layer.found]
    for row in rows:
        if missing := [name for name in row.parts if name not in layer.found]:
            raise PactError(
                f"{row.name} is computed again from {', '.join(missing)}, which were not measured",
                where="zeta",
                hint="measure these too",
            )
    pairs = {name: _trim(ends, zeta) for name, ends in layer.pairs.items()}
    return derive(replace(layer, found=_trim(layer.found, zeta), pairs=pairs), rows)


def _trim(found: Mapping[KeyT, Quantity], zeta: float) -> dict[KeyT, Quantity]:
    return {name: replace(quantity, value=quantity.zeta_value(zeta)) for name, quantity in found.items()}
