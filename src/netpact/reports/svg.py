"""Lines and words as SVG elements, and the drawing around them; the look is in the style sheet, by class."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.reports.style import FIGURE_STYLE
from netpact.reports.text import escape


def frame_svg(parts: Sequence[str], *, id_: str, title: str, description: str, width: int, height: float) -> str:
    """The whole drawing. A page may show several: `id_` tells their titles apart."""
    box = f'viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="pact-figure" role="img" '
            f'{box} aria-labelledby="pact-title-{id_} pact-desc-{id_}">',
            f'<title id="pact-title-{id_}">{escape(title)}</title>',
            f'<desc id="pact-desc-{id_}">{escape(description)}</desc>',
            f"<style>{FIGURE_STYLE}</style>",
            *parts,
            "</svg>",
        ]
    )


def draw_line(kind: str, *, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def draw_rect(kind: str, *, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def draw_words(words: str, kind: str, *, x: float, y: float, anchor: str = "start", turned: bool = False) -> str:
    """Text stays text, so that it can be read aloud, searched and copied."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text class="{kind}" text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}"{turn}>{escape(words)}</text>'
