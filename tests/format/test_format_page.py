from __future__ import annotations

from pathlib import Path

from netpact.coding.format.versions import COMMON_PROBLEMS
from netpact.coding.forms import FORMS
from netpact.models import FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "format.md"


def test_the_page_lists_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for tag, form in FORMS.items():
        assert f"| {tag} | {form.name} |" in page
    assert ", ".join(f"{family.id} {family.name}" for family in FAMILIES.values()) in page
    for number, (shape, classes) in enumerate(COMMON_PROBLEMS, start=1):
        assert f"{number} = {'x'.join(map(str, shape))} with {classes}" in page
