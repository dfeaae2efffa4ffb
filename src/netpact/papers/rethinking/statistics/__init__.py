"""A convolutional network as a linear model <X, W_X>, and how many samples such a model needs."""

from netpact.papers.rethinking.statistics.complexity import ModelComplexity, model_complexity
from netpact.papers.rethinking.statistics.composite import CompositeCNN, ConvPool
from netpact.papers.rethinking.statistics.conditions import Conditions, InputCovariance
from netpact.papers.rethinking.statistics.estimates import ErrorEstimate
from netpact.papers.rethinking.statistics.positions import Isometry, Window, positioning_factors
from netpact.papers.rethinking.statistics.reading import read_network
from netpact.papers.rethinking.statistics.sample_sizes import SampleSize, sample_size
from netpact.papers.rethinking.statistics.theorems import estimation_error

__all__ = [
    "CompositeCNN",
    "Conditions",
    "ConvPool",
    "ErrorEstimate",
    "InputCovariance",
    "Isometry",
    "ModelComplexity",
    "SampleSize",
    "Window",
    "estimation_error",
    "model_complexity",
    "positioning_factors",
    "read_network",
    "sample_size",
]
