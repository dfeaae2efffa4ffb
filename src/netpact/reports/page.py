"""The report: one self-contained HTML page, without scripts and without anything to load."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from types import MappingProxyType

from netpact.core.percent import confidence, percent, percent_up
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.scatter import draw_scatter
from netpact.reports.rows import Provenance, Row, check_rows, find_best
from netpact.reports.style import PAGE_STYLE
from netpact.reports.table import error_words
from netpact.reports.text import clean, count, escape

_WIDTHS = (("wide", 900), ("narrow", 380))
_CHECKS = {True: "agreed", False: "refused", None: "not tried"}


def render_page(
    rows: Sequence[Row],
    *,
    sentence: str,
    provenance: Provenance,
    title: str,
    further: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The whole page as text.

    sentence  what the certificate of the best row states, in one sentence
    further   pages in the same folder, by file name, and in a few words what each shows
    """
    check_rows(rows)
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            _claim(find_best(rows), sentence),
            "<h2>Error against size</h2>",
            both_widths(lambda width: draw_scatter(rows, width=width)),
            _table(rows),
            _further(further),
            _guarantees(provenance),
            _checking(rows, provenance),
            _footer(provenance),
        ]
    )
    return frame_page(body, title=title, version=provenance.version)


def frame_page(body: str, *, title: str, version: str) -> str:
    """The page around its content."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="netpact {escape(version)}">
<title>{escape(title)}</title>
<style>{PAGE_STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _claim(best: Row | None, sentence: str) -> str:
    """The headline; its label says plainly when the sentence is worth nothing."""
    if best is None:
        kind, about = "Nothing is proven here", "No network of this report has a certificate that stands."
    elif best.vacuous:
        kind = "Proven, but vacuous"
        about = f"{best.name}, {best.message_bytes:,} bytes. Guessing a class at random does as well."
    else:
        kind, about = "Proven", f"{best.name}, {best.message_bytes:,} bytes."
    strength = "claim" if kind == "Proven" else "claim weak"
    said = "" if best is None else f'<p class="sentence">{escape(sentence)}</p>'
    return f'<section class="{strength}"><p class="kind">{kind}</p>{said}<p class="about">{escape(about)}</p></section>'


def both_widths(draw: Callable[[int], Figure]) -> str:
    """A figure drawn twice, for wide and narrow screens: scaling one drawing would make its text too small."""
    drawings = "\n".join(f'<div class="{kind}">{draw(width).to_svg()}</div>' for kind, width in _WIDTHS)
    return f"<figure>\n{drawings}\n</figure>"


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


def _table(rows: Sequence[Row]) -> str:
    # What a narrow screen shows without scrolling comes first.
    heads = ("network", "certified<br>bound", "test<br>error", "train<br>error", "bytes", "check", "code<br>bits")
    best = find_best(rows)
    return frame_table(
        "All networks",
        (*heads, "parameters"),
        [_cells(row) for row in rows],
        best=[place for place, row in enumerate(rows) if row is best],
        note="Bounds are rounded up. Vacuous: the bound is no better than guessing a class at random.\n"
        "Highlighted: the smallest bound.",
    )


def _further(pages: Mapping[str, str]) -> str:
    if not pages:
        return ""
    items = "\n".join(f'<li><a href="{escape(file)}">{escape(words)}</a></li>' for file, words in pages.items())
    return f"<h2>More about these networks</h2>\n<ul>\n{items}\n</ul>"


def _cells(row: Row) -> tuple[str, ...]:
    notes = [escape(row.method)] if row.method and row.method != row.name else []
    notes += [f"<code>{escape(row.file)}</code>"] if row.file is not None else []
    return (
        escape(row.name) + "".join(f"<small>{note}</small>" for note in notes),
        _bound_cell(row),
        error_words(row),
        percent(row.train_error),
        count(row.message_bytes),
        "–" if row.bound is None else _CHECKS[row.agreed],
        "–" if row.code_bits is None else count(row.code_bits),
        count(row.parameters),
    )


def _bound_cell(row: Row) -> str:
    if row.bound is None:
        return "none"
    if row.proven is None:
        return "refused" if row.agreed is False else f"{percent_up(row.bound)}<small>as run</small>"
    return percent_up(row.proven) + ("<small>vacuous</small>" if row.vacuous else "")


def _guarantees(provenance: Provenance) -> str:
    sure = confidence(provenance.delta)
    return f"""<h2>What is guaranteed, what is not</h2>
<p>A certificate is about the network in its file and about new samples from the same distribution: the one that the
{count(provenance.samples)} samples it was computed from were drawn from, independently of each other. It says nothing
about data that has drifted away from there. Nothing is claimed about the original network.</p>
<p>Each row holds separately, with probability at least {sure} over the draw of those samples
(delta = {provenance.delta:g}). That all rows hold at once is not claimed.
The test error is shown for comparison; it is no part of the bound.</p>"""


def _checking(rows: Sequence[Row], provenance: Provenance) -> str:
    best = find_best(rows)
    file = shlex.quote(clean(best.file)) if best is not None and best.file is not None else "FILE"
    command = f"netpact verify {file} --data {shlex.quote(clean(provenance.data_name))}"
    return f"""<h2>How to check it</h2>
<p>The file and the data are enough: the command decodes the network, counts its errors again, and recomputes the bound
with a second implementation. Any other file of the table is checked in the same way.</p>
<pre><code>{escape(command)}</code></pre>"""


def _footer(provenance: Provenance) -> str:
    facts = (
        ("netpact", escape(provenance.version)),
        ("made", escape(provenance.created)),
        ("data", f"{escape(provenance.data_name)}, {count(provenance.samples)} samples"),
        ("data fingerprint", f"<code>{escape(provenance.data_fingerprint)}</code>"),
        ("seed", str(provenance.seed)),
        ("command", f"<code>{escape(provenance.command)}</code>"),
    )
    return frame_facts(facts)


def frame_facts(facts: Sequence[tuple[str, str]]) -> str:
    """The foot of a page: what it was made from. Values are HTML already."""
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f"<footer><dl>{items}</dl></footer>"
