"""Lemmas 4.2 to 4.4, B.2, C.3 and C.4: measured errors of a pruned network beside what the lemmas say of them."""

from netpact.papers.guha.lemmas.comparing import PruningLemmaOptions, compare_with_pruning_lemmas
from netpact.papers.guha.lemmas.report import PrintedLemma, PruningLemmaReport
from netpact.papers.guha.lemmas.stating import (
    LemmaLayer,
    input_factor,
    log_output_error,
    log_valid_error,
    norm_of_pruned,
    rounding_norm,
)

__all__ = [
    "LemmaLayer",
    "PrintedLemma",
    "PruningLemmaOptions",
    "PruningLemmaReport",
    "compare_with_pruning_lemmas",
    "input_factor",
    "log_output_error",
    "log_valid_error",
    "norm_of_pruned",
    "rounding_norm",
]
