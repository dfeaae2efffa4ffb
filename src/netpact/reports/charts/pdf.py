"""A figure as a PDF of one page: vectors and text in the Helvetica that every viewer has, nothing embedded."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.reports.charts.looks import FONT_SIZE, LOOKS, Look
from netpact.reports.charts.shapes import Circle, Line, Path, Point, Rect, Shape, Words, flatten
from netpact.reports.text import clean

_POINTS = 0.75  # of a pixel: 96 pixels and 72 points are an inch
_ROUND = 0.5523  # 4/3 (sqrt 2 - 1): where the handles of a quarter circle's cubic curve stand
_BOLD = 1.06  # how much wider Helvetica-Bold runs
# Adobe's widths of Helvetica in thousandths of the font size, needed to centre a text; other letters count as 556.
_LETTERS = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyz",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "…",
    1015: "@",
}
_WIDTHS = {letter: width for width, letters in _LETTERS.items() for letter in letters}
_USUAL = 556


def write_pdf(shapes: Sequence[Shape], *, title: str, width: float, height: float) -> bytes:
    """Letters that Windows-1252 does not have become question marks: the standard fonts have no others."""
    # One matrix turns pixels with y downwards into points with y upwards.
    drawing = [f"{_POINTS} 0 0 -{_POINTS} 0 {height * _POINTS:.2f} cm"]
    for shape in flatten(shapes):
        drawing.append(_words(shape) if isinstance(shape, Words) else _outlined(shape))
    content = "\n".join(drawing).encode("cp1252", "replace")
    fonts = " ".join(f"/{name} {number} 0 R" for name, number in (("F1", 5), ("F2", 6)))
    return _file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width * _POINTS:.2f} {height * _POINTS:.2f}] "
            f"/Contents 4 0 R /Resources << /Font << {fonts} >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            _font("Helvetica"),
            _font("Helvetica-Bold"),
            f"<< /Title <feff{clean(title).encode('utf-16-be').hex()}> /Producer (netpact) >>".encode(),
        ]
    )


def text_width(text: str, *, bold: bool) -> float:
    """In pixels, as Helvetica sets it."""
    thousandths = sum(_WIDTHS.get(letter, _USUAL) for letter in text)
    return thousandths / 1000 * FONT_SIZE * (_BOLD if bold else 1.0)


def _words(words: Words) -> str:
    look, text = LOOKS[words.kind], clean(words.text)
    back = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor] * text_width(text, bold=look.bold)
    # The second turn undoes the one of the whole page, so that letters stand upright.
    matrix = (
        f"0 -1 -1 0 {words.x:.2f} {words.y + back:.2f}"
        if words.turned
        else (f"1 0 0 -1 {words.x - back:.2f} {words.y:.2f}")
    )
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    font = "F2" if look.bold else "F1"
    return f"{_paint(look)} BT /{font} {FONT_SIZE} Tf {matrix} Tm ({escaped}) Tj ET"


def _outlined(shape: Line | Rect | Circle | Path) -> str:
    look = LOOKS[shape.kind]
    match shape:
        case Line():
            track = _track([(shape.x1, shape.y1), (shape.x2, shape.y2)])
        case Rect():
            track = f"{shape.x:.2f} {shape.y:.2f} {shape.width:.2f} {shape.height:.2f} re"
        case Circle():
            track = _circle(shape)
        case Path():
            track = _track(shape.points) + (" h" if shape.closed else "")
    finish = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}
    return f"{_paint(look)} {track} {finish[look.fill is not None, look.stroke is not None]}"


def _paint(look: Look) -> str:
    parts = [f"{_rgb(look.fill.light)} rg"] if look.fill is not None else []
    if look.stroke is not None:
        dash = " ".join(map(str, look.dash))
        parts.append(f"{_rgb(look.stroke.light)} RG {look.width:g} w [{dash}] 0 d")
    return " ".join(parts)


def _track(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.2f} {y:.2f} {'l' if place else 'm'}" for place, (x, y) in enumerate(points))


def _circle(circle: Circle) -> str:
    x, y, r = circle.x, circle.y, circle.radius
    k = r * _ROUND
    quarters = [
        ((x + r, y + k), (x + k, y + r), (x, y + r)),
        ((x - k, y + r), (x - r, y + k), (x - r, y)),
        ((x - r, y - k), (x - k, y - r), (x, y - r)),
        ((x + k, y - r), (x + r, y - k), (x + r, y)),
    ]
    curves = [" ".join(f"{a:.2f} {b:.2f}" for a, b in quarter) + " c" for quarter in quarters]
    return " ".join([f"{x + r:.2f} {y:.2f} m", *curves, "h"])


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[place : place + 2], 16) / 255:.3f}" for place in (1, 3, 5))


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _file(objects: Sequence[bytes]) -> bytes:
    """The objects, numbered from 1, and the table of where each begins; the last one is about the document."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        len(objects),
        start,
    )
    return bytes(out)
