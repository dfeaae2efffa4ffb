"""The option --figures of the commands that draw: each figure as SVG, PDF and CSV in one folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.console import people
from netpact.core.errors import PactError
from netpact.core.files import check_place, read_bytes

if TYPE_CHECKING:
    from netpact.reports import Figure


def figures_place(folder: Path | None) -> None:
    """Before the work: the folder can be written to, and a figure replaces nothing but a figure."""
    from netpact.reports.charts.figure import FORMATS

    if folder is None:
        return
    check_place(folder / "figure.svg")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        drawn = path.with_suffix(".svg")
        if path.suffix in FORMATS and not (drawn.is_file() and b'class="pact-figure"' in read_bytes(drawn)[:400]):
            raise PactError(f"this folder contains {path.name}, which netpact did not write", where=str(folder))


def write_figures(figures: Iterable[Figure], folder: Path | None) -> None:
    from netpact.reports import save_figures

    if folder is not None:
        written = save_figures(figures, folder)
        people.print(f"{len(written)} figure files in {folder}", soft_wrap=True, markup=False)
