from netpact.algebra.geometry import PADDING_MODES as PADDING_MODES
from netpact.algebra.geometry import Axis as Axis
from netpact.algebra.geometry import ConvolutionOptions as ConvolutionOptions
from netpact.algebra.norms import OperatorNorm as OperatorNorm
from netpact.algebra.norms import convolution_norm as convolution_norm
from netpact.algebra.norms import matrix_norm as matrix_norm
from netpact.algebra.norms import operator_norm as operator_norm
