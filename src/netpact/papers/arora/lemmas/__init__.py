"""A compressed network beside the paper's lemmas: measured errors, deviation bounds, and what the lemmas say."""

from netpact.papers.arora.lemmas.comparing import compare_with_lemmas
from netpact.papers.arora.lemmas.report import LayerComparison, LemmaEstimate, LemmaReport

__all__ = ["LayerComparison", "LemmaEstimate", "LemmaReport", "compare_with_lemmas"]
