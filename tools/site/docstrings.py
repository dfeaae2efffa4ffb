"""Docstrings as Markdown: a block of "name  meaning" lines, as this project writes options, becomes a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(?P<names>[\w.*()=, ]*[\w)])  +(?P<meaning>\S.*)$")
_FORMULA = re.compile(r"^ {4,}\S")


class ListsOfNames(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Paragraphs stay; an item begins with names and two spaces, and goes on with indented lines."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text))


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    if not _ITEM.match(lines[0]):
        return text
    items: list[str] = []
    for line in lines:
        found = _ITEM.match(line)
        if found:
            names = ", ".join(f"`{name.strip()}`" for name in found["names"].split(", "))
            items.append(f"- {names}: {found['meaning']}")
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(items)
