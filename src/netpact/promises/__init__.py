"""How far apart two networks of one structure can be, sample by sample: proven, without probability."""

from netpact.promises.deviation import Walked, Walker
from netpact.promises.layer_bounds import LayerBounds, compare, measure_distance, widen
from netpact.promises.layer_kinds import LayerDistance
from netpact.promises.outward import margin_needed
from netpact.promises.promise import LayerPart, Promise
from netpact.promises.promising import check_same_structure, promised_error

__all__ = [
    "LayerBounds",
    "LayerDistance",
    "LayerPart",
    "Promise",
    "Walked",
    "Walker",
    "check_same_structure",
    "compare",
    "margin_needed",
    "measure_distance",
    "promised_error",
    "widen",
]
