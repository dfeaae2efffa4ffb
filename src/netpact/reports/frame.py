"""What every page has: its frame, tables, figures and foot. A page is one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace

from netpact.reports.charts.figure import Figure
from netpact.reports.script import PAGE_SCRIPT
from netpact.reports.style import PAGE_STYLE
from netpact.reports.terms import define_terms
from netpact.reports.text import escape

WIDTHS = (("wide", 900), ("narrow", 380))
_MOST_NUMBERS = 1000  # rows of numbers below a figure


def frame_page(body: str, *, title: str, version: str) -> str:
    """The page around its content. Whatever terms the content links to are defined at its end."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="netpact {escape(version)}">
<title>{escape(title)}</title>
<style>{PAGE_STYLE}</style>
</head>
<body>
<main>
{define_terms(body)}
</main>
<script>{PAGE_SCRIPT}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# Nothing is loaded, from anywhere; only this style and this script run. Images: a figure on its way to a PNG file.
_POLICY = (
    f"default-src 'none'; style-src {_hash(PAGE_STYLE)}; script-src {_hash(PAGE_SCRIPT)}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def both_widths(draw: Callable[[int], Figure]) -> str:
    """A figure drawn twice, for wide and narrow screens: scaling one drawing would make its text too small.

    Below it the numbers, for readers who cannot see it and for the files that the page's script saves.
    """
    figures = [(kind, draw(width)) for kind, width in WIDTHS]
    drawings = "\n".join(f'<div class="{kind}">{figure.to_svg()}</div>' for kind, figure in figures)
    return f'<figure data-name="{escape(figures[0][1].name)}">\n{drawings}\n{_numbers(figures[0][1])}\n</figure>'


def _numbers(figure: Figure) -> str:
    rows = figure.summary or figure.numbers
    if not rows:
        return ""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = [f"<tr>{''.join(_number(row.get(column)) for column in columns)}</tr>" for row in rows[:_MOST_NUMBERS]]
    cut = f", the first {_MOST_NUMBERS:,} of {len(rows):,}" if len(rows) > _MOST_NUMBERS else ""
    return (
        f'<details class="numbers"><summary>Numbers of this figure{cut}</summary><div class="scroll" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{chr(10).join(lines)}\n</tbody></table></div></details>"
    )


def _number(value: object) -> str:
    """Unrounded; nothing for what is not a number. Text is marked, so that a name like 007 stays one."""
    if isinstance(value, str):
        return f'<td data-text="">{escape(value)}</td>'
    missing = value is None or (isinstance(value, float) and not math.isfinite(value))
    return f"<td>{'' if missing else escape(str(value))}</td>"


def frame_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, best: Container[int] = (), note: str = ""
) -> str:
    """A heading and a table. Cells are HTML already, the first of a row names it; best: the rows to highlight."""
    head = "".join(f'<th scope="col">{word}</th>' for word in heads)
    lines = []
    for place, (name, *cells) in enumerate(rows):
        start = '<tr class="best">' if place in best else "<tr>"
        lines.append(f'{start}<th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    below = f'\n<p class="note">{note}</p>' if note else ""
    return f"""<h2>{title}</h2>
<div class="scroll" role="region" aria-label="{title}" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div>{below}"""


def frame_facts(facts: Sequence[tuple[str, str]]) -> str:
    """The foot of a page: what it was made from. Values are HTML already."""
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f"<footer><dl>{items}</dl></footer>"


@dataclass(frozen=True)
class Panel:
    """A figure with what stands above it; draw makes it as wide as asked. words: plain text."""

    heading: str
    words: str
    draw: Callable[[int], Figure]

    def to_html(self) -> str:
        words = f"<p>{escape(self.words)}</p>\n" if self.words else ""
        return f"<h2>{escape(self.heading)}</h2>\n{words}{both_widths(self.draw)}"


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading of its own: panels, and HTML as it is.

    key     its place in the page's address: letters, digits and dashes
    prefix  of the names of its figures, where a page has several sections of one kind
    """

    key: str
    heading: str
    parts: tuple[Panel | str, ...]
    prefix: str = ""

    def panels(self) -> list[Panel]:
        return [self._own(part) for part in self.parts if isinstance(part, Panel)]

    def to_html(self) -> str:
        parts = [part if isinstance(part, str) else self._own(part).to_html() for part in self.parts]
        # Text is escaped, so these tags are ours: the headings of parts stand below that of the section.
        inner = "\n".join(parts).replace("<h2>", "<h3>").replace("</h2>", "</h3>")
        return f'<section id="{escape(self.key)}">\n<h2>{escape(self.heading)}</h2>\n{inner}\n</section>'

    def _own(self, panel: Panel) -> Panel:
        def draw(width: int) -> Figure:
            figure = panel.draw(width)
            return replace(figure, name=f"{self.prefix}{figure.name}")

        return replace(panel, draw=draw)


def list_sections(sections: Sequence[Section]) -> str:
    """Links to the sections of a page."""
    links = "".join(f'<li><a href="#{escape(one.key)}">{escape(one.heading)}</a></li>' for one in sections)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if len(sections) > 1 else ""
