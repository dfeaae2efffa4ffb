"""--figures replaces figures and nothing else, and says so before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpact.cli.figures import figures_place, write_figures
from netpact.core.errors import PactError
from netpact.reports import Row, draw_scatter

ROW = Row(name="x", method="m", classes=10, parameters=5, message_bytes=7, train_error=0.1)


def test_figures_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "drawn"
    for width in (400, 900):
        figures_place(folder)
        write_figures([draw_scatter([ROW], width=width)], folder)
    assert 'width="900"' in (folder / "error-against-size.svg").read_text()
    (folder / "notes.txt").write_text("not in the way")
    figures_place(folder)
    figures_place(None)


@pytest.mark.parametrize("name", ["error-against-size.csv", "own.svg", "other.pdf"])
def test_files_of_others_are_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(PactError, match=f"this folder contains {name}"):
        figures_place(tmp_path)


def test_a_place_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PactError, match="cannot write"):
        figures_place(tmp_path / "file" / "drawn")
