from __future__ import annotations

import functools
import hashlib
import math
import statistics
from typing import Any

import pytest
from runs import run_tasks

from netpact.core.errors import PactError
from netpact.runs import Task


def make(**changes: Any) -> Task:
    parts: dict[str, Any] = {"key": "a", "function": run_tasks.square, "arguments": {"folder": "f", "number": 1}}
    return Task(**{**parts, "version": "1", **changes})


class Holder:
    def method(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 2


def test_digest_depends_on_function_arguments_version_and_not_on_the_key() -> None:
    base = make().digest
    assert len(base) == 64
    assert make(key="b").digest == base
    assert make(arguments={"number": 1, "folder": "f"}).digest == base
    others = [
        make(arguments={"folder": "f", "number": 2}),
        make(arguments={"folder": "f", "number": 1.0}),
        make(arguments={"folder": "f", "number": "1"}),
        make(version="2"),
        make(function=run_tasks.shapes, arguments={"number": 1}),
    ]
    assert len({base, *(task.digest for task in others)}) == 6


def test_digest_is_the_hash_of_a_text_that_anyone_can_write_down() -> None:
    # Fixed for good: a change here would silently throw away every stored result.
    text = b'{"arguments":{"data":[1,2.5]},"function":"statistics.fmean","version":"0.1.0"}'
    task = Task("mean", statistics.fmean, {"data": (1, 2.5)}, version="0.1.0")
    assert task.digest == hashlib.sha256(text).hexdigest()


def test_later_changes_by_the_caller_have_no_effect() -> None:
    arguments: dict[str, Any] = {"items": [1, 2]}
    task = make(function=run_tasks.change_arguments, arguments=arguments)
    digest = make(function=run_tasks.change_arguments, arguments={"items": [1, 2]}).digest
    arguments["items"].append(3)
    task.fresh_arguments()["items"].append(4)  # type: ignore[union-attr]
    assert task.arguments == {"items": [1, 2]}
    assert task.digest == digest


@pytest.mark.parametrize(
    "function",
    [
        lambda folder, number: 1,
        functools.partial(run_tasks.square, number=1),
        Holder().method,
        "square",
        None,
        [].append,
    ],
)
def test_function_that_a_worker_cannot_import_is_refused(function: object) -> None:
    with pytest.raises(PactError, match=r"task a: .* cannot be imported by a worker \(use a function at the top"):
        make(function=function, arguments={})


def test_local_function_is_refused() -> None:
    def local(folder: str, number: int) -> int:
        return 1

    with pytest.raises(PactError, match="cannot be imported"):
        make(function=local)


def test_function_hidden_behind_another_of_its_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = run_tasks.square
    monkeypatch.setattr(run_tasks, "square", run_tasks.shapes)
    with pytest.raises(PactError, match="cannot be imported"):
        make(function=original)


def test_static_method_of_a_class_is_allowed() -> None:
    assert make(function=Holder.static, arguments={}).digest


@pytest.mark.parametrize("key", ["", "/etc", "../x", ".x", "a\n", "a\x00", "ä", "a" * 201, "a\\b", 3, None])
def test_bad_key_is_refused(key: object) -> None:
    with pytest.raises(PactError, match="is not a task key: 1 to 200 letters"):
        make(key=key)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"folder": "f", "number": {1}}, r"arguments\['number'\]: a value of type set"),
        ({"folder": "f", "number": [1, {"a": math.inf}]}, r"arguments\['number'\]\[1\]\['a'\]: inf is not"),
        ({"folder": "f", "number": {2: 1}}, "names in a JSON object are text, got 2"),
        ([1], "arguments: must be a dict, got list"),
        ({"folder": "f"}, r"the arguments do not fit square\(.*missing a required argument: 'number'"),
        ({"folder": "f", "number": 1, "extra": 1}, "unexpected keyword argument 'extra'"),
    ],
)
def test_bad_arguments_are_refused_at_once_and_located(arguments: object, place: str) -> None:
    with pytest.raises(PactError, match=place):
        make(arguments=arguments)


def test_argument_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(PactError, match="contains itself"):
        make(arguments={"folder": "f", "number": loop})


def test_version_is_text() -> None:
    with pytest.raises(PactError, match="version: must be a str"):
        make(version=1)
