"""The package's own source as data: numbers in it, and which module a name really comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import netpact

SOURCE = Path(netpact.__file__).parent
_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_NUMBER = re.compile(r"(?<![\w.])(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][-+]?\d+)?")


def room_files(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (SOURCE / room).rglob("*.py"))


def short_name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def significant_digits(literal: str) -> int:
    """Of a number as it is written: 0.1307 has four, 100_000 and 1e-12 have one, 0x1000 has four (4096)."""
    text = literal.lower().replace("_", "")
    if text[:2] in ("0x", "0o", "0b"):
        text = str(int(text, 0))
    return len(text.split("e")[0].replace(".", "").strip("0"))


def numbers(path: Path) -> Iterator[tuple[str, int | float | complex]]:
    """Every numeric literal: as it is written, and its value."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if _is_number(node):
            yield ast.get_source_segment(text, node) or "", node.value  # type: ignore[attr-defined]


def numbers_in_text(path: Path) -> Iterator[float]:
    """Every number in the file, those in strings and comments too."""
    for found in _NUMBER.finditer(path.read_text()):
        yield float(found[0].replace("_", ""))


def strings(path: Path) -> Iterator[str | bytes]:
    """Every string and bytes literal that is no docstring."""
    tree = ast.parse(path.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and id(node) not in alone:
            yield node.value


def tables(path: Path, *, more_than: int) -> Iterator[tuple[str, int]]:
    """Displays with more numbers than that: the function or variable they stand in, and how many numbers."""
    for statement in ast.parse(path.read_text()).body:
        displays = [node for node in ast.walk(statement) if isinstance(node, _DISPLAYS)]
        longest = max((sum(map(_is_number, ast.walk(node))) for node in displays), default=0)
        if longest > more_than:
            yield _title(statement), longest


def calls(path: Path) -> Iterator[str]:
    """The last name of whatever is called: load_data, read_bytes, open."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of every import that happens at run time; the name is "" for a plain import."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        waiting += ast.iter_child_nodes(node)


def reached_from(module: str) -> set[str]:
    """The modules of netpact that hold what this one uses, and what those use, and so on.

    A name that a package only hands on is followed to the module it is written in: whoever takes Split from
    netpact.datasets uses netpact.datasets.splits, not the loading of data that stands beside it.
    """
    reached: set[str] = set()
    waiting = {module}
    while waiting:
        current = waiting.pop()
        reached.add(current)
        found = {home(*pair) for pair in imports(module_file(current)) if pair[0].split(".")[0] == "netpact"}
        waiting |= found - reached
    return reached


def home(module: str, name: str) -> str:
    """The module in which `from module import name` finds what it imports."""
    if name and _is_module(f"{module}.{name}"):
        return f"{module}.{name}"
    path = module_file(module)
    if path.name == "__init__.py":
        stub = path.with_suffix(".pyi")  # the list of names of a package that loads them lazily
        for where, what in imports(stub if stub.is_file() else path):
            if what == name and where.startswith("netpact."):
                return home(where, what)
    return module


def module_file(module: str) -> Path:
    base = SOURCE.parent / Path(*module.split("."))
    package = base / "__init__.py"
    return package if package.is_file() else base.with_suffix(".py")


def _is_module(module: str) -> bool:
    return module_file(module).is_file()


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)


def _title(statement: ast.stmt) -> str:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    return ", ".join(ast.unparse(target) for target in targets)
