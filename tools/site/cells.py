"""Examples as scripts of cells ("# %%", text in "# %% [markdown]"): run like a notebook, and shown with their results.

python tools/site/cells.py examples/NAME.py NAME.ipynb    # a notebook with outputs, for Jupyter
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """Markdown, or code with what it printed and how its last expression shows itself."""

    text: str
    code: bool
    printed: str = ""
    shown: str = ""
    html: str = ""


def read_cells(source: str) -> list[Cell]:
    parts = _MARK.split(source)
    cells = []
    for mark, body in zip(parts[1::2], parts[2::2], strict=True):
        if mark.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
            cells.append(Cell("\n".join(lines), code=False))
        else:
            cells.append(Cell(body.strip("\n"), code=True))
    return cells


def run_cells(cells: Sequence[Cell], *, name: str) -> list[Cell]:
    """Each cell's results, in a folder of its own; an error ends the run, as it ends a script."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [_run(cell, scope, f"{name}, cell {number}") for number, cell in enumerate(cells)]
        finally:
            os.chdir(before)


def _run(cell: Cell, scope: dict[str, Any], place: str) -> Cell:
    if not cell.code:
        return cell
    tree = ast.parse(cell.text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), scope)
    shown = "" if value is None else str(value)
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    return Cell(cell.text, code=True, printed=printed.getvalue(), shown=shown, html=html)


def as_markdown(cells: Sequence[Cell]) -> str:
    parts = []
    for cell in cells:
        parts.append(f"```python\n{cell.text}\n```" if cell.code else cell.text)
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if cell.html:
            parts.append(f'<div class="result">{cell.html}</div>')
        elif cell.shown:
            parts.append(f"```text\n{cell.shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def as_notebook(cells: Sequence[Cell]) -> str:
    """Version 4.5 of the notebook format."""
    listed: list[dict[str, object]] = []
    for number, cell in enumerate(cells):
        common = {"id": f"cell-{number}", "metadata": {}, "source": cell.text.splitlines(keepends=True)}
        if not cell.code:
            listed.append({"cell_type": "markdown", **common})
            continue
        outputs: list[dict[str, object]] = []
        if cell.printed:
            outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed.splitlines(keepends=True)})
        if cell.shown:
            data = {"text/plain": cell.shown, **({"text/html": cell.html} if cell.html else {})}
            outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
        listed.append({"cell_type": "code", "execution_count": number, "outputs": outputs, **common})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": listed, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def main(script: str, notebook: str) -> None:
    file = Path(script)
    cells = run_cells(read_cells(file.read_text("utf-8")), name=file.name)
    Path(notebook).write_text(as_notebook(cells), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
