"""The figure of a run: Figure 2, right, of Arora et al. 2018."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.core.errors import PactError, one_of
from netpact.monitoring.observation import Observation
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.shapes import Point


def draw_history(
    history: Sequence[Observation],
    bound: str,
    *,
    width: int,
    title: str = "Bound over training",
) -> Figure:
    """Training and test error, the generalization error, and log10 of a capacity rescaled to the latter's range."""
    if not history:
        raise PactError("no epoch has been observed yet", where="monitor")
    if bound not in history[0].bounds:
        raise one_of(bound, history[0].bounds, option="bound")
    curves = [Curve("train error", tuple((one.epoch, one.train_error) for one in history))]
    tested: list[Point] = [(one.epoch, one.test_error) for one in history if one.test_error is not None]
    gaps: list[Point] = [(one.epoch, one.gap) for one in history if one.gap is not None]
    if tested:
        curves = [
            Curve("test minus train error", tuple(gaps)),
            Curve("test error", tuple(tested)),
            *curves,
        ]
    powers: list[Point] = [(one.epoch, power) for one in history if (power := one.bounds[bound]) is not None]
    if powers:
        target = [y for _, y in (gaps or curves[0].points)]
        curves.append(Curve(f"log10 capacity of {bound}, rescaled", rescale(powers, min(target), max(target))))
    return draw_curves(curves, name="bound-over-training", title=title, x_title="epoch", y_title="error", width=width)


def rescale(points: Sequence[Point], low: float, high: float) -> tuple[Point, ...]:
    """Shifted and stretched to fill the range from low to high; equal values lie at low."""
    bottom, top = min(y for _, y in points), max(y for _, y in points)
    stretch = (high - low) / (top - bottom) if top > bottom else 0.0
    return tuple((x, low + (y - bottom) * stretch) for x, y in points)
