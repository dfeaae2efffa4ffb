"""Compression methods behind one Protocol, one file each."""

from netpact.methods.head_on_base import HeadOnBase
from netpact.methods.method import Method, compress
from netpact.methods.options import METHODS, make_method, parse_settings
from netpact.methods.quantize import GRIDS, Quantize
from netpact.methods.rate_aware import RateAware
from netpact.methods.relative import QuantizeDifference
from netpact.methods.ternary_search import TernarySearch

__all__ = [
    "GRIDS",
    "METHODS",
    "HeadOnBase",
    "Method",
    "Quantize",
    "QuantizeDifference",
    "RateAware",
    "TernarySearch",
    "compress",
    "make_method",
    "parse_settings",
]
