"""tools/figures.py counts what it says: a figure that is too low by mistake would look like progress."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from source_text import SOURCE
from test_package import ORDER, imported_rooms

from netpact import Pact


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    file = Path(__file__).parents[1] / "tools" / "figures.py"
    spec = importlib.util.spec_from_file_location("figures_tool", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rooms_and_what_they_import(tool: ModuleType) -> None:
    found = tool.fan_out()
    assert set(found) == set(ORDER) - {"__main__"}
    rooms = set().union(*map(imported_rooms, (SOURCE / "reports").rglob("*.py")))
    assert found["reports"] == len((rooms & set(ORDER)) - {"reports"}) > 0
    assert found["version"] == 0


def test_long_signatures(tool: ModuleType) -> None:
    seven = "class A:\n    def f(self, a, b, /, c, *d, e, f, **g): ...\n"
    assert list(tool.long_signatures(seven)) == []
    assert list(tool.long_signatures(seven.replace("e, f", "e, f, h"))) == ["f 8"]


def test_calls_of_the_decoder(tool: ModuleType) -> None:
    pact = Pact.read(tool.EXAMPLE)
    assert tool.coder_calls(pact.to_module) == "1 / 0 / 0"
    assert tool.coder_calls(lambda: (pact.to_module(), pact.decode(), pact.architecture)) == "2 / 0 / 1"
    assert sys.getprofile() is None
    with pytest.raises(SystemExit, match="nothing was decoded"):
        tool.coder_calls(lambda: None)


def test_modules_of_decoding(tool: ModuleType) -> None:
    """More than what the decoder needs at least, and not those of the commands."""
    assert 10 < tool.modules_to_decode() < len(tool.FILES)
