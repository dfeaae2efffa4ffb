"""docs/papers/li.md: every correction names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "li.md"


def test_every_test_that_the_page_names_exists() -> None:
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    text = PAGE.read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 10
    assert named <= known
    corrections = text.split("## Corrections")[1].split("Misprints")[0]
    rows = [line for line in corrections.splitlines() if line.startswith("|")][2:]
    assert all("`test_" in row for row in rows), "each correction has its test"
