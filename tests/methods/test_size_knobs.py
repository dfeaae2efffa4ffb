"""Size knobs: every method has one, every setting of it can be made, and files shrink along it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from methods.conformance import few

from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.methods import METHODS, compress
from netpact.methods.size_knobs import SizeKnob, find_knobs, list_settings
from netpact.network import Network

WITHOUT_BASE = sorted(name for name in METHODS if "base" not in {one.name for one in fields(METHODS[name])})  # type: ignore[arg-type]


def test_every_method_has_a_knob_whose_option_it_knows() -> None:
    for name, method in METHODS.items():
        known = {one.name for one in fields(method)}  # type: ignore[arg-type]
        assert find_knobs(name), name
        for knob in find_knobs(name):
            assert {knob.option, *knob.beside} <= known, name


@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_files_shrink_along_a_knob(name: str, linear: Network, mixed: Network, digits: Data) -> None:
    network = linear if name.startswith("vector") else mixed
    quick = {"rate-aware": {"epochs": 2}, "ternary-search": {"steps": 30, "restarts": 1}}.get(name, {})
    method: Any = METHODS[name]
    knobs = find_knobs(name)[:1] if name == "ternary-search" else find_knobs(name)  # each of its trials takes seconds
    for knob in knobs:
        settings = knob.settings(2 if name == "ternary-search" else len(knob.values))
        settings = settings[1:] if name == "vector-project" else settings  # products of a row outnumber its 64 weights
        made = [method(**{**setting, **quick}) for setting in settings]
        sizes = [len(seal(compress(network, one, samples=few(digits))).message) for one in made]
        assert len(sizes) > 1
        assert sizes == sorted(sizes, reverse=True), knob


def test_settings_are_spread_over_the_values() -> None:
    knob = SizeKnob("bits", (8, 6, 4, 3, 2), {"grid": "uniform"})
    assert [one["bits"] for one in knob.settings(3)] == [8, 4, 2]
    assert [one["bits"] for one in knob.settings(1)] == [4]
    assert [one["bits"] for one in knob.settings(9)] == [8, 6, 4, 3, 2]
    assert knob.settings(1)[0]["grid"] == "uniform"
    assert knob.whole
    assert not SizeKnob("keep", (0.5, 0.1)).whole
    with pytest.raises(PactError, match="sizes"):
        knob.settings(0)


def test_a_method_without_a_knob_is_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(METHODS["sketch"], "knobs")
    assert [dict(one) for one in list_settings("sketch", 3)] == [{}]
