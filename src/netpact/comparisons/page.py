"""The page of a comparison: what is proven, what is recommended, then all that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netpact.coding.format import Pact
from netpact.comparisons.explaining import Explanation
from netpact.comparisons.recommending import FAITHFUL, FAST, FRESH, PROVEN, SMALL, Choice, Recommendation
from netpact.comparisons.result import Comparison, LeftOut
from netpact.core.errors import PactError
from netpact.models import OwnModule
from netpact.reports.bit_figures import bits_panel, count_layer_bits
from netpact.reports.bound_rows import BoundRow, row_of_certificate
from netpact.reports.frame import Section, frame_table
from netpact.reports.page import render_page
from netpact.reports.rows import Row, find_best
from netpact.reports.text import escape

_MOST_FILES = 4  # whose bits are drawn beside each other
_GOALS = {
    SMALL: "Accurate and small",
    FAITHFUL: "True to the original",
    FAST: "Accurate and fast",
    PROVEN: "The lowest proven bound",
    FRESH: "Proven from fresh samples",
}


def render_comparison(found: Comparison, explained: Explanation, *, folder: Path) -> str:
    best = find_best(found.rows)
    sections = [
        _bits(found, folder, explained),
        *explained.sections(_certificate(best, folder)),
        show_left_out(found.left_out) if found.left_out else None,
    ]
    return render_page(
        found.rows,
        sentence="" if best is None else best.sentence,
        provenance=found.provenance,
        title=f"Which compression suits {explained.measures.provenance.model}? {found.provenance.data_name}",
        sections=[section for section in sections if section is not None],
        lead=Section("advice", "Recommended", (show_advice(found.recommendation),)),
    )


def show_advice(advice: Recommendation) -> str:
    return f'<div class="cards">{"".join(map(_card, advice.choices))}</div>'


def _card(choice: Choice) -> str:
    kind = "card" if choice.row else "card weak"
    heading = escape(_GOALS.get(choice.goal, choice.goal))
    name = f'<p class="chosen">{escape(choice.row)}</p>' if choice.row else ""
    return f'<div class="{kind}"><p class="kind">{heading}</p>{name}<p>{escape(choice.words)}</p></div>\n'


def _bits(found: Comparison, folder: Path, explained: Explanation) -> Section | None:
    """Of the recommended files, then of the smallest certified ones."""
    named = [choice.row for choice in found.recommendation.choices if choice.row]
    certified = sorted((row for row in found.rows if row.bound is not None), key=lambda row: row.bound or 1.0)
    rows = dict.fromkeys([*(found[name].name for name in named), *(row.name for row in certified)])
    files = {}
    for name in list(rows)[:_MOST_FILES]:
        bits = _read_bits(found[name], folder, explained)
        if bits is not None:
            files[name] = bits
    if not files:
        return None
    words = "Bits that each layer takes in the files that are recommended or certified; structure: all but the tensors."
    return Section("bits", "Where the bits go", (bits_panel("Bits by layer", files, name="bits", words=words),))


def _read_bits(row: Row, folder: Path, explained: Explanation) -> dict[str, float] | None:
    try:
        pact = Pact.read(folder / str(row.file))
        shell = explained.network.module if isinstance(pact.architecture, OwnModule) else None
        return count_layer_bits(pact.decode(shell))
    except PactError:  # a rewritten module of the user's own, which only its own code can build
        return None


def _certificate(best: Row | None, folder: Path) -> BoundRow | None:
    """Of the best file, if it was verified."""
    if best is None or best.file is None or not best.agreed:
        return None
    stated = Pact.read(folder / best.file).certificate
    assert stated is not None
    return row_of_certificate(stated, name=Path(best.file).stem, about=f"the network in {best.file}")


def show_left_out(left_out: Sequence[LeftOut]) -> Section:
    rows = [(escape(one.name), f'<span class="words">{escape(one.reason)}</span>') for one in left_out]
    table = frame_table("Without a row of their own", ("method", "why"), rows)
    return Section("left-out", "What was left out", (table,))
