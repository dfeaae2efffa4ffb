"""The files around the package agree: versions of Python, of torch and of the linters, and what CI runs.

Read by patterns: Python 3.10 has no reader of TOML, and none of YAML comes with netpact. A line that is written in
another way is not found, and the test fails.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def only(pattern: str, text: str) -> str:
    """What the pattern's group finds, which must stand there exactly once."""
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return str(found)


def claimed_pythons() -> list[str]:
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)


def test_ci_runs_the_same_script_on_every_python_that_is_claimed() -> None:
    matrix = re.findall(r'"([^"]+)"', only(r"^        python-version: \[(.*)\]$", WORKFLOW))
    assert matrix == claimed_pythons()
    assert only(r"^          python-version: (.*)$", WORKFLOW) == "${{ matrix.python-version }}"
    assert only(r"^ +- run: (.*)$", WORKFLOW) == ".ci/run"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111, "a workflow starts it by its name"
    assert "\t" not in WORKFLOW


def test_the_oldest_python_is_the_same_wherever_it_is_named() -> None:
    oldest = claimed_pythons()[0]
    assert only(r'^requires-python = ">=(.*)"$', PYPROJECT) == oldest
    assert only(r'^python_version = "(.*)"$', PYPROJECT) == oldest, "mypy"
    assert only(r'^target-version = "(.*)"$', PYPROJECT) == "py" + oldest.replace(".", ""), "ruff"
    assert f"netpact needs Python {oldest} or newer" in MAKEFILE
    assert f"python3 ({oldest} or newer)" in (ROOT / "README.md").read_text()


def test_the_oldest_torch_that_is_claimed_is_one_that_the_tests_run_with() -> None:
    """Whoever lets a newer torch in tests the oldest one as well, or claims less."""
    major, minor = map(int, only(r'^  "torch>=(\d+\.\d+)"', PYPROJECT).split("."))
    assert only(r"^torch<(.*)$", CONSTRAINTS) == f"{major}.{minor + 1}"
    assert version("torch").split(".")[:2] == [str(major), str(minor)]


@pytest.mark.parametrize("linter", ["ruff", "mypy"])
def test_linters_are_pinned_in_one_place(linter: str) -> None:
    assert only(rf"^{linter}==(\S+)$", CONSTRAINTS) == version(linter)
    assert only(rf'"({linter}[^"]*)"[,\]]', only(r"^test = (.*)$", PYPROJECT)) == linter
    assert "--constraint constraints.txt" in MAKEFILE


def test_hooks_run_what_ci_runs_and_have_no_versions_of_their_own() -> None:
    assert re.findall(r"^ +- repo: (.*)$", HOOKS, re.MULTILINE) == ["local"]
    assert re.findall(r"^ +entry: (.*)$", HOOKS, re.MULTILINE) == ["make lint", "make test"]
    assert set(re.findall(r"^ +language: (.*)$", HOOKS, re.MULTILINE)) == {"system"}
    assert "rev:" not in HOOKS
    assert "additional_dependencies" not in HOOKS
    script = (ROOT / ".ci" / "run").read_text()
    assert all(re.search(rf"^{command}\b", script, re.MULTILINE) for command in ("make test", "make lint"))
