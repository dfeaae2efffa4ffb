"""Which architectures a search looks at when none are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpact.datasets import Data

_VIEWS = (2, 1, 3)  # straightened, as it is, with its mirror image
_CONTOUR_VIEWS = (3, 1)  # photographs rarely lean


def candidate_names(data: Data) -> list[str]:
    """Of colour images the stem of contours; stems of oriented edges in two cell sizes and three views; raw pixels."""
    if len(data.input_shape) != 3 or max(data.input_shape[1:]) > 64:
        return ["linear"]
    side = min(data.input_shape[1:])
    cells = [(cell, stride) for cell, stride in ((8, 4), (6, 3)) if side >= 3 * cell] or [(4, 2)]
    contours = [f"contours:8-4-2-{view}" for view in _CONTOUR_VIEWS if data.input_shape[0] == 3 and side >= 16]
    oriented = [f"oriented:8-5-{cell}-{stride}-{view}" for cell, stride in cells for view in _VIEWS if side >= cell]
    return [*contours, *oriented, "linear"]
