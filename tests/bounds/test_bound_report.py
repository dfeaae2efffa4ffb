"""Estimates and certificates side by side: the terminal table, the bars, the page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from reports.report_examples import HOSTILE
from rich.console import Console

from netpact import PactError
from netpact.bounds import Estimate, Premise
from netpact.reports.bound_page import render_bounds
from netpact.reports.bound_rows import BoundRow, Row, bound_table, error_text, sort_bounds
from netpact.reports.charts.bars import draw_bars

CERTIFICATE = BoundRow(
    name="mlp",
    kind="certificate",
    value=0.41231,
    log10=2.5,
    theorem="Langford 2005",
    samples=1000,
    assumptions=("fixed before the data",),
    ignored=(),
)


def estimate(name: str, log10: float, *, fails: bool = False) -> Estimate:
    premises = (Premise("rho >= 3d", False, "rho = 2.1"),) if fails else ()
    return Estimate(
        name=name,
        log_capacity=log10 * math.log(10),
        margin_loss=0.1,
        samples=1000,
        theorem="a paper, Theorem 1",
        ignored=("constants",),
        premises=premises,
    )


ROWS: list[Row] = [
    estimate("frobenius", 40.0),
    estimate("theorem-5.1", 6.0, fails=True),
    CERTIFICATE,
    estimate("dead", math.inf),
    estimate("zero", -math.inf),
]


def shown(rows: Sequence[Row]) -> list[str]:
    stream = StringIO()
    Console(file=stream, width=80).print(bound_table(rows, title="mlp on digits"))
    return stream.getvalue().splitlines()


def test_table_fits_eighty_columns_and_tells_the_kinds_apart() -> None:
    lines = shown(ROWS)
    assert max(map(len, lines)) <= 80
    found = {line.split()[0]: line for line in lines if " estimate " in line or " certificate " in line}
    assert list(found) == ["zero", "mlp", "theorem-5.1*", "frobenius", "dead"], "sorted by capacity; * for premises"
    assert "certificate" in found["mlp"]
    assert "0.4124" in found["mlp"], "a proven number is rounded up"
    assert "estimate" in found["frobenius"]
    assert "1e18.5" in found["frobenius"]
    assert "infinite" in found["dead"]


def test_errors_in_words() -> None:
    assert error_text(estimate("a", 3.0)) == "1.1"
    assert error_text(estimate("a", math.inf)) == "infinite"
    assert error_text(estimate("a", -math.inf)) == "0.1"
    assert error_text(estimate("a", 2000.0)) == "1e998.5"


def bars(root: ElementTree.Element, kind: str) -> list[float]:
    return [float(part.attrib["width"]) for part in root.iter() if part.attrib.get("class") == kind]


@pytest.mark.parametrize("width", [380, 900])
def test_bars_grow_with_the_capacity_and_a_certificate_looks_different(width: int) -> None:
    root = ElementTree.fromstring(draw_bars(ROWS, samples=1000, width=width).to_svg())
    assert len(bars(root, "bound")) == 1
    outlined = bars(root, "estimate")
    assert outlined == sorted(outlined)
    assert outlined[0] == 0
    small, large = outlined[1], outlined[2]
    assert large / small == pytest.approx(40 / 6, rel=0.01)
    assert large <= outlined[3], "infinite: to the edge"
    rects = [part.attrib for part in root.iter() if part.tag.endswith("rect") and part.attrib["class"] != "ground"]
    inside = [float(rect["x"]) + float(rect["width"]) for rect in rects]
    assert max(inside) < width
    said = next(part.text for part in root.iter() if part.tag.endswith("desc"))
    assert said is not None
    assert "mlp, certificate" in said
    assert "frobenius, estimate" in said


@pytest.mark.parametrize("width", [380, 900])
def test_ticks_of_bars_stand_apart(width: int) -> None:
    root = ElementTree.fromstring(draw_bars(ROWS, samples=1000, width=width).to_svg())
    ticks = [part for part in root.iter() if (part.text or "").startswith("1e")]
    middles = [float(tick.attrib["x"]) for tick in ticks if tick.attrib["text-anchor"] == "middle"]
    assert len(middles) >= 3
    assert all(b - a >= 40 for a, b in pairwise(middles))


def test_page_holds_every_bound_with_its_kind_and_nothing_to_load() -> None:
    page = render_bounds(ROWS, title="Bounds", samples=1000, facts=[("data", "digits")], version="1")
    for row in ROWS:
        assert re.search(rf">{re.escape(row.name)}(</a>)?<small>", page)
    assert page.count("◆ certificate</span></td>") == 1
    assert page.count("≈ estimate</span></td>") == 4
    assert "premise rho &gt;= 3d: fails, rho = 2.1" in page
    assert page.count("<script") == 1, "the page's own"
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_here_too(name: str) -> None:
    row = estimate(name, 3.0)
    ElementTree.fromstring(draw_bars([row], samples=10).to_svg())
    page = render_bounds([row], title=name, samples=10, facts=[(name, name)], version=name)
    assert page.count("<script") == 1, "the page's own"
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\x1b[31m" not in "".join(shown([row]))


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(PactError, match="no bound"):
        sort_bounds([])
