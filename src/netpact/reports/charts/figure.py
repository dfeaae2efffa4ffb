"""A figure: what is drawn and the numbers behind it, to be written as SVG, PDF, PNG, CSV or JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from netpact.core.display import Displayed, Row
from netpact.core.errors import one_of
from netpact.core.files import write_atomically
from netpact.core.json import encode_json
from netpact.reports.charts.pdf import write_pdf
from netpact.reports.charts.png import can_write_png, write_png
from netpact.reports.charts.shapes import Rect, Shape
from netpact.reports.charts.svg import write_svg
from netpact.reports.text import clean

_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet would compute


@dataclass(frozen=True, kw_only=True, repr=False)
class Figure(Displayed):
    """A drawing.

    name     of its files, and of its title within a page
    numbers  what is drawn, as rows of named numbers
    summary  what a page shows of them, where they are too many; none: all of them
    """

    name: str
    title: str
    description: str
    width: int
    height: float
    shapes: tuple[Shape, ...]
    numbers: tuple[Row, ...]
    summary: tuple[Row, ...] = ()

    def to_svg(self) -> str:
        """As text, with literal colours and a ground of its own: the same on a page, in a viewer and in a document."""
        return write_svg(
            self._on_ground(),
            id_=f"{self.name}-{self.width}",
            title=self.title,
            description=self.description,
            width=self.width,
            height=self.height,
        )

    def to_pdf(self) -> bytes:
        return write_pdf(self._on_ground(), title=self.title, width=self.width, height=self.height)

    def to_png(self) -> bytes:
        """Twice as large as drawn, for sharp screens; needs the package resvg-py."""
        return write_png(self.to_svg())

    def to_json(self) -> dict[str, object]:
        """Nothing is rounded; what no JSON number can be (infinity) is null."""
        rows = [{column: _json(value) for column, value in row.items()} for row in self.numbers]
        return {"name": self.name, "title": self.title, "description": self.description, "numbers": rows}

    def to_csv(self) -> str:
        """One line a row under the names of the columns; nothing is rounded."""
        columns = list(dict.fromkeys(column for row in self.numbers for column in row))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(row.get(column)) for column in columns] for row in self.numbers)
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the file that its ending asks for: .svg, .pdf, .png, .csv or .json."""
        ending = Path(path).suffix
        if ending not in FORMATS:
            raise one_of(ending, FORMATS, option=f"figure {path}")
        return write_atomically(path, FORMATS[ending](self))

    def display_facts(self) -> Row:
        return {"title": self.title, "width": self.width, "height": self.height, "rows": len(self.numbers)}

    def display_rows(self) -> list[Row]:
        return list(self.numbers)

    def _repr_html_(self) -> str:
        """A notebook shows the drawing itself."""
        return self.to_svg()

    def _on_ground(self) -> tuple[Shape, ...]:
        return (Rect(kind="ground", x=0, y=0, width=self.width, height=self.height), *self.shapes)


FORMATS: Mapping[str, Callable[[Figure], bytes]] = MappingProxyType(
    {
        ".svg": lambda figure: figure.to_svg().encode(),
        ".pdf": Figure.to_pdf,
        ".csv": lambda figure: figure.to_csv().encode(),
        ".json": lambda figure: encode_json(figure.to_json(), where=f"figure {figure.name}").encode(),
        ".png": Figure.to_png,
    }
)


def save_figures(figures: Iterable[Figure], folder: str | Path) -> list[Path]:
    """Each figure in every format, under its name; as PNG where the package for it is installed."""
    endings = [ending for ending in FORMATS if ending != ".png" or can_write_png()]
    return [figure.save(Path(folder) / f"{figure.name}{ending}") for figure in figures for ending in endings]


def _json(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
