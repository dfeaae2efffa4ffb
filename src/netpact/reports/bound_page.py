"""The page of bounds: a bar for each on a logarithmic scale, like Figure 2 of Arora et al. 2018."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netpact.bounds.logs import power_text
from netpact.certificates.statement import KIND
from netpact.core.percent import percent
from netpact.core.version import __version__
from netpact.reports.bound_rows import Row, error_text, sort_bounds
from netpact.reports.charts.bars import draw_bars
from netpact.reports.frame import Panel, frame_facts, frame_page, frame_table
from netpact.reports.terms import bound_term
from netpact.reports.text import escape

if TYPE_CHECKING:
    from netpact.bounds import Estimates
    from netpact.datasets import Data

_KINDS = {KIND: ("◆ ", "is-certificate"), "estimate": ("≈ ", "is-estimate")}


def render_estimates(rows: Sequence[Row], found: Estimates, data: Data) -> str:
    """The page of one network's estimates, and of whatever stands beside them in `rows`."""
    facts = (
        ("netpact", __version__),
        ("network", found.network),
        ("data", f"{data.name}, {found.samples:,} samples"),
        ("data fingerprint", data.train.fingerprint()),
        *(
            (f"L_gamma at gamma = {g:.4g}", percent(loss, places=4))
            for g, loss in zip(found.gammas, found.losses, strict=True)
        ),
    )
    title = f"Bounds for {found.network} on {data.name}"
    return render_bounds(rows, title=title, samples=found.samples, facts=facts, version=__version__)


def render_bounds(
    rows: Sequence[Row], *, title: str, samples: int, facts: Sequence[tuple[str, str]], version: str
) -> str:
    """The whole page as text. facts: what the numbers were computed from, name and value, as plain text."""
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            *(part if isinstance(part, str) else part.to_html() for part in bound_parts(rows, samples=samples)),
            frame_facts([(escape(name), escape(value)) for name, value in facts]),
        ]
    )
    return frame_page(body, title=title, version=version)


def bound_parts(rows: Sequence[Row], *, samples: int) -> tuple[Panel | str, ...]:
    """What a page shows of bounds: their capacities as bars, and the table of all of them."""
    words = (
        "An estimate is a published bound up to what it ignores; it proves nothing. A certificate is proven, "
        "for the network in its file. The capacity C is the number in error + sqrt(C / samples)."
    )
    return Panel("Capacities", words, lambda width: draw_bars(rows, samples=samples, width=width)), _table(rows)


def _table(rows: Sequence[Row]) -> str:
    ordered = sort_bounds(rows)
    proven = [place for place, row in enumerate(ordered) if row.kind == KIND]
    return frame_table("All bounds", ("bound", "error", "kind", "capacity"), map(_cells, ordered), best=proven)


def _cells(row: Row) -> tuple[str, ...]:
    notes = [f"about {row.about}"] if row.about else []
    notes += [row.theorem]
    more = [f"ignores {', '.join(row.ignored)}"] if row.ignored else []
    more += [*(f"premise {premise}" for premise in row.failing), *row.assumptions]
    name = bound_term(escape(row.name), row.name) + "".join(f"<small>{escape(note)}</small>" for note in notes)
    if more:
        listed = "".join(f"<small>{escape(note)}</small>" for note in more)
        failing = f" ({len(row.failing)} premises fail)" if row.failing else ""
        name += f"<details><summary><small>what it rests on{failing}</small></summary>{listed}</details>"
    mark, look = _KINDS.get(row.kind, ("", "is-ran"))
    return (
        name,
        escape(error_text(row)),
        f'<span class="{look}">{mark}{escape(row.kind)}</span>',
        escape(power_text(row.log10)),
    )
