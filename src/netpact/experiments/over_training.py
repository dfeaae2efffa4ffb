"""A bound over training: whether it follows the test error, and the panel that shows both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Protocol

from netpact.experiments.pages import Panel
from netpact.monitoring.drawing import rescale
from netpact.reports.charts.curves import Curve, draw_curves

_TITLE = "Bound over training"


class Looked(Protocol):
    """A network at an epoch."""

    @property
    def epoch(self) -> int: ...

    @property
    def train_error(self) -> float: ...

    @property
    def test_error(self) -> float: ...


def follow_test_error(points: Sequence[Looked], bounds: Sequence[float]) -> float:
    """Their correlation; not a number where one of the two does not move at all."""
    errors = [point.test_error for point in points]
    if len(set(bounds)) < 2 or len(set(errors)) < 2:
        return math.nan
    return statistics.correlation(bounds, errors)


def panel_over_training(points: Sequence[Looked], bounds: Mapping[str, Sequence[float]], text: str) -> Panel:
    """Both errors, and bounds by what they are called, each rescaled to the range of the test error."""
    epochs = [float(point.epoch) for point in points]
    tests, trained = [point.test_error for point in points], [point.train_error for point in points]
    curves = [
        Curve("test error", tuple(zip(epochs, tests, strict=True))),
        Curve("training error", tuple(zip(epochs, trained, strict=True))),
        *(
            Curve(f"bound, {name}, rescaled", rescale(list(zip(epochs, values, strict=True)), min(tests), max(tests)))
            for name, values in bounds.items()
        ),
    ]
    return Panel(
        _TITLE,
        text,
        lambda width: draw_curves(
            curves, name="bound-over-training", title=_TITLE, x_title="epoch", y_title="error", width=width
        ),
    )
