"""Every Python block in README and docs is run, page by page, in a folder of its own."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from netpact.cli.dispatch import app
from netpact.core.table import Named, Table

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in ROOT_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITHOUT_EXAMPLES = {*ROOT_PAGES[1:], "peers.md", "records.md"}  # pages of tables and rules
PLACE = re.compile(r"`((?:[\w.]+/)+[\w.]*|\w+\.(?:md|txt|toml))`")
TABLE = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
NAME = re.compile(r"`(netpact(?:\.\w+)+)")
CODE = re.compile(r"^```.*?^```|`[^`]*`", re.MULTILINE | re.DOTALL)
UNUSUAL = re.compile(r"\b(whole numbers?|told|in the way|is let|not said|for ever|promises?)\b")
TEST_FILE = re.compile(r"`(tests/[\w/.]+)`")
COMMAND = re.compile(r"^netpact (.*?)(?:\s+#.*)?$", re.MULTILINE)
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    add = Table.add

    def add_for_this_page(table: Table[Named], row: Named) -> Named:
        """Rows that a page adds are gone behind it: other tests count what is in a table."""
        if sys._getframe(1).f_globals is scope and row.name not in table:
            monkeypatch.setitem(table._rows, row.name, row)
        return add(table, row)

    monkeypatch.setattr(Table, "add", add_for_this_page)
    for number, block in enumerate(PYTHON_BLOCK.findall(page.read_text()), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), scope)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    for name in TEST_FILE.findall(page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_shell_blocks_parse(page: Path) -> None:
    """Names of commands and options, and what each needs; nothing is run."""
    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for block in SHELL_BLOCK.findall(page.read_text()):
        for line in COMMAND.findall(block.replace("\\\n", " ")):
            name, *arguments = shlex.split(line)
            if name.startswith("--"):
                continue
            assert name in commands, f"{page.name}: netpact {line}"
            commands[name].make_context(name, [one for one in arguments if one != "--help"], resilient_parsing=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_are_those_of_the_field(page: Path) -> None:
    """Say integer, encoded, not supported, default, deviation bound: docs/glossary.md."""
    assert not UNUSUAL.findall(CODE.sub("", page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_exist(page: Path) -> None:
    for name in NAME.findall(page.read_text()):
        found, *rest = name.split(".")
        thing = importlib.import_module(found)
        for part in rest:
            found = f"{found}.{part}"
            if not hasattr(thing, part):
                importlib.import_module(found)  # not imported yet; or an error that names it
            thing = getattr(thing, part)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in WITHOUT_EXAMPLES], ids=lambda p: p.name)
def test_pages_keep_their_examples(page: Path) -> None:
    """A page without blocks would pass the test above unseen."""
    assert PYTHON_BLOCK.findall(page.read_text()), f"{page.name} has lost its example"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_contributors_are_sent_to_exist(name: str) -> None:
    places = PLACE.findall((ROOT / name).read_text())
    assert places
    for place in places:
        assert (ROOT / place).exists() or (ROOT / "src" / "netpact" / place).exists(), f"{name} names {place}"


def test_tables_that_contributors_are_sent_to_stand_there() -> None:
    found = TABLE.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(found) > 10
    for table, place in found:
        path = ROOT / "src" / "netpact" / place
        text = (path if path.exists() else ROOT / place).read_text()
        assert re.search(rf"^(?:def |class )?{table}\b", text, re.MULTILINE), f"{place} has no {table}"
