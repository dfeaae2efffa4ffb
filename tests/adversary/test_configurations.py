"""What the adversary tried: keep learned numbers in the object that configures a library's module.

Modules of libraries such as transformers read an object with some hundred bytes of names and settings. Names that the
library's installed source contains say next to nothing, and count two bytes each; everything else in such an object
counts in full. The library here is a package that the test installs.
"""

from __future__ import annotations

import base64
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from netpact.coding.format import Pact, seal
from netpact.core import installed
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.methods import Quantize, compress
from netpact.models import hash_source
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify

NAMES = [f"setting_with_a_long_name_{number}" for number in range(20)]  # 500 bytes
SETTINGS = "; ".join(f"self.{name} = {number}" for number, name in enumerate(NAMES))
SOURCE = f'''
from torch import nn

WORDS = "{" ".join(f"word{number}" for number in range(1000))}"


class Config:
    hint = ""

    def __init__(self, **given):
        self.eps, self.activation = 1e-5, "relu"
        {SETTINGS}
        self.__dict__.update(given)


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.body = nn.Linear(64, 10)

    def forward(self, x):
        return self.body(x.flatten(1)) + self.config.eps
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A package that counts as installed."""
    home = tmp_path_factory.mktemp("site")
    (home / "toy_library.py").write_text(SOURCE)
    homes = installed._package_homes() | {str(home)}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(home)
        patch.setattr(installed, "_package_homes", lambda: homes)
        installed.is_installed.cache_clear()
        yield importlib.import_module("toy_library")
    del sys.modules["toy_library"]
    installed.is_installed.cache_clear()


def make_with(library: Any, **given: object) -> Callable[[], nn.Module]:
    return lambda: library.Configured(library.Config(**given))


@pytest.fixture(scope="module")
def honest(library: Any, digits: Data) -> Pact:
    torch.default_generator.manual_seed(1)
    return seal(compress(trace(make_with(library)(), digits), Quantize(bits=4)))


def test_a_library_s_module_with_its_configuration_is_certified(library: Any, honest: Pact, digits: Data) -> None:
    make = make_with(library, setting_with_a_long_name_3=7)
    with pytest.warns(UserWarning, match=r"config \(1 numbers, 20 integers, 4\d bytes\)"):
        certified = certify(honest, digits, model=make)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert verify(certified, digits, model=make)


def test_the_configuration_is_part_of_what_identifies_the_module(library: Any, honest: Pact, digits: Data) -> None:
    settings = {"setting_with_a_long_name_3": 7}

    def make() -> nn.Module:
        return make_with(library, **settings)()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certified = certify(honest, digits, model=make)
        before = hash_source(make, make())
        settings["setting_with_a_long_name_3"] = 8
        assert hash_source(make, make()) != before
        assert not verify(certified, digits, model=make)


def test_texts_of_known_words_count_word_by_word(library: Any, honest: Pact, digits: Data) -> None:
    """Patterns of names and numbered labels: layers of a plan, LABEL_7. Unknown words count in full."""
    plan = {f"{name}.*.body": "relu" for name in NAMES[:8]}
    labels = [f"setting_{number}" for number in range(20)]
    with pytest.warns(UserWarning, match=r"config \(1 numbers, 20 integers, 2\d\d bytes\)"):
        certify(honest, digits, model=make_with(library, plan=plan, labels=labels))
    refused(
        make_with(library, plan={name.replace("long", "lang"): "relu" for name in plan}, labels=labels), honest, digits
    )


TABLE = np.random.default_rng(0).normal(size=(10, 64)).astype(np.float32)
WAYS: dict[str, dict[str, object]] = {
    "numbers": {"patterns": TABLE.ravel().tolist()},
    "an array": {"patterns": TABLE},
    "text": {"activation": base64.b64encode(TABLE.tobytes()).decode()},
    "short texts": {"labels": {str(row): base64.b64encode(TABLE[row].tobytes()).decode()[:200] for row in range(10)}},
    "words of the source": {"labels": [f"word{number % 1000}" for number in TABLE.view(np.uint32).ravel().tolist()]},
    "words that are not there": {
        "labels": ["".join(chr(97 + (7 * a * b + a) % 26) for b in range(30)) for a in range(12)]
    },
    "which names there are": {f"word{number}": 0 for number in range(0, 1000, 3)},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_configuration_that_holds_a_table_is_refused(way: str, library: Any, honest: Pact, digits: Data) -> None:
    refused(make_with(library, **WAYS[way]), honest, digits)


def test_words_that_were_put_into_the_library_in_memory_are_not_its_own(
    library: Any, honest: Pact, digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source on the disk decides, not what the class says of itself by now."""
    words = [f"{number:08x}" for number in TABLE.view(np.uint32).ravel()[:60].tolist()]
    monkeypatch.setattr(library, "WORDS", " ".join(words))
    monkeypatch.setattr(library.Config, "hint", words, raising=False)
    refused(make_with(library, labels=words), honest, digits)


def refused(make: Callable[[], nn.Module], honest: Pact, digits: Data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(PactError, match=r"not be counted|outside parameters"):
            certify(honest, digits, model=make)


def test_a_class_of_the_user_s_own_has_no_words(honest: Pact, digits: Data, tmp_path: Path) -> None:
    """The source of one's own class may be written after the data were seen."""

    class Own:
        def __init__(self) -> None:
            for name in NAMES:
                setattr(self, name, 0)

    class Configured(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config, self.body = Own(), nn.Linear(64, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.body(x.flatten(1)) + len(vars(self.config))

    refused(Configured, honest, digits)
