"""The page of bounds: a bar for each on a logarithmic scale, like Figure 2 of Arora et al. 2018."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from netpact.bounds.logs import power_text
from netpact.core.version import __version__
from netpact.reports.bound_rows import BoundRow, error_text, sort_bounds
from netpact.reports.figure import Figure
from netpact.reports.page import both_widths, frame_facts, frame_page
from netpact.reports.shapes import Line, Rect, Shape, Words
from netpact.reports.text import escape, shorten

if TYPE_CHECKING:
    from netpact.bounds import Estimates
    from netpact.datasets import Data

_FONT = 12.0
_LANE = 24.0
_BAR = 14.0
_RIGHT = 64.0
_TOP = 26.0
_MOST_TICKS = 8
_TICK_ROOM = 44.0  # pixels that the label of a tick needs


def draw_bars(rows: Sequence[BoundRow], *, samples: int, width: int = 760) -> Figure:
    """Bars of log10 capacity. A certificate is filled, an estimate is an outline: the two never look alike.

    A dashed line stands at the number of samples: a capacity beyond it says nothing about the error.
    """
    ordered = sort_bounds(rows)
    left = min(0.42 * width, 180.0)
    right = width - _RIGHT
    limit = math.log10(samples)
    known = [row.log10 for row in ordered if math.isfinite(row.log10)]
    low, high = math.floor(min([0.0, *known])), math.ceil(max([1.0, limit, *known]))
    bottom = _TOP + _LANE * len(ordered)

    def place(power: float) -> float:
        return left + (min(max(power, low), high) - low) / (high - low) * (right - left)

    parts: list[Shape] = []
    step = max(1, math.ceil((high - low) / min(_MOST_TICKS, (right - left) // _TICK_ROOM)))
    for power in range(low, high + 1, step):
        x = place(power)
        parts.append(Line(kind="base" if power == low else "grid", x1=x, y1=_TOP, x2=x, y2=bottom))
        parts.append(Words(text=f"1e{power}", kind="tick", x=x, y=bottom + 16, anchor="middle"))
    for number, row in enumerate(ordered):
        parts.extend(_draw_bar(row, y=_TOP + number * _LANE, left=left, end=place(row.log10)))
    x = place(limit)
    parts.append(Line(kind="pole original", x1=x, y1=_TOP - 6, x2=x, y2=bottom))
    parts.append(Words(text=f"{samples:,} samples", kind="axis", x=x, y=_TOP - 10, anchor="middle"))
    words = "capacity (logarithmic); filled: certificate, outlined: estimate"
    parts.append(Words(text=words, kind="axis", x=width / 2, y=bottom + 36, anchor="middle"))
    said = " ".join(f"{row.name}, {row.kind}: capacity {power_text(row.log10)}." for row in ordered)
    return Figure(
        name="bounds",
        title="Capacity of each bound",
        description=said,
        width=width,
        height=bottom + 46,
        shapes=tuple(parts),
        numbers=tuple(_numbers(row) for row in ordered),
    )


def _numbers(row: BoundRow) -> dict[str, object]:
    told = {"bound": row.name, "kind": row.kind, "log10_capacity": row.log10, "error": row.value}
    return {**told, "samples": row.samples, "from": row.theorem}


def _draw_bar(row: BoundRow, *, y: float, left: float, end: float) -> list[Shape]:
    certain = row.kind == "certificate"
    bar = Rect(kind="bound" if certain else "test", x=left, y=y + 5, width=max(end - left, 0.0), height=_BAR)
    name = shorten(row.name, room=left - 12, font_size=_FONT)
    label = Words(text=name, kind="name best" if certain else "name", x=left - 8, y=y + 16, anchor="end")
    return [bar, label, Words(text=power_text(row.log10, digits=1), kind="tick", x=end + 6, y=y + 16)]


def render_estimates(rows: Sequence[BoundRow], found: Estimates, data: Data) -> str:
    """The page of one network's estimates, and of whatever stands beside them in `rows`."""
    facts = (
        ("netpact", __version__),
        ("network", found.network),
        ("data", f"{data.name}, {found.samples:,} samples"),
        ("data fingerprint", data.train.fingerprint()),
        *((f"L_gamma at gamma = {g:.4g}", f"{loss:.4%}") for g, loss in zip(found.gammas, found.losses, strict=True)),
    )
    title = f"Bounds for {found.network} on {data.name}"
    return render_bounds(rows, title=title, samples=found.samples, facts=facts, version=__version__)


def render_bounds(
    rows: Sequence[BoundRow], *, title: str, samples: int, facts: Sequence[tuple[str, str]], version: str
) -> str:
    """The whole page as text. facts: what the numbers were computed from, name and value, as plain text."""
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            "<p>An estimate is a published bound up to what it ignores; it proves nothing. A certificate is proven, for the "
            "network in its file. The capacity C is the number in error + sqrt(C / samples).</p>",
            both_widths(lambda width: draw_bars(rows, samples=samples, width=width)),
            "<h2>All bounds</h2>",
            _table(rows),
            frame_facts([(escape(name), escape(value)) for name, value in facts]),
        ]
    )
    return frame_page(body, title=title, version=version)


def _table(rows: Sequence[BoundRow]) -> str:
    headings = ("bound", "error", "kind", "capacity")
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    body = "\n".join(_table_row(row) for row in sort_bounds(rows))
    return f"""<div class="scroll" role="region" aria-label="All bounds" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody></table></div>"""


def _table_row(row: BoundRow) -> str:
    notes = [f"about {row.about}"] if row.about else []
    notes += [row.theorem]
    notes += [f"ignores {', '.join(row.ignored)}"] if row.ignored else []
    notes += [*(f"premise {premise}" for premise in row.fails), *row.assumptions]
    below = "".join(f"<small>{escape(note)}</small>" for note in notes)
    start = '<tr class="best">' if row.kind == "certificate" else "<tr>"
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in (error_text(row), row.kind, power_text(row.log10)))
    return f'{start}<th scope="row">{escape(row.name)}{below}</th>{cells}</tr>'
