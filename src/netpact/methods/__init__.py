"""Compression methods behind one Protocol, one file each."""

from netpact.methods.cp import CP
from netpact.methods.filter_removal import remove_filters
from netpact.methods.grids import GRIDS, CodebookGrid, Grid, PerChannel, TernaryGrid, UniformGrid, make_grid
from netpact.methods.head_on_base import HeadOnBase
from netpact.methods.heavy_tail import HeavyTail
from netpact.methods.layer_budgets import split_budget
from netpact.methods.low_rank_difference import LowRankDifference
from netpact.methods.magnitude_prune import MagnitudePrune
from netpact.methods.method import METHODS, Method, compress
from netpact.methods.options import describe_methods, make_method, parse_settings
from netpact.methods.quantize import Quantize
from netpact.methods.random_projection import RandomProjection
from netpact.methods.random_prune import RandomPrune
from netpact.methods.rank_advice import LayerAdvice, RankAdvice, RankOptions, RankPoint, advise_ranks
from netpact.methods.ranks_from_margin import LayerRank, MarginRanks, find_ranks
from netpact.methods.rate_aware import RateAware
from netpact.methods.relative import QuantizeDifference
from netpact.methods.size_knobs import SizeKnob, find_knobs, list_settings
from netpact.methods.sketch import Sketch, SketchSizes, sketch_sizes
from netpact.methods.targets import Reached, Target, Tried, UnreachedError, compress_to
from netpact.methods.ternary_search import TernarySearch
from netpact.methods.truncated_svd import TruncatedSVD
from netpact.methods.tucker import Tucker
from netpact.methods.vector_compress import VectorCompress
from netpact.methods.vector_project import VectorProject
from netpact.methods.whole_number import WholeNumber

__all__ = [
    "CP",
    "GRIDS",
    "METHODS",
    "CodebookGrid",
    "Grid",
    "HeadOnBase",
    "HeavyTail",
    "LayerAdvice",
    "LayerRank",
    "LowRankDifference",
    "MagnitudePrune",
    "MarginRanks",
    "Method",
    "PerChannel",
    "Quantize",
    "QuantizeDifference",
    "RandomProjection",
    "RandomPrune",
    "RankAdvice",
    "RankOptions",
    "RankPoint",
    "RateAware",
    "Reached",
    "SizeKnob",
    "Sketch",
    "SketchSizes",
    "Target",
    "TernaryGrid",
    "TernarySearch",
    "Tried",
    "TruncatedSVD",
    "Tucker",
    "UniformGrid",
    "UnreachedError",
    "VectorCompress",
    "VectorProject",
    "WholeNumber",
    "advise_ranks",
    "compress",
    "compress_to",
    "describe_methods",
    "find_knobs",
    "find_ranks",
    "list_settings",
    "make_grid",
    "make_method",
    "parse_settings",
    "remove_filters",
    "sketch_sizes",
    "split_budget",
]
