"""What can be measured on a trained network: passes over samples and weights, and the table of quantities."""

from netpact.measurements.cost import Cost
from netpact.measurements.definition import (
    QUANTITIES,
    Definition,
    FromParts,
    OfLayer,
    OfNetwork,
    OfPairs,
    names_needing,
)
from netpact.measurements.initial import INITIAL
from netpact.measurements.jacobians import PairNorm, measure_jacobians
from netpact.measurements.measuring import measure
from netpact.measurements.noise import GaussianProjection, NoiseMaker, SignProjection, simulate_noise_sensitivity
from netpact.measurements.options import MeasureOptions
from netpact.measurements.outliers import leave_out_outliers
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import Quantity
from netpact.measurements.records import LayerMeasures, MeasureProvenance, Measures
from netpact.measurements.structure import Structure, WeightLayer, find_structure

__all__ = [
    "FROM_INITIAL",
    "QUANTITIES",
    "Context",
    "Cost",
    "Definition",
    "FromParts",
    "GaussianProjection",
    "LayerMeasures",
    "MeasureOptions",
    "MeasureProvenance",
    "Measures",
    "NoiseMaker",
    "OfLayer",
    "OfNetwork",
    "OfPairs",
    "OverLayers",
    "PairNorm",
    "Pass",
    "Quantity",
    "SignProjection",
    "Structure",
    "WeightLayer",
    "find_structure",
    "leave_out_outliers",
    "measure",
    "measure_jacobians",
    "simulate_noise_sensitivity",
]

FROM_INITIAL: tuple[str, ...]


def __getattr__(name: str) -> object:
    # Names of quantities come from the table, which must not be read while this package is being imported.
    if name == "FROM_INITIAL":
        return names_needing(INITIAL)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
