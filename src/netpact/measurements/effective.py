"""The effective number of parameters of a layer (Arora et al. 2018, Table 1)."""

from __future__ import annotations

import math

from netpact.measurements.quantity import MOST, Quantity
from netpact.measurements.records import relative_error

# The quantities it is made of, in the order of the arguments.
EFFECTIVE_PARTS = ("activation_contraction", "well_distributed", "arora_layer_cushion", "min_interlayer_cushion")


def count_effective(c: Quantity, beta: Quantity, mu: Quantity, mu_after: Quantity, *, cover: int) -> Quantity:
    """cover is ceil(kappa/s)^2, 1 for a linear layer.

    c_i^2 beta_i^2 ceil(kappa/s)^2 / (mu_i^2 mu_i->^2)
    """
    below = mu.value * mu_after.value
    value = cover * (c.value * beta.value / below) ** 2 if below > 0 else math.inf
    if math.isnan(value):
        value = math.inf
    used = (c, beta, mu, mu_after)
    share = 2 * math.hypot(*(relative_error(part) for part in used))
    probed = any(part.stderr is not None for part in used) and math.isfinite(value)
    return Quantity(value, all(part.exact for part in used), value * share if probed else None, MOST)
