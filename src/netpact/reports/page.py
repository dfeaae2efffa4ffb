"""The report: one self-contained HTML page, which loads nothing. What is proven comes first, and how to check it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from netpact.core.percent import confidence
from netpact.reports.charts.marks import heights
from netpact.reports.charts.parts import BoundParts, draw_parts, take_apart
from netpact.reports.charts.scatter import draw_scatter
from netpact.reports.comparison import LEGEND, compare_rows
from netpact.reports.frame import (
    Panel,
    Section,
    both_widths,
    frame_facts,
    frame_page,
    frame_table,
    list_sections,
)
from netpact.reports.rows import Provenance, Row, check_rows, find_best
from netpact.reports.terms import term
from netpact.reports.text import clean, count, escape

__all__ = [
    "both_widths",
    "compare_sections",
    "frame_facts",
    "frame_page",
    "frame_table",
    "head_rows",
    "render_page",
]

_MOST_PARTS = 16  # bounds that are taken apart on one page: the smallest ones


def render_page(
    rows: Sequence[Row],
    *,
    sentence: str,
    provenance: Provenance,
    title: str,
    further: Mapping[str, str] = MappingProxyType({}),
    sections: Sequence[Section] = (),
    lead: Section | None = None,
) -> str:
    """The whole page as text.

    sentence  what the certificate of the best row states, in one sentence
    further   pages in the same folder, by file name, and in a few words what each shows
    sections  what else is known, below the comparison
    lead      what stands above it, right after the answer
    """
    check_rows(rows)
    shown = [*(() if lead is None else (lead,)), *compare_sections(rows), *sections]
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            head_rows(rows, sentence=sentence, data_name=provenance.data_name, fingerprint=provenance.data_fingerprint),
            list_sections(shown),
            *(section.to_html() for section in shown),
            _further(further),
            tell_guarantees(samples=provenance.samples, delta=provenance.delta),
            _footer(provenance),
        ]
    )
    return frame_page(body, title=title, version=provenance.version)


def compare_sections(rows: Sequence[Row], *, key: str = "", about: str = "") -> list[Section]:
    """The table over all rows, the plane of size and bound, and the bounds taken apart. about: which rows, in words."""
    after = f": {about}" if about else ""
    found = [Section(f"table{key}", f"Comparison{after}", (LEGEND, compare_rows(rows, label=f"Comparison{after}")))]
    if any(heights(row) for row in rows):
        words = (
            "Each network's certified bound above its measured errors. The dashed steps are the lowest bound that is "
        )
        panel = Panel(
            "Error against size",
            f"{words}proven up to each size; the grey band is no better than guessing.",
            lambda width: draw_scatter(rows, width=width),
        )
        found.append(Section(f"plane{key}", f"Size against bound{after}", (panel,)))
    parts = [part for row in rows if (part := take_apart(row)) is not None]
    if parts:
        found.append(_parts_section(parts, key=key, after=after))
    return found


def _parts_section(parts: Sequence[BoundParts], *, key: str, after: str) -> Section:
    shown = sorted(parts, key=lambda part: part.bound)[:_MOST_PARTS]
    left = f" The {_MOST_PARTS} smallest of {len(parts)} are shown." if len(parts) > _MOST_PARTS else ""
    words = (
        "A certified bound is the training error; what delta adds to it, because the samples are a draw; and what the "
        f"bits of the message add, because the network was chosen by looking at them.{left}"
    )
    panel = Panel("Training error, delta, bits", words, lambda width: draw_parts(shown, width=width))
    return Section(f"parts{key}", f"What the bounds are made of{after}", (panel,))


def head_rows(rows: Sequence[Row], *, sentence: str, data_name: str, fingerprint: str) -> str:
    """The answer: what is proven of the best row, and how to check it."""
    best = find_best(rows)
    return f"{_claim(best, sentence)}\n{_checking(best, data_name, fingerprint)}"


def _claim(best: Row | None, sentence: str) -> str:
    """The headline; its label says plainly when the sentence is worth nothing."""
    if best is None:
        kind, about = "Nothing is proven here", "No network of this report has a certificate that stands."
    elif best.vacuous:
        kind = "Proven, but vacuous"
        about = f"{best.name}, {best.message_bytes:,} bytes. Guessing a class at random does as well."
    else:
        kind, about = "Proven", f"{best.name}, {best.message_bytes:,} bytes."
    if best is not None:
        kind = f"{kind}; verified for this page" if best.agreed else f"{kind}, as the file states; not checked here"
    strength = "claim" if kind.startswith("Proven") and best is not None and not best.vacuous else "claim weak"
    said = "" if best is None else f'<p class="sentence">{escape(sentence)}</p>'
    return f'<section class="{strength}"><p class="kind">{kind}</p>{said}<p class="about">{escape(about)}</p></section>'


def _checking(best: Row | None, data_name: str, fingerprint: str) -> str:
    if best is None:
        return ""
    file = "FILE" if best.file is None else shlex.quote(clean(best.file))
    command = f"netpact verify {file} --data {shlex.quote(clean(data_name))}"
    hashes = [("message SHA-256", best.message_sha256), ("data fingerprint", fingerprint)]
    facts = "".join(f"<dt>{name}</dt><dd><code>{escape(value)}</code></dd>" for name, value in hashes if value)
    return f"""<div class="check"><p>Check it yourself, from the file and the data alone: the command decodes the
network, counts its errors again, and recomputes the bound with a second implementation.</p>
<pre><code>{escape(command)}</code></pre>
<dl>{facts}</dl></div>"""


def _further(pages: Mapping[str, str]) -> str:
    if not pages:
        return ""
    items = "\n".join(f'<li><a href="{escape(file)}">{escape(words)}</a></li>' for file, words in pages.items())
    return f"<h2>More about these networks</h2>\n<ul>\n{items}\n</ul>"


def tell_guarantees(*, samples: int | None = None, delta: float | None = None) -> str:
    drawn = "the samples" if samples is None else f"the {count(samples)} samples"
    sure = "1 - delta" if delta is None else f"{confidence(delta)}"
    after = "" if delta is None else f" (delta = {delta:g})"
    return f"""<section id="guarantees"><h2>What is guaranteed, what is not</h2>
<p>A {term("certificate", "certificate")} is about the network in its file and about new samples from the same
distribution: the one that {drawn} it was computed from were drawn from, independently of each other. It says
nothing about data that has drifted away from there. Nothing is claimed about the original network.</p>
<p>Each row holds separately, with probability at least {sure} over the draw of those samples{after}. That all rows
hold at once is not claimed. The test error is shown for comparison; it is no part of the bound.</p></section>"""


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
