"""Arrays in, numbers out: true operator norms of linear and convolution layers, from below and from above."""

from netpact.algebra.geometry import PADDING_MODES, Axis, ConvolutionOptions
from netpact.algebra.norms import OperatorNorm, convolution_norm, matrix_norm, operator_norm

__all__ = [
    "PADDING_MODES",
    "Axis",
    "ConvolutionOptions",
    "OperatorNorm",
    "convolution_norm",
    "matrix_norm",
    "operator_norm",
]
