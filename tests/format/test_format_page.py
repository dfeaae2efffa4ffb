from __future__ import annotations

import re
from pathlib import Path

import pytest

from netpact.format.message import _COMMON_PROBLEMS
from netpact.forms import FORMS
from netpact.models import FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "format.md"


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_the_page_lists_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for tag, form in FORMS.items():
        assert f"| {tag} | {form.name} |" in page
    assert ", ".join(f"{family.id} {family.name}" for family in FAMILIES.values()) in page
    for number, (shape, classes) in enumerate(_COMMON_PROBLEMS, start=1):
        assert f"{number} = {'x'.join(map(str, shape))} with {classes}" in page
