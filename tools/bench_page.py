"""Fill the tables of the pages in docs/ with the numbers of the benchmarks: python tools/bench_page.py

A table stands between `<!-- NAME -->` and `<!-- end -->`; NAME is a file in benchmarks/results, or a data set of
benchmarks/peers/results and "files" or "bounds". The block of a benchmark that has not written its numbers yet stays.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "peers")]

from recording import cell  # noqa: E402 - not a package
from rows import BoundRow, FileRow, bound_table, file_table, fill_page, markdown  # noqa: E402

DOCS = ROOT / "docs"
BLOCK = re.compile(r"<!-- ([\w-]+(?: files| bounds)?) -->(?=\n)")
_LONG = 8  # a table of more columns is turned: one column for each row


def table(name: str) -> str:
    """The table of one block, as Markdown."""
    data, _, kind = name.partition(" ")
    if kind:
        told = json.loads((ROOT / "benchmarks" / "peers" / "results" / f"{data}.json").read_text())
        if kind == "files":
            return file_table([FileRow(**row) for row in told["files"]])
        return bound_table([BoundRow(**row) for row in told["bounds"]])
    rows = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["rows"]
    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    if len(lines[0]) > _LONG:
        lines = [list(column) for column in zip(*lines, strict=True)]
    return markdown(lines[0], lines[1:])


def render(page: str) -> str:
    return fill_page(
        page, {name: table(name) for name in BLOCK.findall(page) if name != "end" and not is_waiting(name)}
    )


def is_waiting(name: str) -> bool:
    """A benchmark that exists and was not run yet; a misspelt name is not."""
    folder = ROOT / "benchmarks"
    return (folder / f"{name}.py").is_file() and not (folder / "results" / f"{name}.json").exists()


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(render(path.read_text()))
