"""The demonstration from the command line, in a process of its own, and again to see it resume."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from cli.fresh_process import run_fresh

from netpact.cli.app import run
from netpact.comparisons.demonstration.running import _EXPLAINED, _PLAN


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], float]:
    out = tmp_path_factory.mktemp("demo") / "out"
    started = time.monotonic()
    command = [
        "demo",
        "--data",
        "digits",
        "--seed",
        "1",
        "--out",
        str(out),
        "--jobs",
        "2",
        "--figures",
        str(out / "drawn"),
        "--json",
    ]
    done = run_fresh(*command)
    assert "With probability at least 95 %" in done.stderr
    return out, json.loads(done.stdout), time.monotonic() - started


def test_rows_and_bound(demo: tuple[Path, dict[str, Any], float]) -> None:
    _, record, _ = demo
    certified = [row for row in record["rows"] if row["bound"] is not None]
    assert len(certified) >= 5
    assert all(row["agreed"] for row in certified)
    assert all(row["bound"] >= row["train_error"] for row in certified)
    assert min(row["bound"] for row in certified) <= 0.42
    assert len({row["message_bytes"] for row in certified}) == len(certified), "several sizes"
    assert sum(row["bound"] is None for row in record["rows"]) == 2, "the originals have no bound"


def test_page_is_self_contained(demo: tuple[Path, dict[str, Any], float]) -> None:
    out, record, _ = demo
    page = (out / "index.html").read_text()
    assert record["sentence"] in page
    assert "<svg" in page
    assert (out / "drawn" / "error-against-size.svg").read_text() in page, "one drawing, on the page and by itself"
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    for row in record["rows"]:
        assert row["name"] in page


def test_one_page_has_the_measurements_and_the_bounds_too(demo: tuple[Path, dict[str, Any], float]) -> None:
    out, record, _ = demo
    page = (out / "index.html").read_text()
    assert [path.name for path in out.glob("*.html")] == ["index.html"]
    assert len(page) < 3_000_000
    for key in ("table", "plane", "parts", "measured", "bounds", "guarantees", "definitions"):
        assert f'id="{key}"' in page
    originals = [row for row in record["rows"] if row["bound"] is None]
    assert {name.partition("-")[0] for row in originals for name in row["estimates"]} >= {"arora", "li", "shin", "guha"}
    for row in record["rows"]:
        if row["bound"] is not None:
            assert row["deviation"] is not None
            assert 0.5 < row["fidelity"] <= 1


def test_the_page_of_bounds_shows_a_file_of_the_network_that_it_explains(
    demo: tuple[Path, dict[str, Any], float],
) -> None:
    """An adversary's try: it once took the best file of all, which was of another network."""
    out, record, _ = demo
    page = (out / "index.html").read_text()
    shown = [key for key, *_ in _PLAN if f"about the network in {key}.pact" in page]
    own = {
        key: row["bound"]
        for key, network, *_ in _PLAN
        for row in record["rows"]
        if row["file"] == f"{key}.pact" and network == _EXPLAINED and row["bound"] is not None
    }
    assert shown == [min(own, key=lambda key: own[key])]
    assert min(row["bound"] for row in record["rows"] if row["bound"] is not None) < min(own.values()), "else no try"


def test_every_file_verifies_from_file_and_data_alone(
    demo: tuple[Path, dict[str, Any], float], capsys: pytest.CaptureFixture[str]
) -> None:
    out, record, _ = demo
    files = sorted(out.glob("*.pact"))
    assert {path.name for path in files} == {row["file"] for row in record["rows"] if row["file"]}
    for path in files:
        assert run(["verify", str(path), "--data", "digits", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["agreed"] is True


def test_a_second_run_goes_on_from_the_first(
    demo: tuple[Path, dict[str, Any], float], capsys: pytest.CaptureFixture[str]
) -> None:
    out, record, _ = demo
    (out / "mlp-3bit.pact").write_bytes(b"spoiled")
    kept = out / "linear-search.pact"
    before = kept.stat().st_mtime_ns
    assert run(["demo", "--data", "digits", "--seed", "1", "--out", str(out), "--jobs", "1", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for rows in (again["rows"], record["rows"]):
        for row in rows:
            assert row.pop("samples_per_second") > 0
    assert again["rows"] == record["rows"], "the same seed gives the same files"
    assert kept.stat().st_mtime_ns == before, "what was finished is not done again"
