"""--help teaches: every command has an example that parses, every option says what it is, all of it in plain words."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer.main

from netpact.cli.app import run
from netpact.cli.commands import COMMANDS
from netpact.cli.dispatch import app

NAMES = [command.__name__ for command in COMMANDS]
PARSED: Any = typer.main.get_command(app)
EXAMPLE = re.compile(r"Example: netpact (.*)")
UNWANTED = (
    "whole number",
    "told",
    "relative to",
    "in the way",
    "not said",
    "comes to",
    "come to",
    "promise",
    "; without:",
)


@pytest.mark.parametrize("name", NAMES)
def test_examples_parse(name: str) -> None:
    examples = EXAMPLE.findall(PARSED.commands[name].help)
    assert examples
    for example in examples:
        command, *arguments = shlex.split(example)
        assert command == name
        PARSED.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(name: str) -> None:
    for parameter in PARSED.commands[name].params:
        assert parameter.help, f"{name}: {parameter.opts} has no help"


@pytest.mark.parametrize("name", NAMES)
def test_help_is_plain_and_fits_eighty_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    for phrase in UNWANTED:
        assert phrase not in " ".join(shown.replace("│", " ").split())
