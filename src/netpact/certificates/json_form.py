"""A certificate as JSON, and strictly back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from netpact.errors import PactError

if TYPE_CHECKING:
    from netpact.certificates.certificate import Certificate

    C = TypeVar("C", bound=Certificate)

_WHERE = "certificate"
# Fields that stand in the nested object "data", under these names.
_NESTED = {"name": "data_name", "fingerprint": "data_fingerprint"}
# Numbers that follow from the fields must agree with them. The words are for people who read the file itself: they are
# never taken over from it but made anew, so that a better wording does not make old files unreadable.
_NUMBERS = ("train_error", "test_error")
_WORDS = ("theorem", "sentence", "assumptions", "declarations")


def certificate_to_json(certificate: Certificate) -> dict[str, object]:
    plain = {name: getattr(certificate, name) for name in _plain_names(type(certificate))}
    data = {key: getattr(certificate, name) for key, name in _NESTED.items()}
    return {"kind": certificate.kind, **plain, "data": data, **_derived(certificate)}


def certificate_from_json(record: type[C], source: Mapping[str, object] | str) -> C:
    """Read what certificate_to_json wrote, here or by another version with other words."""
    content = _parse(source) if isinstance(source, str) else source
    if not isinstance(content, Mapping):
        raise PactError(f"a JSON object is needed, got {type(content).__name__}", where=_WHERE)
    names = _plain_names(record)
    _check_keys(content, {"kind", "data", *names, *_NUMBERS, *_WORDS}, where=_WHERE)
    data = content["data"]
    if not isinstance(data, Mapping):
        raise PactError(f"an object with {', '.join(_NESTED)} is needed, got {data!r}", where="data")
    _check_keys(data, set(_NESTED), where="data")
    values = {name: content[name] for name in names} | {name: data[key] for key, name in _NESTED.items()}
    certificate = record(**values)  # the record checks each value and names the field
    derived = certificate_to_json(certificate)
    for key in ("kind", *_NUMBERS):
        if not _agree(content[key], expected := derived[key]):
            raise PactError(f"{content[key]!r} does not follow from the other fields; expected {expected!r}", where=key)
    return certificate


def _derived(certificate: Certificate) -> dict[str, object]:
    return {
        "train_error": certificate.train_error,
        "test_error": certificate.test_error,
        "theorem": certificate.theorem,
        "sentence": certificate.sentence(),
        "assumptions": list(certificate.assumptions),
        "declarations": list(certificate.declarations),
    }


def _plain_names(record: type[Certificate]) -> list[str]:
    return [field.name for field in fields(record) if field.name not in _NESTED.values()]


def _check_keys(content: Mapping[str, object], expected: set[str], *, where: str) -> None:
    unknown = sorted(str(key) for key in content if key not in expected)
    missing = sorted(key for key in expected if key not in content)
    if unknown or missing:
        problems = [
            f"{word} {', '.join(keys)}" for word, keys in (("unknown:", unknown), ("missing:", missing)) if keys
        ]
        raise PactError(f"the keys are not those of a certificate; {'; '.join(problems)}", where=where)


def _agree(found: object, expected: object) -> bool:
    # In Python True == 1, and 1 == 1.0; the second is the same JSON number, the first is not.
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected


def _parse(text: str) -> object:
    # json reads NaN and Infinity as floats; every field refuses them by name.
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise PactError(f"this is not JSON: {error}", where=_WHERE) from error
    except RecursionError as error:
        raise PactError("the JSON is nested too deeply", where=_WHERE) from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise PactError(f"a key stands twice: {', '.join(twice)}", where=_WHERE)
    return content
