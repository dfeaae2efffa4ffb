"""A figure as SVG. Every element carries its colours itself: no style sheet, so that any viewer shows it alike."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.reports.charts.looks import FONT_SIZE, FONTS, LOOKS
from netpact.reports.charts.shapes import Circle, Group, Line, Path, Rect, Shape, Words
from netpact.reports.text import escape


def write_svg(shapes: Sequence[Shape], *, id_: str, title: str, description: str, width: float, height: float) -> str:
    """The whole drawing. A page may show several: `id_` tells their titles apart."""
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="pact-figure" role="img" '
            f'{box} font-family="{escape(FONTS)}" font-size="{FONT_SIZE}" '
            f'aria-labelledby="pact-title-{id_} pact-desc-{id_}">',
            f'<title id="pact-title-{id_}">{escape(title)}</title>',
            f'<desc id="pact-desc-{id_}">{escape(description)}</desc>',
            *(_element(shape) for shape in shapes),
            "</svg>",
        ]
    )


def _element(shape: Shape) -> str:
    match shape:
        case Group():
            title = f"<title>{escape(shape.title)}</title>" if shape.title else ""
            return f'<g class="{shape.kind}">{title}{"".join(_element(inner) for inner in shape.shapes)}</g>'
        case Line():
            places = f'x1="{shape.x1:.1f}" y1="{shape.y1:.1f}" x2="{shape.x2:.1f}" y2="{shape.y2:.1f}"'
            return f'<line class="{shape.kind}" {places} {_colours(shape.kind)}/>'
        case Rect():
            places = f'x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}"'
            return f'<rect class="{shape.kind}" {places} {_colours(shape.kind)}/>'
        case Circle():
            places = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:.1f}"'
            return f'<circle class="{shape.kind}" {places} {_colours(shape.kind)}/>'
        case Path():
            steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in shape.points)
            return f'<path class="{shape.kind}" d="M{steps}{"Z" if shape.closed else ""}" {_colours(shape.kind)}/>'
        case Words():
            return _text(shape)


def _text(words: Words) -> str:
    """Text stays text, so that it can be read aloud, searched and copied."""
    turn = f' transform="rotate(-90 {words.x:.1f} {words.y:.1f})"' if words.turned else ""
    weight = ' font-weight="600"' if LOOKS[words.kind].bold else ""
    places = f'text-anchor="{words.anchor}" x="{words.x:.1f}" y="{words.y:.1f}"{turn}{weight}'
    return f'<text class="{words.kind}" {places} {_colours(words.kind)}>{escape(words.text)}</text>'


def _colours(kind: str) -> str:
    look = LOOKS[kind]
    parts = [f'fill="{"none" if look.fill is None else look.fill.light}"']
    if look.stroke is not None:
        parts.append(f'stroke="{look.stroke.light}" stroke-width="{look.width:g}"')
    if look.dash:
        parts.append(f'stroke-dasharray="{" ".join(map(str, look.dash))}"')
    return " ".join(parts)
