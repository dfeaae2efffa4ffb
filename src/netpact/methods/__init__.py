"""Compression methods behind one Protocol, one file each."""

from netpact.methods.head_on_base import HeadOnBase
from netpact.methods.layer_budgets import split_budget
from netpact.methods.method import Method, compress
from netpact.methods.options import METHODS, make_method, parse_settings
from netpact.methods.quantize import GRIDS, Quantize
from netpact.methods.random_projection import RandomProjection
from netpact.methods.rate_aware import RateAware
from netpact.methods.relative import QuantizeDifference
from netpact.methods.ternary_search import TernarySearch
from netpact.methods.truncated_svd import TruncatedSVD
from netpact.methods.vector_compress import VectorCompress
from netpact.methods.vector_project import VectorProject

__all__ = [
    "GRIDS",
    "METHODS",
    "HeadOnBase",
    "Method",
    "Quantize",
    "QuantizeDifference",
    "RandomProjection",
    "RateAware",
    "TernarySearch",
    "TruncatedSVD",
    "VectorCompress",
    "VectorProject",
    "compress",
    "make_method",
    "parse_settings",
    "split_budget",
]
