"""The package as a whole: what it exports, who imports whom, what importing it costs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import netpact
from netpact.core import former_places

SOURCE = Path(netpact.__file__).parent
MOST_MODULES_TO_DECODE = 43

# From the bottom up: a module imports only from its own folder and from what stands before it, as in ARCHITECTURE.md.
ORDER = (
    "core",
    "runs",
    "certificates",
    "datasets",
    "shards",
    "algebra",
    "layers",
    "models",
    "network",
    "coding",
    "deviations",
    "training",
    "pacts",
    "picking",
    "measurements",
    "bounds",
    "methods",
    "reports",
    "monitoring",
    "exploration",
    "comparisons",
    "experiments",
    "papers",
    "overview",
    "cli",
    "__main__",
)


def all_modules() -> list[str]:
    return [info.name for info in pkgutil.walk_packages(netpact.__path__, "netpact.")]


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "netpact" else [f"netpact.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("netpact.")}
    return rooms


def test_every_room_is_in_the_order() -> None:
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downward(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    allowed = set(ORDER[: ORDER.index(room) + 1])
    assert imported_rooms(path) <= allowed


def test_architecture_page_shows_the_same_order() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    assert [line.split()[0] for line in page.split("```")[1].strip().splitlines()] == list(ORDER)


def test_importing_netpact_does_not_import_torch() -> None:
    code = "import sys, netpact, netpact.core.errors; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_survives_importing_every_submodule() -> None:
    for name in all_modules():
        importlib.import_module(name)
    for name in netpact.__all__:
        value = getattr(netpact, name)
        assert name == "__version__" or callable(value), f"{name} is hidden by {value!r}"


def test_no_submodule_has_the_name_of_a_public_verb() -> None:
    """Nor of what another package loads lazily: once the submodule is imported, the name would mean the module."""
    modules = set(all_modules())
    for listed in SOURCE.rglob("__init__.pyi"):
        package = ".".join(("netpact", *listed.parent.relative_to(SOURCE).parts))
        assert not modules & {f"{package}.{name}" for name in importlib.import_module(package).__all__}


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = netpact.nonsense  # type: ignore[attr-defined]
    assert set(netpact.__all__) == set(dir(netpact))


@pytest.mark.parametrize(("former", "now"), sorted(former_places.FORMER.items()))
def test_a_module_that_was_moved_is_one_object_under_both_names(former: str, now: str) -> None:
    moved = importlib.import_module(f"netpact.{former}")
    assert moved is importlib.import_module(f"netpact.{now}")
    assert moved.__spec__ is not None
    assert moved.__spec__.name == moved.__name__ == f"netpact.{now}"


def test_a_part_of_a_moved_package_is_found_too() -> None:
    code = (
        "from netpact.forms.low_rank import LowRank as a; from netpact.coding.forms import LowRank as b; print(a is b)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_opening_a_file_imports_little() -> None:
    """No training, no methods, no data sets, no certificates: what a decoder needs and nothing else."""
    code = (
        "import sys, netpact; netpact.Pact.read(sys.argv[1]).to_module(); "
        "print(*(name for name in sys.modules if name.split('.')[0] == 'netpact'))"
    )
    file = Path(__file__).with_name("format") / "golden" / "linear.pact"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert len(loaded) <= MOST_MODULES_TO_DECODE, loaded
    rooms = {name.split(".")[1] for name in loaded if "." in name}
    assert not rooms - {"core", "algebra", "layers", "models", "coding"}
