"""How far apart two networks of one structure can be, sample by sample: proven, without probability."""

from netpact.algebra.outward import margin_needed
from netpact.deviations.bounding import check_same_structure, deviation_bound, promised_error
from netpact.deviations.deviation import Walked, Walker
from netpact.deviations.layer_bounds import LayerBounds, compare, measure_distance, widen
from netpact.deviations.record import DeviationBound, LayerPart, Promise
from netpact.network.kinds import LayerDistance

__all__ = [
    "DeviationBound",
    "LayerBounds",
    "LayerDistance",
    "LayerPart",
    "Promise",
    "Walked",
    "Walker",
    "check_same_structure",
    "compare",
    "deviation_bound",
    "margin_needed",
    "measure_distance",
    "promised_error",
    "widen",
]
