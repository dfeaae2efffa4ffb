from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import nn

from netpact.core.errors import PactError
from netpact.models import import_model

SOURCE = """
from torch import nn
number = 3
ready = nn.Linear(2, 2)
def make(): return nn.Linear(2, 3)
def lazy():
    import own_models_part
    return own_models_part.make()
def needs(width): return nn.Linear(width, 3)
def wrong(): return "a network"
def fails(): raise ZeroDivisionError("in the user's code")
class Net(nn.Linear):
    def __init__(self): super().__init__(4, 2)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_models.py").write_text(SOURCE)
    (tmp_path / "own_models_part.py").write_text("from torch import nn\ndef make(): return nn.Linear(5, 2)\n")
    (tmp_path / "own_models_broken.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.chdir(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith("own_models")]:
        del sys.modules[name]


def test_functions_and_classes_of_the_current_folder() -> None:
    before = list(sys.path)
    assert isinstance(import_model("own_models:make"), nn.Linear)
    assert import_model("own_models:Net").in_features == 4
    assert import_model("own_models:lazy").in_features == 5
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_models", "does not name a function"),
        ("own_models:", "does not name a function"),
        (":make", "does not name a function"),
        ("own_models:make()", "does not name a function"),
        ("own models:make", "does not name a function"),
        ("own_models_absent:make", "there is no module own_models_absent .*run from the folder"),
        ("own_models.absent:make", "own_models.absent"),
        ("own_models_broken:make", "importing own_models_broken failed: No module named 'a_library_that_is_not_there'"),
        ("own_models:nothing", "own_models has no nothing; it has: make, lazy, needs, wrong, fails, Net"),
        ("own_models:number", "number is a int, not a function"),
        ("own_models:ready", "ready is a Linear, not a function .*wrap it"),
        ("own_models:needs", "needs must be callable without arguments: missing a required argument: 'width'"),
        ("own_models:wrong", "own_models:wrong: must return a torch.nn.Module, returned str"),
    ],
)
def test_bad_names_are_refused(name: str, message: str) -> None:
    before = list(sys.path)
    with pytest.raises(PactError, match=message):
        import_model(name)
    assert sys.path == before


def test_errors_of_the_users_code_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        import_model("own_models:fails")
