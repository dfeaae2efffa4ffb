"""A figure: what is drawn and the numbers behind it, to be written as SVG, PDF or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from netpact.core.display import Displayed, Row
from netpact.core.errors import one_of
from netpact.core.files import write_atomically
from netpact.reports.charts.pdf import write_pdf
from netpact.reports.charts.shapes import Rect, Shape
from netpact.reports.charts.svg import write_svg
from netpact.reports.text import clean

_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet would compute


@dataclass(frozen=True, kw_only=True, repr=False)
class Figure(Displayed):
    """name: of its files, and of its title within a page. numbers: what is drawn, as rows of named numbers."""

    name: str
    title: str
    description: str
    width: int
    height: float
    shapes: tuple[Shape, ...]
    numbers: tuple[Row, ...]

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

    def to_csv(self) -> str:
        """One line a row under the names of the columns; nothing is rounded."""
        columns = list(dict.fromkeys(column for row in self.numbers for column in row))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(row.get(column)) for column in columns] for row in self.numbers)
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the file that its ending asks for: .svg, .pdf or .csv."""
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
    }
)


def save_figures(figures: Iterable[Figure], folder: str | Path) -> list[Path]:
    """Each figure in every format, under its name."""
    return [figure.save(Path(folder) / f"{figure.name}{ending}") for figure in figures for ending in FORMATS]


def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
