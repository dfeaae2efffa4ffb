"""The commands as one program, and the one place where errors become exit codes."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from netpact.cli.app import BAD_INPUT, FINE, INTERRUPTED, NOTHING_KEPT
from netpact.cli.commands import COMMANDS
from netpact.cli.console import people, print_json
from netpact.cli.interrupts import WorkInterruptedError
from netpact.cli.options_of import command as from_records
from netpact.core.errors import PactError
from netpact.core.version import __version__

# Typer keeps its parser's error class to itself, and has moved it before.
_UsageError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException" and issubclass(kind, Exception)
)

app = typer.Typer(
    name="netpact",
    help="Compress a trained classifier into a small file, with a proven bound on its test error.\n\n"
    "Exit codes: 0 success, 1 refused by verify, 2 bad input, 3 agreed by verify but contradicted by the test error, "
    "4 undecided by verify, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command()(from_records(command))


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"netpact {__version__}\n")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; with --json a bad input is reported as JSON."""
    try:
        code = app(arguments, prog_name="netpact", standalone_mode=False)
        if code == INTERRUPTED:  # typer has turned the interrupt into an exit code
            raise KeyboardInterrupt
        return code if isinstance(code, int) else FINE
    except PactError as error:
        return _tell(error.to_json(), arguments)
    except _UsageError as error:
        text = error.format_message()  # type: ignore[attr-defined]
        return _tell({"error": text, "where": "command line", "hint": _where_to_look(text, arguments)}, arguments)
    except WorkInterruptedError as error:
        people.print(str(error), soft_wrap=True, markup=False)
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        people.print(NOTHING_KEPT)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing more to say
        return FINE


def _where_to_look(problem: str, arguments: list[str]) -> str:
    command = next((name for name in arguments[:1] if name in {one.__name__ for one in COMMANDS}), "")
    methods = "; options of a method: --set NAME=VALUE" if command == "compress" and "option" in problem else ""
    example = "".join(f"for example: {found}; " for found in _examples(command)[:1] if "Missing" in problem)
    return f"{example}see netpact {command} --help{methods}".replace("  ", " ")


def _examples(command: str) -> list[str]:
    documented = next((one.__doc__ or "" for one in COMMANDS if one.__name__ == command), "")
    return re.findall(r"Example: (netpact .*)", documented)


def _tell(problem: dict[str, str], arguments: list[str]) -> int:
    if "--json" in arguments:
        print_json(problem)
    else:
        place = f"{problem['where']}: " if problem["where"] else ""
        people.print(f"error: {place}{problem['error']}", style="red", markup=False)
        if problem["hint"]:
            people.print(f"  {problem['hint']}", markup=False)
    return BAD_INPUT
