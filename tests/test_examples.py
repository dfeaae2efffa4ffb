"""The scripts in examples/ run cell by cell, show their results, and become pages and notebooks."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_cells", ROOT / "tools" / "site" / "cells.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["site_cells"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_there_are_examples() -> None:
    assert {"a_certificate_for_my_own_data", "why_does_my_network_generalize"} <= {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_examples_run_and_show_their_results(tool: ModuleType, script: Path) -> None:
    cells = tool.run_cells(tool.read_cells(script.read_text()), name=script.name)
    assert any(cell.html.startswith("<table") for cell in cells), "results are displayed"
    page, notebook = tool.as_markdown(cells), json.loads(tool.as_notebook(cells))
    assert page.startswith("# ")
    assert "With probability at least 95 %" in page or "with probability at least 95 %" in page
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds[0] == "markdown"
    assert len(kinds) == len(cells)
    # Whatever stands between the cells of a script is in the notebook: nothing is lost.
    written = "".join("".join(cell["source"]) for cell in notebook["cells"])
    assert len(re.sub(r"\W", "", written)) == len(
        re.sub(r"\W|markdown\b", "", script.read_text().replace("[markdown]", ""))
    )


def test_a_cell_shows_its_last_expression_and_what_it_printed(tool: ModuleType) -> None:
    cells = tool.read_cells("# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 1\nprint('said')\n\n# %%\nx + 1\n")
    title, first, second = tool.run_cells(cells, name="made up")
    assert title.text == "# Title\n\ntext"
    assert (first.printed, first.shown) == ("said\n", "")
    assert (second.printed, second.shown) == ("", "2")
    assert tool.as_markdown([second]) == "```python\nx + 1\n```\n\n```text\n2\n```\n"
    with pytest.raises(ZeroDivisionError):
        tool.run_cells(tool.read_cells("# %%\n1 / 0\n"), name="made up")
