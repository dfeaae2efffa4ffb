"""A figure as PNG: drawn from its SVG by resvg, a library of its own that need not be installed.

resvg is small (3 MB), needs no browser and no system library, and draws text with the fonts of the machine.
"""

from __future__ import annotations

import importlib
import importlib.util

from netpact.core.errors import PactError

_ZOOM = 2
_PACKAGE = "resvg_py"


def can_write_png() -> bool:
    return importlib.util.find_spec(_PACKAGE) is not None


def write_png(svg: str) -> bytes:
    if not can_write_png():
        raise PactError(
            "no library that draws PNG is installed",
            where="figure",
            hint="pip install resvg-py, or save it as .svg or .pdf; a report page saves PNG in any browser",
        )
    return bytes(importlib.import_module(_PACKAGE).svg_to_bytes(svg_string=svg, zoom=_ZOOM))
