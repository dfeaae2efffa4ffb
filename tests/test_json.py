"""The one JSON codec: strict both ways."""

from __future__ import annotations

import pytest
from source_text import SOURCE

from netpact.core.errors import PactError
from netpact.core.json import check_fields, decode_json, encode_json, read_object


def test_a_value_has_one_text() -> None:
    text = encode_json({"b": (1, 2.5), "a": {"ö": None}}, where="record")
    assert text == '{"a":{"\\u00f6":null},"b":[1,2.5]}'
    assert (
        decode_json(text, where="record") == decode_json(text.encode(), where="x") == {"a": {"ö": None}, "b": [1, 2.5]}
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": NaN}', r"\['a'\]: nan is not a JSON number"),
        ("[1, -Infinity]", r"\[1\]: -inf is not a JSON number"),
        ("1e999", ": inf is not a JSON number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate key: c"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "this is not JSON"),
        (b"\xff", "this is not JSON"),
        ('"a"'.encode("utf-16"), "this is not JSON"),
        ("", "this is not JSON"),
    ],
    ids=range(9),
)
def test_what_is_not_strict_json_is_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(PactError, match=f"^file.*{said}"):
        decode_json(text, where="file")


def test_what_json_cannot_hold_is_not_written() -> None:
    loop: list[object] = []
    loop.append(loop)
    for value, said in (
        ({"a": [1, float("nan")]}, r"record\['a'\]\[1\]: nan is not a JSON number"),
        ({1: 2}, "record: names in a JSON object are text, got 1"),
        ({"a": {3}}, r"record\['a'\]: a value of type set is not JSON"),
        (loop, "contains itself or is nested too deeply"),
    ):
        with pytest.raises(PactError, match=said):
            encode_json(value, where="record")


def test_an_object_is_an_object_and_nested_text_is_not_parsed() -> None:
    assert read_object('{"a": 1}', where="record") == read_object({"a": 1}, where="record") == {"a": 1}
    for value in ("[1]", [1], None, "3"):
        with pytest.raises(PactError, match="record: must be a JSON object, got"):
            read_object(value, where="record")
    with pytest.raises(PactError, match="record: must be a JSON object, got str"):
        check_fields('{"a": 1}', ("a",), where="record")


def test_unknown_and_missing_keys_are_named() -> None:
    assert check_fields({"a": 1, "c": 2}, ("a",), where="record", optional=("b", "c")) == {"a": 1, "c": 2}
    with pytest.raises(PactError, match=r"record: the keys are not those of this record; unknown: x; missing: a, b$"):
        check_fields({"x": 1}, ("b", "a"), where="record")
    with pytest.raises(PactError, match=r"unknown: k+, .*, and 60 more$") as caught:
        check_fields({"k" * (1000 + number): 1 for number in range(100)}, (), where="record")
    assert len(str(caught.value)) < 3000


def test_json_is_read_in_one_place() -> None:
    readers = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if "json.load" in path.read_text()]
    assert [str(path) for path in readers] == ["core/json.py"]
