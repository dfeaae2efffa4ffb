"""Which decoder version brought what. Append only: what a version has never changes, files depend on it.

A certificate assumes that the decoder of its message was fixed before the sample was drawn. A decoder that grows is
another decoder: whoever adds something that a message can say gives it the next version, here or in its own file. An
encoder writes the lowest version that has all it uses, so older files and their bytes stay as they are,
and a message never says more than its version can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from netpact.coding.forms import Form, unnest
from netpact.core.errors import PactError
from netpact.models import Architecture, OwnModule

if TYPE_CHECKING:
    from netpact.layers.rewrites import Step

DECODER_VERSION = 8
REWRITES_VERSION = 2  # since then the header ends with a list of rewrites
OUTPUTS_VERSION = 4  # since then a user's module may have rows beyond 4,096 numbers, and names its output
_FORMER_SIDE = 1 << 12
ARITHMETICS_VERSION = 4  # since then the arithmetic is a number, before it was one decision

# Ids of families, and kinds of projections; forms and rewrites say it in their own files.
FAMILIES_SINCE: Mapping[int, int] = {
    **dict.fromkeys((0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13), 1),
    **dict.fromkeys((14, 15, 16, 17, 18), 3),
    19: 6,
    20: 7,
    21: 8,
}
ARITHMETICS_SINCE: Mapping[str, int] = {"float32": 1, "float64": 1, "as-run": 4, "whole": 4}
PROJECTIONS_SINCE: Mapping[str, int] = {"hadamard": 1, "signs": 1}

# Families whose last size is a choice among few: the view of the stem (5, 19, 21), how batch norm stands (9 to 18).
LAST_SIZES_SINCE: Mapping[int, Mapping[int, int]] = {
    5: {1: 1, 2: 1, 3: 1, 4: 1},
    **{number: {1: 1, 2: 1} for number in range(9, 14)},
    **{number: {1: 3, 2: 3} for number in range(14, 19)},
    19: {1: 6, 2: 6, 3: 6, 4: 6},
    21: dict.fromkeys(range(1, 7), 8),
}

# Problems that need no spelling out: (input shape, classes), and the version since which.
COMMON_PROBLEMS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((1, 28, 28), 10),
    ((3, 32, 32), 10),
    ((1, 8, 8), 10),
    ((3, 32, 32), 100),
    ((1, 32, 32), 10),
)
PROBLEMS_SINCE: tuple[int, ...] = (1, 1, 1, 1, 1)


def lowest_version(
    architecture: Architecture | OwnModule,
    forms: Iterable[Form],
    rewrites: Iterable[Step] = (),
    arithmetic: str = "float32",
) -> int:
    """The first version that can encode this network."""
    used = [1, _since(FAMILIES_SINCE, architecture.id, what="architecture")]
    used.append(_since(ARITHMETICS_SINCE, arithmetic, what="arithmetic"))
    used += [step.rewrite.since for step in rewrites]
    if isinstance(architecture, OwnModule) and (architecture.output or max(architecture.input_shape) > _FORMER_SIDE):
        used.append(OUTPUTS_VERSION)
    problem = (architecture.input_shape, architecture.classes)
    if problem in COMMON_PROBLEMS:
        used.append(PROBLEMS_SINCE[COMMON_PROBLEMS.index(problem)])
    if architecture.id in LAST_SIZES_SINCE:
        used.append(_since(LAST_SIZES_SINCE[architecture.id], architecture.sizes[-1], what="last size"))
    for part in (part for form in forms for part in unnest(form)):
        used.append(part.since)
        if (variant := getattr(part, "variant", None)) is not None:
            used.append(_since(PROJECTIONS_SINCE, variant, what="projection"))
    return max(used)


def refuse_newer(version: int, needed: int) -> None:
    """A message may use only what its version has: that version is what its certificate assumes to be old."""
    if needed > version:
        raise PactError(
            f"the message is of decoder version {version}, and uses what came with version {needed}", where="message"
        )


def _since(table: Mapping[int, int] | Mapping[str, int], key: int | str, *, what: str) -> int:
    if key not in table:
        raise PactError(
            f"{what} {key} came with no decoder version",
            where="coding/format/versions.py",
            hint="enter it there with the next decoder version",
        )
    return table[key]  # type: ignore[index]
