"""Results of commands as JSON: of measure, bounds, experiment, search, and lists of rows. Keys tell the kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from netpact.bounds.logs import power_text
from netpact.core.checks import check_instance, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.json import check_object
from netpact.measurements.reading import read_measures
from netpact.overview.found import Found
from netpact.reports.bound_page import bound_parts
from netpact.reports.bound_rows import BoundRow
from netpact.reports.charts.dots import Series, draw_dots
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.points import Cloud, draw_points
from netpact.reports.frame import Panel, Section, frame_table
from netpact.reports.measure_page import measure_parts
from netpact.reports.row_reading import looks_like_rows, read_rows
from netpact.reports.text import escape

_MOST = 10_000  # entries of a list


def read_result(content: object, *, where: str, key: str) -> Found:
    """The kind that the content's keys say; what is of no kind is refused."""
    for fits, read in _KINDS:
        if fits(content):
            return read(content, where, key)
    raise PactError(
        "this JSON is of no kind that a report shows",
        where=where,
        hint="give what measure, bounds, experiment, search, demo or report wrote with --json",
    )


def is_result(content: object) -> bool:
    return any(fits(content) for fits, _ in _KINDS)


def _has(*names: str) -> Callable[[object], bool]:
    return lambda content: isinstance(content, Mapping) and all(name in content for name in names)


def _are_bounds(content: object) -> bool:
    return isinstance(content, list) and bool(content) and all(_has("name", "kind", "log10")(one) for one in content)


def _read_rows(content: Any, where: str, key: str) -> Found:
    return Found(tuple(read_rows(content["rows"] if isinstance(content, Mapping) else content, where=where)))


def _read_measures(content: Any, where: str, key: str) -> Found:
    found = read_measures(content, where=where)
    second = content.get("against")
    other = None if second is None else read_measures(second, where=f"{where}, against")
    told = found.provenance
    parts = measure_parts(found, against=other)
    return Found(sections=(Section(f"m-{key}", f"Measured: {told.model} on {told.data_name}", parts, f"{key}-"),))


def _read_bounds(content: Any, where: str, key: str) -> Found:
    rows = [_bound(one, f"{where}, bound {place}") for place, one in enumerate(content[:_MOST], 1)]
    parts = bound_parts(rows, samples=max(row.samples for row in rows))
    return Found(sections=(Section(f"b-{key}", f"Published bounds: {_stem(where)}", parts, f"{key}-"),))


def _bound(record: object, where: str) -> BoundRow:
    """A certificate in a list of bounds was not checked here, so it is no certificate on this page."""
    content = check_object(record, where=where)
    kind = "estimate" if content["kind"] == "estimate" else "stated, not checked"
    power, value = (content.get(name) for name in ("log10", "value"))
    return BoundRow(
        name=_text(content, "name", where),
        kind=kind,
        value=math.inf if value is None else float(check_number(value, where=f"{where}, value")),
        log10=math.inf if power is None else float(check_number(power, where=f"{where}, log10")),
        theorem=_text(content, "theorem", where),
        samples=check_integer(content.get("samples"), where=f"{where}, samples", least=1),
        assumptions=_texts(content, "assumptions", where),
        ignored=_texts(content, "ignored", where),
        about="" if content.get("about") is None else _text(content, "about", where),
    )


def _read_search(content: Any, where: str, key: str) -> Found:
    """Everything that a search tried: size against bound."""
    trials = check_instance(content["ledger"], list, where=f"{where}, ledger")[:_MOST]
    points, labels = [], []
    for place, one in enumerate(trials, 1):
        trial = check_object(one, where=f"{where}, trial {place}")
        bits = check_integer(trial.get("bits"), where=f"{where}, trial {place}, bits", least=1)
        score = check_number(trial.get("score"), where=f"{where}, trial {place}, score", least=0, most=1)
        points.append((math.log10(bits), 100.0 * score))
        labels.append(_text(trial, "name", where))
    if not points:
        return Found()
    words = f"{len(points):,} trials; the message of the best one pays for having looked at all of them."
    panel = Panel("What was tried", words, partial(_draw_trials, Cloud("trials", tuple(points), tuple(labels))))
    return Found(sections=(Section(f"s-{key}", f"Search: {_stem(where)}", (panel,), f"{key}-"),))


