"""Commands from records: each field is an option, and the function gets the records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from netpact.cli.options_of import command

RUNNER = CliRunner()


@dataclass(frozen=True, kw_only=True)
class Shared:
    PANEL: ClassVar = "Shared by all"
    threads: Annotated[int, typer.Option("-t", "--cores", min=0, help="CPU threads.")] = 0
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class Margins:
    """As a record of the library has it: no word of typer."""

    size: int
    gamma: tuple[float, ...] = field(default=(), metadata={"help": "The margin.", "metavar": "MARGIN", "min": 0.0})
    cut_off: float | None = field(default=None, metadata={"option": "--cut"})


def call(*arguments: str) -> tuple[Any, ...]:
    seen: list[Any] = []

    def measure(name: str, margins: Margins, shared: Shared, loud: bool = False) -> None:
        """Measure it."""
        seen.extend([name, margins, shared, loud])

    app = typer.Typer()
    app.command()(command(measure))
    done = RUNNER.invoke(app, arguments, env={"COLUMNS": "80"})
    assert done.exit_code == 0 or not seen
    return tuple(seen) or (done.exit_code, done.output)


def test_defaults_are_those_of_the_records() -> None:
    assert call("mlp", "--size", "3") == ("mlp", Margins(size=3), Shared(), False)


def test_every_field_is_an_option_and_tuples_repeat() -> None:
    given = ["--size", "3", "--gamma", "0.5", "--gamma", "2", "--cut", "7", "-t", "2", "--quiet", "--loud"]
    wanted = (Margins(size=3, gamma=(0.5, 2.0), cut_off=7.0), Shared(threads=2, quiet=True), True)
    assert call("mlp", *given) == ("mlp", *wanted)


@pytest.mark.parametrize(
    "given", [[], ["--size", "3", "--gamma", "-1"], ["--size", "3", "--cores", "-1"], ["--size", "3", "--cut-off", "1"]]
)
def test_what_a_field_refuses_is_refused(given: list[str]) -> None:
    assert call("mlp", *given)[0] == 2


def test_help_comes_from_the_fields_in_their_panel() -> None:
    _, told = call("--help")
    for part in ("Measure it.", "The margin.", "MARGIN", "--cores", "CPU threads."):
        assert part in told
    assert told.index("--gamma") < told.index("Shared by all") < told.index("--cores")


def test_two_records_with_one_option_are_refused() -> None:
    def twice(one: Shared, two: Shared) -> None:
        """Nothing."""

    with pytest.raises(ValueError, match="threads"):
        command(twice)
