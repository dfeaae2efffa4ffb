"""How the papers trained their networks, as far as they say so: the record, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.core.table import Table
from netpact.training.options import TrainOptions


@dataclass(frozen=True, kw_only=True)
class PaperRecipe:
    """options: the training; source: paper and section; silent: what the paper does not say, and what is taken."""

    name: str
    options: TrainOptions
    source: str
    silent: str

    def __str__(self) -> str:
        return f"{self.source}. Not said there: {self.silent}."


PAPER_RECIPES: Table[PaperRecipe] = Table("recipe", "netpact.papers.*.recipes")
