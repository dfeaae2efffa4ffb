"""advise_ranks: for each layer the curve of rank against error, deviation bound and bytes, and a rank."""

from netpact.methods.rank_advice.advising import advise_ranks
from netpact.methods.rank_advice.options import RankOptions
from netpact.methods.rank_advice.records import LayerAdvice, RankAdvice, RankPoint

__all__ = ["LayerAdvice", "RankAdvice", "RankOptions", "RankPoint", "advise_ranks"]
