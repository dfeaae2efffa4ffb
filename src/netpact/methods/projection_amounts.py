"""How much a random projection may keep, as its options say it, and how layers share it."""

from __future__ import annotations

from netpact.core.checks import check_number
from netpact.core.errors import PactError

BUDGETS = ("size", "equal", "cushions")
SIZE, EQUAL, CUSHIONS = BUDGETS


def check_total(total: int, sizes: tuple[int, ...]) -> None:
    if total < len(sizes):
        raise PactError(f"{len(sizes)} layers need at least as many numbers, got {total}", where="keep")


def check_gamma(gamma: object) -> None:
    check_number(gamma, where="gamma", above=0)


def check_keep(keep: object, *, budget: str) -> None:
    if not _is_amount(keep):
        raise PactError(
            f"must be an integer >= 1, a fraction > 0 and <= 1, or a tuple of counts, got {keep!r}",
            where="keep",
        )
    if budget != SIZE and isinstance(keep, tuple):
        raise PactError(f'a count for each layer leaves nothing to share by budget="{budget}"', where="keep")


def _is_amount(keep: object) -> bool:
    if isinstance(keep, tuple):
        return bool(keep) and all(
            isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in keep
        )
    if isinstance(keep, bool) or not isinstance(keep, (int, float)):
        return False
    return keep >= 1 if isinstance(keep, int) else 0 < keep <= 1
