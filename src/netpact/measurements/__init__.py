"""What Arora et al. 2018 measure on a trained network: cushions, contraction, smoothness, spread of the Jacobian."""

from netpact.measurements.cost import Cost
from netpact.measurements.jacobians import PairNorm, measure_jacobians
from netpact.measurements.measuring import measure
from netpact.measurements.noise import GaussianProjection, NoiseMaker, SignProjection, simulate_noise_sensitivity
from netpact.measurements.options import FROM_INITIAL, QUANTITIES, MeasureOptions
from netpact.measurements.outliers import leave_out_outliers
from netpact.measurements.quantity import Quantity
from netpact.measurements.records import LayerMeasures, MeasureProvenance, Measures
from netpact.measurements.structure import Structure, WeightLayer, find_structure

__all__ = [
    "FROM_INITIAL",
    "QUANTITIES",
    "Cost",
    "GaussianProjection",
    "LayerMeasures",
    "MeasureOptions",
    "MeasureProvenance",
    "Measures",
    "NoiseMaker",
    "PairNorm",
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
