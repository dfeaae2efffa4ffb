"""The measurements of a network as one self-contained HTML page, against a second network if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from netpact.core.errors import PactError
from netpact.measurements.reading import Quantiles
from netpact.reports.charts.distributions import Spread, draw_distributions
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import Panel, frame_facts, frame_page, frame_table
from netpact.reports.layer_figures import layer_panels
from netpact.reports.terms import quantity_term
from netpact.reports.text import count, escape

if TYPE_CHECKING:
    from netpact.measurements import Definition, Measures, Quantity


def render_measures(
    measures: Measures,
    *,
    against: Measures | None = None,
    against_name: str = "a second network",
    title: str,
    command: str = "",
) -> str:
    """The whole page as text. Both networks must have the same layers; against_name says what the second one is."""
    parts = measure_parts(measures, against=against, against_name=against_name)
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            *(part if isinstance(part, str) else part.to_html() for part in parts),
            _footer(measures, command),
        ]
    )
    return frame_page(body, title=title, version=measures.provenance.version)


def measure_parts(
    measures: Measures, *, against: Measures | None = None, against_name: str = "a second network"
) -> tuple[Panel | str, ...]:
    """What a page shows of one network: distributions over the samples, then layer by layer, then as a whole."""
    names = [layer.name for layer in measures.layers]
    if against is not None and [layer.name for layer in against.layers] != names:
        raise PactError("the two networks do not have the same layers", where="against")
    return (
        _introduction(measures, against_name if against is not None else ""),
        *(_panel(row, spreads) for row, spreads in _drawn(measures, against)),
        *layer_panels(measures),
        _table(measures),
        _further_table(measures),
        _whole(measures),
    )


def _introduction(measures: Measures, other_name: str) -> str:
    told = measures.provenance
    other = f" The outline is {escape(other_name)}." if other_name else ""
    kept = any(isinstance(one, Quantiles) for layer in measures.layers for one in layer.found.values())
    shape = (
        "a line from 5 % to 95 % of the samples, a box from 25 % to 75 %, the median across it"
        if kept
        else "a histogram"
    )
    return f"""<p>{escape(told.model)} on {count(told.samples)} samples of {escape(told.data_name)}; what needs
Jacobians or noise was measured at {count(told.jacobian_samples)} of them. Each figure shows how a quantity is
spread over the samples, layer by layer: {shape}; the tick below a row is the worst sample, the one that the
definition asks for.{other} These are measurements and estimates, no certificate.</p>"""


def draw_measures(measures: Measures, *, against: Measures | None = None, width: int = 900) -> list[Figure]:
    """The figures of the page: those quantities that were measured."""
    drawn = [_draw(row, spreads, width) for row, spreads in _drawn(measures, against)]
    return [*drawn, *(panel.draw(width) for panel in layer_panels(measures))]


def _drawn(measures: Measures, against: Measures | None) -> Iterator[tuple[Definition, list[Spread]]]:
    from netpact.measurements import QUANTITIES

    for row in QUANTITIES.values():
        spreads = list(_spreads(row.name, measures, against)) if row.meaning else []
        if spreads:
            yield row, spreads
    margins = _spread("network", measures.get("margins"), None if against is None else against.get("margins"))
    if margins is not None:
        yield replace(QUANTITIES["margins"], logarithmic=False), [margins]


def _draw(row: Definition, spreads: list[Spread], width: int) -> Figure:
    return draw_distributions(
        spreads,
        name=row.name,
        title=_heading(row),
        axis_title=row.symbol or row.title,
        width=width,
        logarithmic=row.logarithmic,
    )


def _heading(row: Definition) -> str:
    return row.title[:1].upper() + row.title[1:]


def _panel(row: Definition, spreads: list[Spread]) -> Panel:
    better = "Larger is better" if row.side == "least" else "Smaller is better"
    said = f": {row.meaning}" if row.meaning else ""
    words = f"{better}{said}{row.reference and f' ({row.reference})'}."
    return Panel(_heading(row), words, lambda width: _draw(row, spreads, width))


def _spreads(name: str, measures: Measures, against: Measures | None) -> Iterator[Spread]:
    for number, layer in enumerate(measures.layers):
        found = _spread(layer.name, layer.get(name), None if against is None else against.layers[number].get(name))
        if found is not None:
            yield found


def _spread(name: str, own: Quantity | None, other: Quantity | None) -> Spread | None:
    if own is None or own.samples is None:
        return None
    quantiles = isinstance(own, Quantiles)
    if other is None or other.samples is None or isinstance(other, Quantiles) != quantiles:
        return Spread(name, own.samples, own.value, quantiles=quantiles)
    return Spread(name, own.samples, own.value, other.samples, other.value, quantiles=quantiles)


def _table(measures: Measures) -> str:
    columns = measures.columns()
    rows = [
        (
            f"{escape(layer.name)}<small>{escape(layer.kind)} {'x'.join(map(str, layer.shape))}</small>",
            count(layer.parameters),
            *(_cell(layer.get(row.name)) for row in columns),
        )
        for layer in measures.layers
    ]
    return frame_table(
        "All layers",
        ("layer", "parameters", *(quantity_term(escape(row.symbol or row.name), row.name) for row in columns)),
        rows,
        note="The worst over the samples. ~ marks an estimate: from some of the samples, or by random probes.",
    )


def _further_table(measures: Measures) -> str:
    """Quantities that have no column above: one line each, one column a layer would be too wide."""
    shown = {row.name for row in measures.columns()}
    names = dict.fromkeys(name for layer in measures.layers for name in layer.found if name not in shown)
    if not names:
        return ""
    from netpact.measurements import QUANTITIES

    rows = [
        (
            quantity_term(escape(_heading(QUANTITIES[name])), name),
            *(_cell(layer.get(name)) for layer in measures.layers),
        )
        for name in names
    ]
    return frame_table("Further quantities", ("quantity", *(escape(layer.name) for layer in measures.layers)), rows)


def _whole(measures: Measures) -> str:
    from netpact.measurements.wording import titled

    facts = "".join(f"<li>{escape(title)} {_cell(quantity)}</li>" for title, quantity in titled(measures))
    return f"<h2>The network as a whole</h2>\n<ul>{facts}</ul>" if facts else ""


def _cell(quantity: Quantity | None) -> str:
    if quantity is None:
        return "–"
    return f"{'' if quantity.exact else '~'}{quantity.value:.4g}"


def _footer(measures: Measures, command: str) -> str:
    told = measures.provenance
    facts = [
        ("netpact", escape(told.version)),
        ("data", f"{escape(told.data_name)}, {count(told.samples)} samples"),
        ("data fingerprint", f"<code>{escape(told.data_fingerprint)}</code>"),
        ("seed", str(told.seed)),
    ]
    facts += [("command", f"<code>{escape(command)}</code>")] if command else []
    return frame_facts(facts)
