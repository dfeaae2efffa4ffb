"""A figure as a file: SVG that needs nothing around it, a PDF that can be read back, the numbers behind it as CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from reports.report_examples import HOSTILE, ORIGINAL, ROWS, compressed

from netpact.errors import PactError
from netpact.reports import Figure, draw_scatter, save_figures
from netpact.reports.bound_page import draw_bars
from netpact.reports.bound_rows import BoundRow
from netpact.reports.curves import Curve, draw_curves
from netpact.reports.distributions import Spread, draw_distributions
from netpact.reports.looks import LOOKS, dark_rules
from netpact.reports.pdf import text_width
from netpact.reports.shapes import Circle, Group, Shape, flatten
from netpact.reports.style import PAGE_STYLE

SVG = "{http://www.w3.org/2000/svg}"


def _bars() -> Figure:
    words = {"theorem": "Theorem 1", "samples": 10, "assumptions": (), "ignored": ()}
    rows = [BoundRow(name=kind, kind=kind, value=0.5, log10=2.0, **words) for kind in ("certificate", "estimate")]  # type: ignore[arg-type]
    return draw_bars(rows, samples=1000)


FIGURES = {
    "scatter": draw_scatter(ROWS),
    "bars": _bars(),
    "curves": draw_curves(
        [Curve("up", ((1, 0.1), (2, 0.2))), Curve("down", ((1, 0.3), (2, 0.1)))],
        name="curves",
        title="Curves",
        x_title="epoch",
        y_title="error",
    ),
    "distributions": draw_distributions(
        [Spread("first", np.array([1.0, 2.0, 3.0]), 1.0, np.array([2.0, 5.0]), 2.0)],
        name="cushion",
        title="Cushion",
        axis_title="mu",
        width=600,
    ),
}
each = pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)


@each
def test_svg_has_literal_colours_and_a_ground_of_its_own(figure: Figure) -> None:
    text = figure.to_svg()
    assert "<style" not in text
    assert "var(" not in text
    assert "currentColor" not in text
    root = ElementTree.fromstring(text)
    drawn = [item for item in root.iter() if item.tag.removeprefix(SVG) in ("line", "rect", "circle", "path", "text")]
    for item in drawn:
        literal = [item.get(name, "none") for name in ("fill", "stroke")]
        assert all(re.fullmatch("none|#[0-9a-f]{6}", colour) for colour in literal)
        assert literal != ["none", "none"]
    ground = drawn[0]
    assert (ground.get("width"), ground.get("height")) == (f"{figure.width:.1f}", f"{figure.height:.1f}")
    assert figure._repr_html_() == text
    assert len(repr(figure)) <= 100


def _stream(content: bytes) -> bytes:
    return content.partition(b"stream\n")[2].partition(b"\nendstream")[0]


def test_a_page_on_a_dark_screen_colours_every_kind() -> None:
    for kind in LOOKS:
        assert f".pact-figure .{kind.replace(' ', '.')} {{ fill: " in PAGE_STYLE
    assert dark_rules() in PAGE_STYLE


@each
def test_pdf_is_well_formed_and_holds_every_text(figure: Figure) -> None:
    content = figure.to_pdf()
    assert content.startswith(b"%PDF-1.")
    assert content.endswith(b"%%EOF\n")
    # The table at the end names the byte at which each object begins.
    start = int(content.split(b"startxref\n")[1].split()[0])
    assert content[start:].startswith(b"xref\n")
    places = [int(line[:10]) for line in content[start:].split(b"\n")[2:] if line.endswith(b" n ")]
    assert places
    for number, place in enumerate(places, 1):
        assert content[place:].startswith(b"%d 0 obj\n" % number)
    stream = _stream(content)
    assert b"/Length %d " % len(stream) in content
    words = [shape.text for shape in flatten(figure.shapes) if hasattr(shape, "text")]
    shown = [re.sub(rb"\\(.)", rb"\1", text) for text in re.findall(rb"\((.*)\) Tj", stream)]
    assert shown == [word.encode("cp1252") for word in words]
    assert stream.count(b" BT ") == len(words)


def test_pdf_text_is_escaped_and_what_the_font_lacks_is_replaced() -> None:
    assert b"(a \\(b\\) \\\\ \xfc ??: 41" in draw_scatter([compressed("a (b) \\ ü 中\x1b", bound=0.41)]).to_pdf()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inside_their_string(name: str) -> None:
    for line in _stream(draw_scatter([compressed(name)]).to_pdf()).split(b"\n"):
        bare = re.sub(rb"\\.", b"", line)
        assert bare.count(b"(") == bare.count(b")") <= 1


def test_a_centred_text_is_as_wide_as_helvetica_sets_it() -> None:
    # Adobe's own sums: "Hello" is 722 + 556 + 222 + 222 + 556 thousandths.
    assert text_width("Hello", bold=False) == pytest.approx(2.278 * 12)
    assert text_width("Hello", bold=True) > text_width("Hello", bold=False)
    assert text_width("0123456789", bold=False) == pytest.approx(5.56 * 12)


def test_a_circle_in_the_pdf_is_round() -> None:
    figure = FIGURES["scatter"]
    circle = next(shape for shape in flatten(figure.shapes) if isinstance(shape, Circle))
    track = next(line for line in figure.to_pdf().split(b"\n") if b" c " in line)
    numbers = [float(number) for number in re.findall(rb"-?[0-9.]+(?= )", track.split(b" d ")[1])]
    points = np.array(numbers).reshape(-1, 2) - (circle.x, circle.y)
    ends = np.vstack([points[0], points[3::3]])
    assert np.allclose(np.hypot(*ends.T), circle.radius, atol=0.02)


@each
def test_csv_has_the_numbers_unrounded(figure: Figure) -> None:
    lines = list(csv.DictReader(io.StringIO(figure.to_csv())))
    assert len(lines) == len(figure.numbers)
    for line, row in zip(lines, figure.numbers, strict=True):
        for column, value in row.items():
            assert line[column] == ("" if value is None else str(value))


def test_csv_of_the_scatter_tells_no_refused_bound() -> None:
    figure = draw_scatter([ORIGINAL, compressed("x", agreed=False), compressed("y", bound=0.41201)])
    lines = list(csv.DictReader(io.StringIO(figure.to_csv())))
    assert [line["certified_bound"] for line in lines] == ["", "", "0.41201"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x"])
def test_a_name_is_no_formula(name: str) -> None:
    (line,) = csv.DictReader(io.StringIO(draw_scatter([compressed(name)]).to_csv()))
    assert line["network"] == f"'{name}"


def test_save_takes_the_format_from_the_ending(tmp_path: Path) -> None:
    figure = FIGURES["scatter"]
    assert figure.save(tmp_path / "a.svg").read_bytes() == figure.to_svg().encode()
    assert figure.save(tmp_path / "a.pdf").read_bytes() == figure.to_pdf()
    assert figure.save(tmp_path / "a.csv").read_bytes() == figure.to_csv().encode()
    with pytest.raises(PactError, match=r"'\.png' is not known; allowed: \.svg, \.pdf, \.csv"):
        figure.save(tmp_path / "a.png")
    written = save_figures([figure], tmp_path / "all")
    assert [path.name for path in written] == [f"error-against-size{ending}" for ending in (".svg", ".pdf", ".csv")]


def test_every_shape_can_be_written() -> None:
    drawn = {type(shape) for figure in FIGURES.values() for shape in flatten(figure.shapes)}
    assert drawn == set(get_args(Shape)) - {Group}
