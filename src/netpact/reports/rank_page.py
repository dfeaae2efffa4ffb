"""Rank advice as one self-contained HTML page: a figure and a table for each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.core.percent import percent
from netpact.core.version import __version__
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import both_widths, frame_facts, frame_page, frame_table
from netpact.reports.text import count, escape

if TYPE_CHECKING:
    from netpact.methods import LayerAdvice, RankAdvice, RankPoint

_HEADS = ("rank", "parameters", "FLOPs", "bytes", "error", "|W - W^|", "deviation<br>bound", "logits", "decisions")
_NOTE = (
    "Error, change of the logits (relative) and decisions changed: measured with this layer alone replaced, its "
    "numbers rounded. Upper bounds: |W - W^| in the operator norm; the deviation bound on the logits, for some samples."
)


def render_ranks(advice: RankAdvice, *, title: str, command: str = "") -> str:
    """The whole page as text."""
    together, asked = advice.together, advice.options
    told = f"""<p>{count(advice.samples)} samples of {escape(advice.data_name)}. With all recommended ranks the layers
below take {count(round(advice.bytes))} bytes instead of {count(round(advice.bytes_before))} at {asked.bits} bits;
{percent(together.decisions, places=2)} of the decisions change ({percent(asked.tolerance, places=2)} allowed;
{percent(advice.rounded.decisions, places=2)} by rounding alone), accuracy is {percent(together.accuracy, places=2)}
instead of {percent(advice.accuracy, places=2)}. These are measurements, no certificate. {escape(advice.note)}</p>"""
    panels = [_panel(place, layer) for place, layer in enumerate(advice.layers)]
    left = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in advice.left_out)
    rest = f"<h2>Left out</h2>\n<ul>{left}</ul>" if left else ""
    facts = [("netpact", escape(__version__)), ("seed", str(asked.seed.number))]
    facts += [("command", f"<code>{escape(command)}</code>")] if command else []
    body = "\n".join([f"<h1>{escape(title)}</h1>", told, *panels, rest, frame_facts(facts)])
    return frame_page(body, title=title, version=__version__)


def draw_ranks(advice: RankAdvice, *, width: int = 900) -> list[Figure]:
    """One figure for each layer that has ranks to choose from."""
    return [_draw(place, layer, width) for place, layer in enumerate(advice.layers)]


def _draw(place: int, layer: LayerAdvice, width: int) -> Figure:
    def curve(name: str, heights: list[float]) -> Curve:
        ranks = [float(point.rank or 0) for point in layer.points]
        return Curve(name, tuple(zip(ranks, heights, strict=True)))

    changes = [point.change for point in layer.points]
    return draw_curves(
        [
            curve("error of the weights", [point.error for point in layer.points]),
            curve("change of the logits", [change.logits for change in changes]),
            curve("decisions changed", [change.decisions for change in changes]),
        ],
        name=f"ranks-{place + 1}",
        title=_heading(layer),
        x_title="rank",
        y_title="share",
        width=width,
        logarithmic=True,
    )


def _heading(layer: LayerAdvice) -> str:
    chosen = "as it is" if layer.rank is None else f"rank {layer.rank}"
    return f"{layer.name or 'the module'}, {layer.kind} {'x'.join(map(str, layer.shape))}: {chosen}"


def _panel(place: int, layer: LayerAdvice) -> str:
    rows = [*layer.points, layer.as_it_is]
    table = frame_table(
        escape(_heading(layer)),
        _HEADS,
        [_cells(point) for point in rows],
        best=[index for index, point in enumerate(rows) if point is layer.chosen],
        note=_NOTE,
    )
    figure = both_widths(lambda width: _draw(place, layer, width))
    return f"{table}\n<p>{escape(layer.why[:1].upper() + layer.why[1:])}.</p>\n{figure}"


def _cells(point: RankPoint) -> tuple[str, ...]:
    bound = point.deviation_bound
    return (
        "as it is" if point.rank is None else str(point.rank),
        count(point.parameters),
        count(point.flops),
        count(round(point.bytes)),
        f"{point.error:.3g}",
        f"{point.weight_change:.3g}",
        "–" if bound is None else f"{bound:.3g}",
        f"{point.change.logits:.3g}",
        percent(point.change.decisions, places=2),
    )
