"""The effective number of parameters of a layer (Arora et al. 2018, Table 1)."""

from __future__ import annotations

import math

from netpact.measurements.definition import QUANTITIES, FromParts
from netpact.measurements.quantity import MOST, Quantity
from netpact.measurements.records import LayerMeasures

_PARTS = ("activation_contraction", "well_distributed", "arora_layer_cushion", "min_interlayer_cushion")


def _count(layer: LayerMeasures) -> Quantity:
    """c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2), with 1 for ceil(kappa/s)^2 in a linear layer."""
    used = c, beta, mu, mu_after = [layer[name] for name in _PARTS]
    below = mu.value * mu_after.value
    value = layer.cover * (c.value * beta.value / below) ** 2 if below > 0 else math.inf
    if math.isnan(value):
        value = math.inf
    share = 2 * math.hypot(*(part.relative_error for part in used))
    probed = any(part.stderr is not None for part in used) and math.isfinite(value)
    return Quantity(value, all(part.exact for part in used), value * share if probed else None, MOST)


QUANTITIES.add(
    FromParts(
        "effective_parameters",
        _count,
        symbol="effective",
        title="effective parameters",
        side=MOST,
        parts=_PARTS,
        reference="Arora et al. 2018, Table 1",
    )
)
