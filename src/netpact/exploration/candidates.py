"""Which architectures a search looks at when none are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpact.datasets import Data

_CONTOUR_VIEWS = (3, 1)  # photographs rarely lean
# Cell, stride, roots and view. What is drawn by hand differs in slant and size; what is not needs finer cells.
_SOBEL = ((8, 4, 1, 5), (4, 3, 2, 1), (4, 3, 2, 3))
_SMALL_SOBEL = ((4, 2, 1, 5), (2, 2, 2, 1), (2, 2, 2, 3))
_SMALL = 24  # pixels: a shorter side than this has too few cells of 8


def candidate_names(data: Data) -> list[str]:
    """Of colour images stems that see colours; of others Sobel edges, resized or in fine cells; raw pixels."""
    if len(data.input_shape) != 3 or max(data.input_shape[1:]) > 64:
        return ["linear"]
    side = min(data.input_shape[1:])
    if data.input_shape[0] == 3:
        contours = [f"contours:8-4-2-{view}" for view in _CONTOUR_VIEWS if side >= 16]
        oriented = [f"oriented:8-5-4-2-{view}" for view in _CONTOUR_VIEWS if side >= 4]
        return [*contours, *oriented, "linear"]
    cells = _SOBEL if side >= _SMALL else _SMALL_SOBEL
    sobel = [f"sobel:8-5-{cell}-{stride}-{roots}-{view}" for cell, stride, roots, view in cells if side >= cell]
    return [*sobel, "linear"]
