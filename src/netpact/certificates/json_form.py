"""Records as JSON, and strictly back: one way for every kind of statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from netpact.core.errors import PactError
from netpact.core.json import check_fields, check_object, read_object

if TYPE_CHECKING:
    from netpact.certificates.statement import Statement

    StatementT = TypeVar("StatementT", bound=Statement)

_WHERE = "certificate"
# The words are for people who read the file itself: they are never taken over from it but made anew, so that a better
# wording does not make old files unreadable.
_WORDS = ("theorem", "sentence", "assumptions", "declarations")


@dataclass(frozen=True)
class Layout:
    """How a statement is written in JSON. A field that is not named here is a key of its own.

    groups    nested objects: what each of their keys is as a field
    records   fields that are records of their own, with to_json and from_json
    optional  the groups and records that are left out where they are empty
    numbers   properties that follow from the fields and must agree with them
    """

    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    records: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def plain(self, record: type[Statement]) -> list[str]:
        nested = {name for group in self.groups.values() for name in group.values()} | self.records.keys()
        return [entry.name for entry in fields(record) if entry.name not in nested]  # type: ignore[arg-type]


def statement_to_json(statement: Statement) -> dict[str, object]:
    layout = statement.layout
    nested: dict[str, object] = {}
    for key, group in layout.groups.items():
        values = {inner: getattr(statement, name) for inner, name in group.items()}
        if key not in layout.optional or any(values.values()):
            nested[key] = values
    for key in layout.records:
        record = getattr(statement, key)
        if key not in layout.optional or record is not None:
            nested[key] = record.to_json()
    return {
        "kind": statement.kind,
        **{name: getattr(statement, name) for name in layout.plain(type(statement))},
        **nested,
        **{name: getattr(statement, name) for name in layout.numbers},
        "theorem": statement.theorem,
        "sentence": statement.sentence(),
        "assumptions": list(statement.assumptions),
        "declarations": list(statement.declarations),
    }


def statement_from_json(record: type[StatementT], source: Mapping[str, object] | str) -> StatementT:
    """Read what statement_to_json wrote, here or by another version with other words."""
    content, layout = read_object(source, where=_WHERE), record.layout
    names = layout.plain(record)
    nested = [key for key in (*layout.groups, *layout.records) if key not in layout.optional or key in content]
    check_fields(content, {"kind", *names, *nested, *layout.numbers, *_WORDS}, where=_WHERE)
    values: dict[str, Any] = {name: content[name] for name in names}
    for key in nested:
        if key in layout.records:
            values[key] = layout.records[key].from_json(check_object(content[key], where=key))
            continue
        inner = check_fields(content[key], layout.groups[key], where=key)
        values |= {name: inner[name_in_file] for name_in_file, name in layout.groups[key].items()}
    statement = record(**values)  # the record checks each value and names the field
    for key in ("kind", *layout.numbers):
        if not _agree(content[key], expected := getattr(statement, key)):
            raise PactError(f"{content[key]!r} does not follow from the other fields; expected {expected!r}", where=key)
    return statement


def _agree(found: object, expected: object) -> bool:
    # In Python True == 1, and 1 == 1.0; the second is the same JSON number, the first is not.
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected
