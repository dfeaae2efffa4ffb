"""Estimates: published bounds up to what they ignore, and norm-based baselines. Nothing here is proven.

The table of bounds and their options are read without torch, for the help of the command line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS, RULES, Bound, Sampling, check_names
from netpact.bounds.estimate import Estimate, Premise
from netpact.bounds.estimates import Estimates, LayerBudget
from netpact.bounds.facts import FACTS, Fact, Facts
from netpact.bounds.margin import OUTPUT_NORMS, Gamma, margin_used
from netpact.bounds.options import EstimateOptions, NormOptions
from netpact.bounds.perturbation import log_output_change

if TYPE_CHECKING:
    from netpact.bounds.compressibility import Compressibility, compressible, finite_class_bound
    from netpact.bounds.estimating import estimate_bounds
    from netpact.bounds.norms import READINGS, LayerNorms, measure_norms

_WITH_TORCH = {
    "compressibility": ("Compressibility", "compressible", "finite_class_bound"),
    "estimating": ("estimate_bounds",),
    "norms": ("READINGS", "LayerNorms", "measure_norms"),
}

__all__ = [
    "BOUNDS",
    "FACTS",
    "OUTPUT_NORMS",
    "READINGS",
    "RULES",
    "Bound",
    "Compressibility",
    "Estimate",
    "EstimateOptions",
    "Estimates",
    "Fact",
    "Facts",
    "Gamma",
    "LayerBudget",
    "LayerNorms",
    "NormOptions",
    "Premise",
    "Sampling",
    "check_names",
    "compressible",
    "estimate_bounds",
    "finite_class_bound",
    "log_output_change",
    "margin_used",
    "measure_norms",
]


def __getattr__(name: str) -> object:
    for module, names in _WITH_TORCH.items():
        if name in names:
            return getattr(importlib.import_module(f"netpact.bounds.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
