"""The number of parameters, each of which counts for one: what every other bound is compared with."""

from __future__ import annotations

import math

from netpact.bounds.bound import BOUNDS, Bound
from netpact.bounds.premises import fixed_architecture
from netpact.bounds.spectral import CONSTANTS

BOUNDS.add(
    Bound(
        name="parameters",
        theorem="the number of parameters",
        needs=("parameters",),
        log_capacity=lambda facts: math.log(facts.parameters),
        ignored=CONSTANTS,
        premises=fixed_architecture,
    )
)
