"""Tables that grow by one file a row."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from netpact import PactError
from netpact.core.table import Table

ROW = """
from dataclasses import dataclass
from {package} import TABLE

@dataclass(frozen=True)
class Row:
    name: str

TABLE.add(Row("{name}"))
"""


@dataclass(frozen=True)
class Row:
    name: str
    value: int = 0


def test_files_of_every_place_add_their_rows_when_the_table_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "grown"
    first = room / "papers" / "first"
    for folder in (room / "rows", room / "papers", first, first / "rows", room / "papers" / "second"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text("")
    (room / "__init__.py").write_text(
        "from netpact.core.table import Table\nTABLE = Table('row', 'grown.rows', 'grown.papers.*.rows')\n"
    )
    (room / "rows" / "b.py").write_text(ROW.format(package="grown", name="beta"))
    (room / "rows" / "a.py").write_text(ROW.format(package="grown", name="alpha"))
    (room / "papers" / "first" / "rows" / "c.py").write_text(ROW.format(package="grown", name="gamma"))
    monkeypatch.syspath_prepend(tmp_path)
    from grown import TABLE  # type: ignore[import-not-found]

    assert "grown.rows.a" not in sys.modules
    assert list(TABLE) == ["alpha", "beta", "gamma"]
    assert TABLE["gamma"].name == "gamma"
    for name in [name for name in sys.modules if name.split(".")[0] == "grown"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_missing_import_inside_a_row_is_not_taken_for_a_missing_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_rows.py").write_text("import nothing_of_this_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    table = Table[Row]("row", "broken_rows")
    for _ in range(2):  # half a table does not pass for a whole one the next time
        with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
            list(table)
    assert list(Table[Row]("row", "no_such_package.rows")) == []


def test_rows_from_outside_and_names_that_are_taken() -> None:
    table = Table[Row]("quantity")
    assert table.add(Row("cushion")) == table["cushion"] == table.look_up("cushion")
    table.add(Row("cushion"))
    with pytest.raises(PactError, match="cushion: there is a quantity of this name already"):
        table.add(Row("cushion", 1))
    with pytest.raises(PactError, match=r"quantity: 'cushon' is not known; allowed: cushion.*did you mean"):
        table.look_up("cushon")
    with pytest.raises(KeyError):
        table["cushon"]
