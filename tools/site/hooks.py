"""What MkDocs does beside its own work: pages that are made from other files of the repository (pages.py)."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from pages import all_pages, linked


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for place, text in all_pages():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    return linked(markdown)
