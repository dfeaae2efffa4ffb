"""docs/papers/li.md, docs/papers/guha.md: every correction names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("paper", "least"), [("li", 10), ("guha", 20)])
def test_every_test_that_the_page_names_exists(paper: str, least: int) -> None:
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    text = (ROOT / "docs" / "papers" / f"{paper}.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > least
    assert named <= known
    corrections = text.split("## Corrections")[1].split("Misprints")[0]
    rows = [line for line in corrections.splitlines() if line.startswith("|")][2:]
    assert all("`test_" in row for row in rows), "each correction has its test"
