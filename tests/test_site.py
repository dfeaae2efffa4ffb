"""The documentation as a site: pages are in its navigation, links lead somewhere, nothing comes from the network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import netpact

ROOT = Path(__file__).parents[1]
CONFIG = (ROOT / "mkdocs.yml").read_text()
NAV = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", CONFIG.split("\nnav:\n")[1], re.MULTILINE)
REASON = "needs mkdocs"
LOADING = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}


@pytest.fixture(scope="module", autouse=True)
def _examples_are_not_run() -> Iterator[None]:
    """Their own tests run them: tests/test_examples.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETPACT_SITE_RUNS", "no")
        yield


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "site" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_once(tool: ModuleType) -> None:
    written = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    made = {place for place, _ in tool.all_pages()}
    assert not written & made
    assert sorted(NAV) == sorted(written | made)


def test_every_public_name_is_in_the_reference(tool: ModuleType) -> None:
    listed = [name for names in tool.api_names().values() for name in names]
    assert sorted(listed) == sorted(set(netpact.__all__) - {"__version__"})


def test_every_command_and_option_is_in_the_reference(tool: ModuleType) -> None:
    page = tool.commands_page()
    assert "## netpact certify\n" in page
    assert (
        "| `--delta VALUE` | The bound holds with probability 1 - delta. Choose it before training. | `0.05` |" in page
    )
    assert "```sh\nnetpact verify mlp.pact --data digits --json\n```" in page


class _Page(HTMLParser):
    """What a browser fetches by itself when the page is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "link" or given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded += [value for name, value in attrs if name == LOADING.get(tag) and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
        if os.environ.get("NETPACT_DOCS") == "required":
            pytest.fail(REASON)
        pytest.skip(REASON)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    surroundings = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_the_site_loads_nothing_from_the_network(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(NAV) - 1
    for file in pages:
        page = _Page()
        page.feed(file.read_text())
        assert page.loaded
        away = [place for place in page.loaded if re.match(r"(?:\w+:)?//", place)]
        assert not away, f"{file.relative_to(site)} loads {away}"
    for file in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", file.read_text()), file.name


def test_the_reference_has_the_texts_and_the_search_finds_them(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text()
    page = (site / "api" / "certificates.html").read_text()
    for text in ("a bound on the risk of what is in the file", "most_near_ties"):
        assert text in page
        assert text in index
    assert "<li><p><code>pact</code>" in page or "<li><code>pact</code>" in page, "names and meanings are a list"
