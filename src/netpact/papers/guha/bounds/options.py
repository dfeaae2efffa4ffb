"""How Theorem 5.2 and Lemma D.1 are evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field

from netpact.core.checks import check_choice

FORMS = ("printed", "measured")


@dataclass(frozen=True, kw_only=True)
class PruningFormOptions:
    """pruning_form  "printed": d and rho from the margin by Lemma 4.4, C = 1, and the counts of the lemmas; "measured":
    the network is pruned and rounded as far as the margin allows on the samples, and what is left is counted."""

    pruning_form: str = field(
        default="printed",
        metadata={
            "metavar": "NAME",
            "help": "printed: by the lemmas of Guha et al. 2023; measured: pruned as far as the margins allow.",
        },
    )

    def __post_init__(self) -> None:
        check_choice(self.pruning_form, FORMS, where="pruning_form")
