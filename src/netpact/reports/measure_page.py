"""The measurements of a network as one self-contained HTML page, against a second network if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netpact.core.errors import PactError
from netpact.reports.distributions import Spread, draw_distributions
from netpact.reports.figure import Figure
from netpact.reports.page import both_widths, frame_facts, frame_page
from netpact.reports.text import count, escape

if TYPE_CHECKING:
    from netpact.measurements import Measures, Quantity

# What is drawn: the quantity, its heading, its symbol, and what a reader should know of it.
_FIGURES = (
    ("arora_layer_cushion", "Layer cushion", "mu", "Larger is better: noise in the weights is damped more."),
    (
        "min_interlayer_cushion_unclipped",
        "Minimal interlayer cushion, not clipped",
        "mu ->",
        "Larger is better: noise after this layer is damped more on its way to the logits.",
    ),
    ("activation_contraction", "Activation contraction", "c", "Smaller is better: less is lost before the layer."),
    ("interlayer_smoothness", "Interlayer smoothness", "rho", "Larger is better: closer to linear under noise."),
    ("well_distributed", "Spread of the Jacobian over pixels", "beta", "1 is even; smaller is better."),
)
_TABLE = (
    ("|A|_F", "frobenius"),
    ("mu", "arora_layer_cushion"),
    ("mu -&gt;", "min_interlayer_cushion"),
    ("c", "activation_contraction"),
    ("beta", "well_distributed"),
    ("rho", "interlayer_smoothness"),
    ("effective<br>parameters", "effective_parameters"),
)


def render_measures(
    measures: Measures,
    *,
    against: Measures | None = None,
    against_name: str = "a second network",
    title: str,
    command: str = "",
) -> str:
    """The whole page as text. Both networks must have the same layers; against_name says what the second one is."""
    names = [layer.name for layer in measures.layers]
    if against is not None and [layer.name for layer in against.layers] != names:
        raise PactError("the two networks do not have the same layers", where="against")
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            _introduction(measures, against_name if against is not None else ""),
            *(_panel(place, rows) for place, rows in _drawn(measures, against)),
            _table(measures),
            _footer(measures, command),
        ]
    )
    return frame_page(body, title=title, version=measures.provenance.version)


def _introduction(measures: Measures, other_name: str) -> str:
    told = measures.provenance
    other = f" The outline is {escape(other_name)}." if other_name else ""
    return f"""<p>{escape(told.model)} on {count(told.samples)} samples of {escape(told.data_name)}; what needs
Jacobians or noise was measured at {count(told.jacobian_samples)} of them. Each figure shows how a quantity of Arora et
al. 2018 is spread over the samples, layer by layer; the tick below a row is the worst sample, the one that the
definition asks for.{other} These are measurements and estimates, no certificate.</p>"""


def draw_measures(measures: Measures, *, against: Measures | None = None, width: int = 900) -> list[Figure]:
    """The figures of the page: those quantities that were measured."""
    return [_draw(place, rows, width) for place, rows in _drawn(measures, against)]


def _drawn(measures: Measures, against: Measures | None) -> Iterator[tuple[int, list[Spread]]]:
    for place, (name, *_) in enumerate(_FIGURES):
        rows = _spreads(name, measures, against)
        if rows:
            yield place, rows


def _draw(place: int, rows: list[Spread], width: int) -> Figure:
    name, heading, symbol, _ = _FIGURES[place]
    return draw_distributions(rows, name=name, title=heading, axis_title=symbol, width=width)


def _panel(place: int, rows: list[Spread]) -> str:
    _, heading, _, meaning = _FIGURES[place]
    return f"<h2>{heading}</h2>\n<p>{meaning}</p>\n{both_widths(lambda width: _draw(place, rows, width))}"


def _spreads(name: str, measures: Measures, against: Measures | None) -> list[Spread]:
    rows = []
    for number, layer in enumerate(measures.layers):
        own: Quantity | None = getattr(layer, name)
        other: Quantity | None = None if against is None else getattr(against.layers[number], name)
        if own is None or own.samples is None:
            continue
        if other is None or other.samples is None:
            rows.append(Spread(layer.name, own.samples, own.value))
        else:
            rows.append(Spread(layer.name, own.samples, own.value, other.samples, other.value))
    return rows


def _table(measures: Measures) -> str:
    shown = [
        (title, name) for title, name in _TABLE if any(getattr(layer, name) is not None for layer in measures.layers)
    ]
    head = "".join(f'<th scope="col">{title}</th>' for title in ("layer", "parameters", *(title for title, _ in shown)))
    body = []
    for layer in measures.layers:
        cells = [count(layer.parameters), *(_cell(getattr(layer, name)) for _, name in shown)]
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        note = f"<small>{escape(layer.kind)} {'x'.join(map(str, layer.shape))}</small>"
        body.append(f'<tr><th scope="row">{escape(layer.name)}{note}</th>{numbers}</tr>')
    rows = "\n".join(body)
    return f"""<h2>All layers</h2>
<div class="scroll" role="region" aria-label="All layers" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
<p class="note">The worst over the samples. ~ marks an estimate: from some of the samples, or by random probes.</p>"""


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
