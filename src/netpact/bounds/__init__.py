"""Estimates: the bounds of the papers up to what they ignore, and the norm-based baselines. Nothing here is proven."""

from netpact.bounds.compressibility import Compressibility, compressible, finite_class_bound
from netpact.bounds.estimate import Estimate, Premise
from netpact.bounds.estimates import Estimates, LayerBudget
from netpact.bounds.estimating import check_names, estimate_bounds
from netpact.bounds.lemma_report import LayerComparison, LemmaEstimate, LemmaReport
from netpact.bounds.lemmas import compare_with_lemmas
from netpact.bounds.linear import vector_compress_rate, vector_project_rate
from netpact.bounds.margin import OUTPUT_NORMS, Gamma, margin_used
from netpact.bounds.norms import READINGS, LayerNorms, measure_norms
from netpact.bounds.options import CUSHIONS, EstimateOptions
from netpact.bounds.perturbation import log_output_change
from netpact.bounds.rules import RULES

__all__ = [
    "CUSHIONS",
    "OUTPUT_NORMS",
    "READINGS",
    "RULES",
    "Compressibility",
    "Estimate",
    "EstimateOptions",
    "Estimates",
    "Gamma",
    "LayerBudget",
    "LayerComparison",
    "LayerNorms",
    "LemmaEstimate",
    "LemmaReport",
    "Premise",
    "check_names",
    "compare_with_lemmas",
    "compressible",
    "estimate_bounds",
    "finite_class_bound",
    "log_output_change",
    "margin_used",
    "measure_norms",
    "vector_compress_rate",
    "vector_project_rate",
]
