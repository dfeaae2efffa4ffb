"""Lemmas D.4, E.8 and F.3: measured errors of a compressed network beside what the lemmas say of them."""

from netpact.papers.li.lemmas.comparing import compare_with_tensor_lemmas
from netpact.papers.li.lemmas.report import TensorLemmaReport
from netpact.papers.li.lemmas.stating import state_lemma
from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound

__all__ = ["LayerTerm", "LemmaBound", "TensorLemmaReport", "compare_with_tensor_lemmas", "state_lemma"]
