"""Tables of benchmarks in docs/ are those of the JSON files that the benchmarks wrote."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


def load(path: Path) -> ModuleType:
    """By its path: the folder is no package."""
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages() -> Any:
    before = list(sys.path)
    yield load(ROOT / "tools" / "bench_page.py")
    sys.path[:] = before
    for name in ("recording", "rows"):
        sys.modules.pop(name, None)


def test_pages_and_numbers_agree(pages: Any) -> None:
    seen = set()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.read_text()
        seen |= set(pages.BLOCK.findall(page))
        assert pages.render(page) == page, f"{path.name}: run make bench-page"
    assert {"large_networks", "activations", "mnist files", "mnist bounds", "digits files", "digits bounds"} <= seen


def test_the_block_of_a_benchmark_without_numbers_stays(
    pages: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "slow.py").touch()
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = "<!-- slow -->\nnot yet\n<!-- end -->\n"
    assert pages.render(page) == page
    with pytest.raises(FileNotFoundError):
        pages.render(page.replace("slow", "slwo"))


def test_another_number_is_another_page(pages: Any) -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert pages.render(page.replace("| 17.8 ", "| 17.9 ", 1)) == page


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_numbers_say_where_they_are_from(path: Path) -> None:
    told = json.loads(path.read_text())
    assert told["command"].endswith(f"python benchmarks/{path.stem}.py")
    assert (ROOT / "benchmarks" / f"{path.stem}.py").is_file()
    assert told["machine"]
    assert told["threads"] >= 1
    assert "netpact" in told["versions"]
    assert len({tuple(row) for row in told["rows"]}) == 1, "all rows have the same columns"


def test_rows_are_printed_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = load(ROOT / "benchmarks" / "recording.py")
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    recording.keep_rows("folder/speed.py", [{"what": "x", "s": 1.23456}], quick=True)
    assert not (tmp_path / "results").exists(), "a quick run replaces nothing"
    assert "1.235" in capsys.readouterr().out
    recording.keep_rows("folder/speed.py", [{"what": "x", "s": 1.23456}])
    told = json.loads((tmp_path / "results" / "speed.json").read_text())
    assert told["rows"] == [{"what": "x", "s": 1.23456}], "not rounded"
    assert told["command"].endswith("python benchmarks/speed.py")
    assert [recording.cell(value) for value in (None, 12, 1234567, 98765.4, 0.5)] == [
        "-",
        "12",
        "1,234,567",
        "98,770",
        "0.5",
    ]


def test_medians_are_of_three() -> None:
    times = iter([0.0, 5.0, 10.0, 11.0, 20.0, 22.0])
    assert load(ROOT / "benchmarks" / "recording.py").median_seconds(lambda: "done", lambda: next(times)) == (
        2.0,
        "done",
    )
