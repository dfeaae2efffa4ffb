"""The page of figures: well-formed, complete, about both networks, safe against names."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from measurements.measured_nets import image_samples, make

from netpact.core.errors import PactError
from netpact.measurements import MeasureOptions, Measures, measure
from netpact.reports.charts.axes import Axis
from netpact.reports.charts.distributions import Spread, draw_distributions
from netpact.reports.measure_page import render_measures

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def found() -> Measures:
    return measure(make("pooling"), image_samples(8), MeasureOptions(samples=5, draws=1))


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def classes(drawing: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in drawing.iter() if element.get("class") == name]


def test_nine_figures_in_two_widths_and_a_table(found: Measures) -> None:
    """Distributions of five quantities and of the margins; effective parameters, norms and ranks by layer."""
    page = render_measures(found, title="T")
    assert len(drawings(page)) == 18
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert page.split("All layers</h2>")[1].split("</table>")[0].count("<tr>") == 1 + found.depth
    rows = [len(classes(drawing, "layer")) for drawing in drawings(page)]
    assert rows[:10] == [count for count in rows[:10] if count in (2, 3)], "a row for every layer that has the quantity"
    assert rows[10:] == [1, 1, 0, 0, 0, 0, 0, 0], "the margins are the network's"
    for drawing in drawings(page):
        assert not classes(drawing, "spread other")
    assert found.provenance.data_fingerprint in page
    assert "certificate" in page


def test_the_second_network_is_an_outline(found: Measures) -> None:
    page = render_measures(found, against=found, against_name="<the other>", title="T")
    assert "The outline is &lt;the other&gt;." in page
    for drawing in drawings(page):
        assert len(classes(drawing, "spread other")) == len(classes(drawing, "layer"))
        assert len(classes(drawing, "worst other")) == len(classes(drawing, "worst"))


def test_tags_are_balanced_and_nothing_is_loaded(found: Measures) -> None:
    page = render_measures(found, against=found, title="<script>", command="netpact measure '<x>'")
    open_tags: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("img", "link", "iframe")
            if tag not in ("meta", "br"):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    # Elements that close themselves are those of the drawings.
    Checker().feed(re.sub(r"<(rect|line|path|circle)([^>]*)/>", r"<\1\2></\1>", page))
    assert not open_tags


def test_other_layers_are_refused(found: Measures) -> None:
    other = measure(make("residual"), image_samples(4), MeasureOptions(only=("frobenius",)))
    with pytest.raises(PactError, match="same layers"):
        render_measures(found, against=other, title="T")


def test_only_what_was_measured_is_drawn() -> None:
    part = measure(make("pooling"), image_samples(4), MeasureOptions(only=("arora_layer_cushion",)))
    page = render_measures(part, title="T")
    assert len(drawings(page)) == 2
    assert "Layer cushion" in page
    assert "smoothness" not in page


def test_bars_hold_all_samples_and_the_worst_is_marked_in_its_place() -> None:
    numbers = np.array([1.0] * 30 + [10.0] * 10 + [0.0, np.inf])
    text = draw_distributions([Spread("a", numbers, 1.0)], name="x", title="t", axis_title="mu", width=400).to_svg()
    drawing = ET.fromstring(text)
    bars = sorted(classes(drawing, "spread"), key=lambda bar: float(bar.get("x", "")))
    assert len(bars) == 2
    assert float(bars[0].get("height", "")) == pytest.approx(3 * float(bars[1].get("height", "")), rel=0.02)
    (worst,) = classes(drawing, "worst")
    start, room = float(bars[0].get("x", "")), float(bars[0].get("width", ""))
    assert start - 0.2 <= float(worst.get("x1", "")) <= start + room + 0.2
    assert "2 not drawn" in text


def test_a_linear_axis_draws_numbers_of_either_sign() -> None:
    rows = [Spread("a", np.array([-3.0, 0.0, 1.0, np.inf]), -3.0)]
    figure = draw_distributions(rows, name="x", title="t", axis_title="margin", width=400, logarithmic=False)
    bars = sorted(float(bar.get("x", "")) for bar in classes(ET.fromstring(figure.to_svg()), "spread"))
    assert len(bars) == 3
    assert bars[1] - bars[0] == pytest.approx(3 * (bars[2] - bars[1]), rel=0.1)
    assert "1 not drawn" in figure.to_svg()
    assert len(classes(ET.fromstring(figure.to_svg()), "worst")) == 1
    assert "logarithmic" not in figure.to_svg()


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("numbers", [[0.0, 0.0], [np.inf], [1e-30, 1e30], [3.0]])
def test_odd_numbers_are_drawn_within_the_figure(numbers: list[float], logarithmic: bool) -> None:
    row = Spread("layer " * 40, np.array(numbers), numbers[0], np.array(numbers), numbers[0])
    figure = draw_distributions([row], name="x", title="t", axis_title="c", width=380, logarithmic=logarithmic)
    drawing = ET.fromstring(figure.to_svg())
    for element in drawing.iter(f"{SVG}rect"):
        assert 0 <= float(element.get("x", "")) <= 380


@pytest.mark.parametrize(("low", "high"), [(0.06, 1.2), (1.8, 2.3), (1e-12, 1e9), (0.3, 30.0)])
def test_ticks_are_readable(low: float, high: float) -> None:
    for right in (370.0, 890.0):
        ticks = Axis(low=low, high=high, left=60, right=right, logarithmic=True).ticks()
        assert 2 <= len(ticks) <= 10
        assert all(low <= tick <= high for tick in ticks)
