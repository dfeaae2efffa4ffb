"""Pages of the site that are made from other files: the project's own pages, the API, the command line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cells import as_markdown, read_cells, run_cells

ROOT = Path(__file__).parents[2]
PROJECT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
_ROOT_LINK = re.compile(rf"\]\(((?:\.\./)+)({'|'.join(map(re.escape, PROJECT_PAGES))})")
_EXAMPLE_LINK = re.compile(r"\]\(((?:\.\./)+)(examples/\w+)\.py")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
_NAME = re.compile(r"^from netpact\.(\w+)\S* import (\w+) as \2$", re.MULTILINE)

# Title of the page and the rooms whose public names it has, in this order; rooms that are not listed go to the last.
API: dict[str, tuple[str, tuple[str, ...]]] = {
    "data": ("Data", ("datasets",)),
    "networks": ("Networks", ("network", "models", "layers")),
    "training": ("Training", ("training", "monitoring")),
    "compression": ("Compression", ("methods", "coding")),
    "certificates": ("Certificates", ("pacts", "certificates")),
    "measurements": ("Measurements and estimates", ("measurements", "bounds", "deviations")),
    "algebra": ("Algebra", ("algebra",)),
    "core": ("Errors, limits, seeds", ("core",)),
    "experiments": ("Search and experiments", ("exploration", "experiments", "papers")),
}
_REST = "experiments"


def all_pages() -> Iterator[tuple[str, str]]:
    """Where below the site, and the Markdown."""
    for name in PROJECT_PAGES:
        yield name.lower(), project_page(name)
    for place, names in api_names().items():
        yield f"api/{place}.md", api_page(API[place][0], names)
    yield "commands.md", commands_page()
    for script in sorted((ROOT / "examples").glob("*.py")):
        yield f"examples/{script.stem}.md", example_page(script)


def example_page(script: Path) -> str:
    """The script's cells, with their results unless NETPACT_SITE_RUNS=no."""
    cells = read_cells(script.read_text("utf-8"))
    if os.environ.get("NETPACT_SITE_RUNS") != "no":
        cells = run_cells(cells, name=script.name)
    head, _, rest = as_markdown(cells).partition("\n")
    return f"{head}\n\nThis page is `examples/{script.name}`; the tests run it.\n{rest}"


def linked(text: str) -> str:
    """Links from docs/ to the project's pages at the root and to the examples, as the site has them."""
    text = _EXAMPLE_LINK.sub(lambda found: f"]({found[1][3:]}{found[2]}.md", text)
    return _ROOT_LINK.sub(lambda found: f"]({found[1][3:]}{found[2].lower()}", text)


def project_page(name: str) -> str:
    """A page of the repository's root; links into docs/ lead to the site, other files are named without a link."""
    text = (ROOT / name).read_text("utf-8")

    def moved(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if target.startswith("docs/"):
            return f"]({target.removeprefix('docs/')}{anchor})"
        if target in PROJECT_PAGES:
            return f"]({target.lower()}{anchor})"
        raise ValueError(f"{name} links to {target}, which is not on the site")

    return _LINK.sub(moved, text)


def api_names() -> dict[str, list[str]]:
    """The public names of each page, as netpact/__init__.pyi lists them."""
    homes = {name: room for room, name in _NAME.findall((ROOT / "src/netpact/__init__.pyi").read_text("utf-8"))}
    homes.pop("__version__")
    listed = {room for _, rooms in API.values() for room in rooms}
    pages: dict[str, list[str]] = {}
    for place, (_, rooms) in API.items():
        own = [name for room in rooms for name, home in homes.items() if home == room]
        pages[place] = own + [name for name, home in homes.items() if home not in listed and place == _REST]
    return pages


def api_page(title: str, names: list[str]) -> str:
    shown = sorted(names, key=lambda name: (name[0].isupper(), name.lower()))
    listing = " · ".join(f"[`{name}`](#netpact.{name})" for name in shown)
    return "\n\n".join([f"# {title}", listing, *(f"::: netpact.{name}" for name in shown)]) + "\n"


def commands_page() -> str:
    """Every command with its options, from the same records as --help."""
    import typer.main

    from netpact.cli.dispatch import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line",
        "`netpact COMMAND --help` shows the same in a terminal. `netpact --install-completion` installs shell "
        "completion of commands, options, and names of methods, data sets, models, bounds and experiments.",
        "Exit codes: 0 success, 1 refused by `verify`, 2 bad input, 3 agreed by `verify` but contradicted by the test "
        "error, 4 undecided by `verify`, 130 interrupted.",
    ]
    for name, command in group.commands.items():
        usage = " ".join(
            ["netpact", name, *(one.metavar for one in command.params if one.param_type_name == "argument")]
        )
        parts += [f"## netpact {name}", f"    {usage} [OPTIONS]", _help(command.help), _options(command.params)]
    return "\n\n".join(parts) + "\n"


def _help(text: str) -> str:
    return re.sub(r"^Example: (.*)$", r"```sh\n\1\n```", text, flags=re.MULTILINE)


def _options(parameters: list[Any]) -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for one in parameters:
        if one.param_type_name != "argument" and "--help" not in one.opts:
            names = ", ".join(one.opts)
            value = "" if one.is_flag else f" {one.metavar or 'VALUE'}"
            rows.append(f"| `{names}{value}` | {_cell(one.help)} | {_default(one)} |")
    return "\n".join(rows) if len(rows) > 2 else ""


def _default(one: Any) -> str:
    if one.required:
        return "required"
    if isinstance(one.show_default, str):
        return _cell(one.show_default)
    return "" if one.is_flag or one.default is None or one.default in ("", [], ()) else f"`{one.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
