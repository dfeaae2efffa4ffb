"""From an error of the outputs to the margin it can use up, and the choice of a margin gamma."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from netpact.core.checks import check_choice, check_number
from netpact.core.errors import PactError
from netpact.core.percent import percent

if TYPE_CHECKING:
    from netpact.network import Margins


def _sup(error: float) -> float:
    return 2.0 * error


def _euclidean(error: float) -> float:
    import torch  # here: options are read without it

    from netpact.deviations import margin_needed

    return float(margin_needed(torch.tensor(error, dtype=torch.float64)))


OUTPUT_NORMS: Mapping[str, Callable[[float], float]] = MappingProxyType({"sup": _sup, "l2": _euclidean})


def margin_used(error: float, *, norm: str) -> float:
    """How much of a margin an error of the logits can use up. A margin is a difference of two logits:

        |f - g|_inf <= e   moves it by at most  2 e
        |f - g|_2   <= e   moves it by at most  sqrt(2) e      (Arora et al. 2018, Lemma 10)

    Definition 1 of that paper together with its Theorem 2.1 and Corollary A.1 lets e use up e in the sup norm, which
    is too little: f = (1.5, 0) and g = (0.5, 1).
    """
    check_choice(norm, OUTPUT_NORMS, where="norm")
    if not error >= 0:
        raise PactError(f"must be a number >= 0, got {error!r}", where="error")
    return OUTPUT_NORMS[norm](error)


@dataclass(frozen=True, kw_only=True)
class Gamma:
    """Which margin gamma is taken: exactly one of the four.

    value           the number itself
    quantile        this quantile of the margins on the training samples
    right_quantile  the same among the samples that are classified rightly, whose margins are above 0
    grid            several numbers declared beforehand; each bound takes its best, and pays ln(their number)
    """

    value: float | None = None
    quantile: float | None = None
    right_quantile: float | None = None
    grid: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if sum([*(number is not None for number in (self.value, *self._shares)), bool(self.grid)]) != 1:
            raise PactError("exactly one of value, quantile, right_quantile and grid must be given", where="gamma")
        for number in (*self.grid, *([] if self.value is None else [self.value])):
            check_number(number, where="gamma", above=0)
        for share in self._shares:
            if share is not None:
                check_number(share, where="gamma quantile", least=0, below=1)

    @property
    def _shares(self) -> tuple[float | None, float | None]:
        return self.quantile, self.right_quantile

    def candidates(self, margins: Margins) -> tuple[float, ...]:
        """The margins to try, given those of the samples."""
        if self.grid:
            return self.grid
        if self.value is not None:
            return (self.value,)
        wrong = margins.share_below(0.0)
        if self.quantile is not None:
            share = self.quantile
        else:
            assert self.right_quantile is not None, "checked when it was made"
            share = wrong + self.right_quantile * (1.0 - wrong)
        found = margins.quantile(min(share, 1.0))
        if not found > 0:
            raise PactError(
                f"this quantile of the margins is {found:.4g}, and gamma must be above 0",
                where="gamma quantile",
                hint=f"{percent(wrong)} of the samples are errors: take a quantile above that",
            )
        return (found,)

    def assumption(self) -> str:
        if self.grid:
            return f"gamma was taken from a grid of {len(self.grid)} values declared before the data (ln of it is paid)"
        if self.quantile is not None:
            return f"gamma is the {self.quantile:g} quantile of the training margins: chosen by looking, not paid for"
        if self.right_quantile is not None:
            return (
                f"gamma is the {self.right_quantile:g} quantile of the margins of the samples that are right: "
                "chosen by looking, not paid for"
            )
        return "gamma was fixed before the data were looked at"
