"""The number of parameters, each of which counts for one: what every other bound is compared with."""

import math

from netpact.bounds.bound import BOUNDS
from netpact.bounds.groups import CONSTANTS, COUNTING

BOUNDS.add(
    COUNTING("parameters", "the number of parameters", lambda facts: math.log(facts.parameters), ignored=CONSTANTS)
)
