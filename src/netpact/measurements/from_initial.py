"""Names of the quantities that need the network before training."""

from netpact.measurements.definition import names_needing
from netpact.measurements.weights import INITIAL

FROM_INITIAL = names_needing(INITIAL)
