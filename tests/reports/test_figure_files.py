"""A figure as a file: SVG that needs nothing around it, a PDF that can be read back, the numbers behind it as CSV."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from reports.report_examples import HOSTILE, ORIGINAL, ROWS, compressed

from netpact.core.errors import PactError
from netpact.reports import Figure, draw_scatter, save_figures
from netpact.reports.bound_rows import BoundRow
from netpact.reports.charts import figure as figure_module
from netpact.reports.charts import png
from netpact.reports.charts.bars import draw_bars
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.distributions import Spread, draw_distributions
from netpact.reports.charts.looks import LOOKS, page_rules
from netpact.reports.charts.pdf import text_width, write_pdf
from netpact.reports.charts.shapes import Circle, Group, Line, Path, Rect, Shape, Words, flatten
from netpact.reports.style import PAGE_STYLE

_ALL_WIDTHS = 50_058
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
    assert ground.get("fill") == "#ffffff", "the light colours: a viewer without a page shows no others"
    assert (ground.get("width"), ground.get("height")) == (f"{figure.width:.1f}", f"{figure.height:.1f}")
    assert figure._repr_html_() == text
    assert len(repr(figure)) <= 100


def _stream(content: bytes) -> bytes:
    return content.partition(b"stream\n")[2].partition(b"\nendstream")[0]


def test_a_page_on_a_dark_screen_colours_every_kind() -> None:
    for kind in LOOKS:
        assert f".pact-figure .{kind.replace(' ', '.')} {{ fill: " in PAGE_STYLE
    assert page_rules() in PAGE_STYLE


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
    # All letters from space to tilde, as the font's own metrics add up.
    assert text_width("".join(map(chr, range(32, 127))), bold=False) == pytest.approx(_ALL_WIDTHS / 1000 * 12)


def test_each_shape_as_pdf_draws_it() -> None:
    """In pixels with y downwards, under one matrix that turns the page over; letters are turned back."""
    shapes: list[Shape] = [
        Line(kind="worst other", x1=1, y1=2, x2=3, y2=4),
        Rect(kind="band", x=1, y=2, width=3, height=4),
        Rect(kind="test", x=1, y=2, width=3, height=4),
        Path(kind="spread other", points=((1, 2), (3, 4), (5, 6))),
        Path(kind="bound", points=((1, 2), (3, 4), (5, 6)), closed=True),
        Words(kind="tick", text="00", x=100, y=50),
        Words(kind="tick", text="00", x=100, y=50, anchor="middle"),
        Words(kind="name best", text="00", x=100, y=50, anchor="end"),
        Words(kind="axis", text="00", x=100, y=50, anchor="middle", turned=True),
    ]
    content = write_pdf(shapes, title="T", width=200, height=100)
    assert b"/MediaBox [0 0 150.00 75.00]" in content
    blue, orange, white, muted = b"0.000 0.447 0.698", b"0.722 0.310 0.000", b"1.000 1.000 1.000", b"0.341 0.376 0.416"
    assert _stream(content).split(b"\n") == [
        b"0.75 0 0 -0.75 0 75.00 cm",
        orange + b" RG 2 w [3 2] 0 d 1.00 2.00 m 3.00 4.00 l S",
        b"0.933 0.945 0.957 rg 1.00 2.00 3.00 4.00 re f",
        white + b" rg " + orange + b" RG 2 w [] 0 d 1.00 2.00 3.00 4.00 re B",
        orange + b" RG 1.5 w [] 0 d 1.00 2.00 m 3.00 4.00 l 5.00 6.00 l S",
        blue + b" rg 1.00 2.00 m 3.00 4.00 l 5.00 6.00 l h f",
        muted + b" rg BT /F1 12 Tf 1 0 0 -1 100.00 50.00 Tm (00) Tj ET",
        muted + b" rg BT /F1 12 Tf 1 0 0 -1 93.33 50.00 Tm (00) Tj ET",
        b"0.106 0.122 0.141 rg BT /F2 12 Tf 1 0 0 -1 85.86 50.00 Tm (00) Tj ET",
        muted + b" rg BT /F1 12 Tf 0 -1 -1 0 100.00 56.67 Tm (00) Tj ET",
    ]


def test_a_circle_in_the_pdf_is_round() -> None:
    figure = FIGURES["scatter"]
    circle = next(shape for shape in flatten(figure.shapes) if isinstance(shape, Circle))
    track = next(line for line in figure.to_pdf().split(b"\n") if b" c " in line)
    numbers = [float(number) for number in re.findall(rb"-?[0-9.]+(?= )", track.split(b" d ")[1])]
    points = np.array(numbers).reshape(-1, 2) - (circle.x, circle.y)
    # A cubic curve's middle is (start + 3 first handle + 3 second handle + end) / 8.
    middles = [np.array([1, 3, 3, 1]) @ points[start : start + 4] / 8 for start in range(0, 12, 3)]
    assert np.allclose(np.hypot(*np.vstack([points[::3], middles]).T), circle.radius, atol=0.02)


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


def test_save_takes_the_format_from_the_ending(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = FIGURES["scatter"]
    assert figure.save(tmp_path / "a.svg").read_bytes() == figure.to_svg().encode()
    assert figure.save(tmp_path / "a.pdf").read_bytes() == figure.to_pdf()
    assert figure.save(tmp_path / "a.csv").read_bytes() == figure.to_csv().encode()
    with pytest.raises(PactError, match=r"'\.gif' is not known; allowed: \.svg, \.pdf, \.csv, \.json, \.png"):
        figure.save(tmp_path / "a.gif")
    monkeypatch.setattr(figure_module, "can_write_png", lambda: False)
    written = save_figures([figure], tmp_path / "all")
    assert [path.name for path in written] == [
        f"error-against-size{ending}" for ending in (".svg", ".pdf", ".csv", ".json")
    ]
    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=lambda **given: [137, 80, given["zoom"]]))
    monkeypatch.setattr(png, "can_write_png", lambda: True)
    assert figure.save(tmp_path / "a.png").read_bytes() == b"\x89P\x02"


def test_every_shape_can_be_written() -> None:
    drawn = {type(shape) for figure in FIGURES.values() for shape in flatten(figure.shapes)}
    assert drawn == set(get_args(Shape)) - {Group}
