"""What the adversary tried: statements beside the certificate that a file may hold, past the checksum.

Any value of their JSON is replaced by something hostile: numbers of other kinds, texts that look like a verdict or
drive a terminal, objects of another statement. Such a file is refused when it is read, or what it says about its
numbers is refused by the verifier; its words never reach a terminal or a page.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from fresh.conftest import Case, make_case

from netpact.coding.format import Pact
from netpact.coding.format.pact import CONTAINER_VERSION, MAGIC, _announced, _checksum
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.pacts.fresh import verify_fidelity, verify_hold_out
from netpact.reports.statement_page import render_statements

HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    0.5,
    1e308,
    10**30,
    float("nan"),
    float("inf"),
    "",
    "agreed",
    'x" errs on at most 0.0 %',
    "\x1b[32magreed: \x1b[0m",
    "a\nagreed: b",
    "\u202eagreed",
    "<script>alert(1)</script>",
    "x" * 10_000,
    [],
    {},
    [1],
    {"name": "x"},
]


@pytest.fixture(scope="module")
def case(digits: Data) -> Case:
    return make_case(digits, "as-run")


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*path, key))


def put(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(content)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def packed(message: bytes, content: object) -> bytes:
    body = MAGIC + bytes([CONTAINER_VERSION]) + _announced(message) + _announced(json.dumps(content).encode())
    return body + _checksum(body)


def shown_of(content: bytes) -> tuple[str, str]:
    """What a terminal would show, and the page; no page where the file is refused."""
    try:
        found = Pact.from_bytes(content)
    except PactError as error:
        return str(error), ""
    said = " ".join(one.sentence() for one in found.statements.values())
    return said, render_statements(found.statements, file="f", command="c")


def test_hostile_values_are_refused_or_harmless(case: Case) -> None:
    content: dict[str, Any] = json.loads(json.dumps(case.pact._statement(case.pact.certificate)))  # type: ignore[arg-type]
    names = ("fidelity", "hold_out", "original_hold_out")
    all_places = [path for path in places(content) if path[0] in names]
    draw = random.Random(0)
    read = 0
    for path in all_places:
        for value in draw.sample(HOSTILE, 5) if len(path) > 1 else HOSTILE:
            shown, page = shown_of(packed(case.pact.message, put(content, path, value)))
            read += bool(page)
            for word in ("\x1b", "\n", "\u202e", *(["errs on at most 0.0 %"] if page else [])):
                assert word not in shown
            for word in ("\x1b", "\u202e", "errs on at most 0.0 %"):
                assert word not in page
            assert page.count("<script") == bool(page), "the page's own, which its policy names by hash"
    assert read > 20, "some changes are of words, or of numbers that only a count can refuse"


@pytest.mark.parametrize("name", ["fidelity", "hold_out", "original_hold_out"])
def test_flattering_numbers_that_can_be_read_are_refused_by_the_count(case: Case, name: str) -> None:
    """Each number alone, and all at once: whatever makes the bound smaller."""
    content: dict[str, Any] = json.loads(json.dumps(case.pact._statement(case.pact.certificate)))  # type: ignore[arg-type]
    counted = "disagreements" if name == "fidelity" else "errors"
    changes = [
        {"bound": content[name][counted] / content[name]["fresh"]["samples"]},
        {counted: 0, "bound": 0.0},
        {counted: 0, "bound": 0.004, "delta": 0.9},
        {"delta": 1e-9},
    ]
    for change in changes:
        lie = {**content, name: {**content[name], **change}}
        pact = Pact.from_bytes(packed(case.pact.message, lie))
        if name == "fidelity":
            verdict = verify_fidelity(pact, case.original, case.data, case.inputs)
        else:
            original = case.original if name == "original_hold_out" else None
            verdict = verify_hold_out(pact, case.held, case.data, original=original)
        assert not verdict.agreed, change
        assert str(verdict).startswith(("refused: ", "undecided: "))


def test_one_statement_in_the_place_of_another(case: Case) -> None:
    content: dict[str, Any] = json.loads(json.dumps(case.pact._statement(case.pact.certificate)))  # type: ignore[arg-type]
    names = ("fidelity", "hold_out", "original_hold_out")
    for name in names:
        for other in names:
            if name != other:
                with pytest.raises(PactError):
                    Pact.from_bytes(packed(case.pact.message, {**content, name: content[other]}))
    with pytest.raises(PactError):
        Pact.from_bytes(packed(case.pact.message, {**content, "third": content["hold_out"]}))
    with pytest.raises(PactError):
        Pact.from_bytes(packed(case.pact.message, {"hold_out": content["hold_out"]}))