def _draw_trials(cloud: Cloud, width: int) -> Figure:
    return draw_points(
        [cloud], name="trials", title="What was tried", x_title="log10 of bits", y_title="bound in %", width=width
    )


def _read_experiment(content: Any, where: str, key: str) -> Found:
    """Findings with the paper's numbers beside ours."""
    listed = check_instance(content["findings"], list, where=f"{where}, findings")[:_MOST]
    findings = [check_object(one, where=f"{where}, finding {place}") for place, one in enumerate(listed, 1)]
    rows = [_finding(one, f"{where}, finding {place}") for place, one in enumerate(findings, 1)]
    heads = ("finding and rule", "paper", "each seed", "verdict")
    cells = [
        (f"{escape(claim)}<small>{escape(rule)}</small>", _shown(paper), ", ".join(map(_one, ours)), escape(verdict))
        for claim, rule, paper, ours, verdict in rows
    ]
    note = "" if content.get("note") is None else _text(content, "note", where)
    about = f"<p>{escape(note)} These are measurements and estimates, no certificates.</p>"
    parts: list[Panel | str] = [about, frame_table("Findings", heads, cells)]
    beside = [(claim, paper, ours) for claim, _, paper, ours, _ in rows if paper is not None and ours]
    if beside:
        words = "The number that the paper prints, beside ours of each seed."
        parts.append(Panel("The paper beside ours", words, partial(_draw_beside, beside)))
    name = _text(content, "experiment", where)
    return Found(sections=(Section(f"e-{key}", f"Experiment {name}", tuple(parts), f"{key}-"),))


def _finding(one: Mapping[str, Any], where: str) -> tuple[str, str, float | None, tuple[float, ...], str]:
    paper = one.get("published")
    numbers = check_instance(one.get("numbers"), list, where=f"{where}, numbers")
    return (
        _text(one, "claim", where),
        _text(one, "rule", where),
        None if paper is None else float(check_number(paper, where=f"{where}, published")),
        tuple(float(check_number(number, where=f"{where}, numbers")) for number in numbers if number is not None),
        _text(one, "verdict", where),
    )


def _draw_beside(beside: Sequence[tuple[str, float, tuple[float, ...]]], width: int) -> Figure:
    names = [claim for claim, _, _ in beside]
    series = [
        Series("ours, each seed", tuple(ours for _, _, ours in beside)),
        Series("paper", tuple((paper,) for _, paper, _ in beside)),
    ]
    title = "The paper beside ours"
    return draw_dots(names, series, name="beside", title=title, axis_title="number", width=width, logarithmic=False)


def _shown(number: float | None) -> str:
    return "–" if number is None else _one(number)


def _one(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1e9 else power_text(math.log10(abs(number)))


def _stem(where: str) -> str:
    return where.rpartition("/")[2]


def _text(content: Mapping[str, Any], name: str, where: str) -> str:
    return check_instance(content.get(name), str, where=f"{where}, {name}", needed="a text")


def _texts(content: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    listed = check_instance(content.get(name, []), list, where=f"{where}, {name}")
    return tuple(check_instance(one, str, where=f"{where}, {name}", needed="a text") for one in listed)


_KINDS: tuple[tuple[Callable[[object], bool], Callable[[Any, str, str], Found]], ...] = (
    (looks_like_rows, _read_rows),
    (_has("layers", "network", "provenance"), _read_measures),
    (_has("experiment", "findings"), _read_experiment),
    (_has("ledger", "rounds"), _read_search),
    (_are_bounds, _read_bounds),
)
