"""The file of a Monitor: bounds and margins along training."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from netpact.core.checks import check_number
from netpact.core.json import read_object
from netpact.monitoring.drawing import draw_history
from netpact.monitoring.observation import Observation, read_observation
from netpact.overview.found import Found
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import Panel, Section

_KIND = b'"kind":"netpact monitor '
_MARGINS = ("0.05", "0.25", "0.5", "0.75")


def is_monitor(content: bytes) -> bool:
    return content[:1] == b"{" and _KIND in content.partition(b"\n")[0]


def read_monitor(content: bytes, path: Path, key: str) -> Found:
    first, *lines = content.decode(errors="replace").splitlines()
    read_object(first, where=str(path))
    found = [read_observation(line, where=f"{path}, line {place}") for place, line in enumerate(lines, 2)]
    for one in found:
        for number in (one.test_error, one.gamma, *one.bounds.values()):
            if number is not None:
                check_number(number, where=f"{path}, epoch {one.epoch}")
    history = sorted(found, key=lambda one: one.epoch)
    if not history:
        return Found()
    known = [name for name in history[0].bounds if all(name in one.bounds for one in history)]
    panels = [
        Panel(f"{name} along training", "An estimate, rescaled to the errors.", partial(_bound, history, name))
        for name in known
    ]
    shares = [share for share in _MARGINS if all(share in one.margins for one in history)]
    if shares:
        panels.append(
            Panel("Margins along training", "Quantiles of the training margins.", partial(_margins, history, shares))
        )
    return Found(sections=(Section(f"t-{key}", f"Along training: {path.name}", tuple(panels), f"{key}-"),))


def _bound(history: list[Observation], name: str, width: int) -> Figure:
    drawn = draw_history(history, name, width=width, title=f"{name} along training")
    return type(drawn)(**{**vars(drawn), "name": f"training-{list(history[0].bounds).index(name) + 1}"})


def _margins(history: list[Observation], shares: list[str], width: int) -> Figure:
    curves = [
        Curve(f"quantile {share}", tuple((float(one.epoch), one.margins[share]) for one in history)) for share in shares
    ]
    title = "Margins along training"
    return draw_curves(curves, name="margins", title=title, x_title="epoch", y_title="margin", width=width)
