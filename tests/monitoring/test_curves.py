"""The figure of curves: well-formed, inside its frame, with a legend for each curve."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from netpact.core.errors import PactError
from netpact.reports.charts.curves import Curve, draw_curves


def draw(*curves: Curve, width: int = 760) -> str:
    return draw_curves(curves, name="test", title="t", x_title="epoch", y_title="error", width=width).to_svg()


@pytest.mark.parametrize("width", [380, 900])
@pytest.mark.parametrize(
    "points",
    [((1, 0.5),), ((1, 0.5), (2, 0.5)), ((1, 0.9), (100, -0.1), (299, 0.0)), ((1, 1e-9), (2, 1e9))],
    ids=["one point", "flat", "falling", "wide"],
)
def test_lines_stay_inside(points: tuple[tuple[float, float], ...], width: int) -> None:
    drawn = draw(Curve("a < b", points), Curve("second", ((1, 0.2), (2, 0.3))), width=width)
    root = ElementTree.fromstring(drawn)
    height = float(root.attrib["height"])
    for x, y in re.findall(r'x[12]="([-0-9.]+)" y[12]="([-0-9.]+)"', drawn):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height
    assert drawn.count("a &lt; b") == 2, "legend and description"
    assert drawn.count('class="worst other"') >= 2


def test_higher_is_higher() -> None:
    drawn = draw(Curve("falling", ((1, 0.9), (2, 0.1))))
    (line,) = re.findall(r'class="worst" x1="[0-9.]+" y1="([0-9.]+)" x2="[0-9.]+" y2="([0-9.]+)"', drawn)[:1]
    assert float(line[0]) < float(line[1]), "y runs downwards"


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_or_too_many(count: int) -> None:
    with pytest.raises(PactError, match="from 1 to 4 curves"):
        draw(*[Curve("c", ((1, 1),))] * count)
