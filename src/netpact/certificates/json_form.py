"""A certificate as JSON, and strictly back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from netpact.errors import PactError

if TYPE_CHECKING:
    from netpact.certificates.certificate import Certificate
    from netpact.certificates.original import OriginalCertificate

    C = TypeVar("C", bound=Certificate)
    OriginalT = TypeVar("OriginalT", bound=OriginalCertificate)

_WHERE = "certificate"
# Fields that stand in the nested object "data", under these names.
_NESTED = {"name": "data_name", "fingerprint": "data_fingerprint"}
# Fields that stand in the nested object "base", which only a certificate with the prior "transfer" has.
_BASE = {"name": "base_name", "sha256": "base_sha256", "data_fingerprint": "base_data_fingerprint"}
# Numbers that follow from the fields must agree with them. The words are for people who read the file itself: they are
# never taken over from it but made anew, so that a better wording does not make old files unreadable.
_NUMBERS = ("train_error", "test_error")
_WORDS = ("theorem", "sentence", "assumptions", "declarations")


def certificate_to_json(certificate: Certificate) -> dict[str, object]:
    plain = {name: getattr(certificate, name) for name in _plain_names(type(certificate))}
    data = {key: getattr(certificate, name) for key, name in _NESTED.items()}
    base = {key: getattr(certificate, name) for key, name in _BASE.items()}
    nested = {"data": data} | ({"base": base} if certificate.prior == "transfer" else {})
    return {"kind": certificate.kind, **plain, **nested, **_derived(certificate)}


def certificate_from_json(record: type[C], source: Mapping[str, object] | str) -> C:
    """Read what certificate_to_json wrote, here or by another version with other words."""
    content = read_object(source)
    names = _plain_names(record)
    optional = {"base"} & content.keys()
    _check_keys(content, {"kind", "data", *optional, *names, *_NUMBERS, *_WORDS}, where=_WHERE)
    data = content["data"]
    if not isinstance(data, Mapping):
        raise PactError(f"an object with {', '.join(_NESTED)} is needed, got {data!r}", where="data")
    _check_keys(data, set(_NESTED), where="data")
    values: dict[str, Any] = {name: content[name] for name in names}
    values |= {name: data[key] for key, name in _NESTED.items()}
    if optional:
        base = content["base"]
        if not isinstance(base, Mapping):
            raise PactError(f"an object with {', '.join(_BASE)} is needed, got {base!r}", where="base")
        _check_keys(base, set(_BASE), where="base")
        values |= {name: base[key] for key, name in _BASE.items()}
    certificate = record(**values)  # the record checks each value and names the field
    derived = certificate_to_json(certificate)
    for key in ("kind", *_NUMBERS):
        if not _agree(content[key], expected := derived[key]):
            raise PactError(f"{content[key]!r} does not follow from the other fields; expected {expected!r}", where=key)
    return certificate


def original_to_json(certificate: OriginalCertificate) -> dict[str, object]:
    """The compressed network's certificate stands in it as an object of its own."""
    plain = {field.name: getattr(certificate, field.name) for field in fields(certificate)}
    return {
        "kind": certificate.kind,
        **plain,
        "compressed": certificate.compressed.to_json(),
        "theorem": certificate.theorem,
        "sentence": certificate.sentence(),
        "assumptions": list(certificate.assumptions),
        "declarations": list(certificate.declarations),
    }


def original_from_json(
    record: type[OriginalT], part: type[Certificate], source: Mapping[str, object] | str
) -> OriginalT:
    """Read what original_to_json wrote, as strictly as a certificate."""
    content = read_object(source)
    names = [field.name for field in fields(record)]
    _check_keys(content, {"kind", *names, *_WORDS}, where=_WHERE)
    compressed = content["compressed"]
    if not isinstance(compressed, Mapping):
        raise PactError(f"a JSON object is needed, got {type(compressed).__name__}", where="compressed")
    values: dict[str, Any] = {name: content[name] for name in names} | {"compressed": part.from_json(compressed)}
    certificate = record(**values)
    if content["kind"] != certificate.kind:
        raise PactError(f"{content['kind']!r} is not {certificate.kind!r}", where="kind")
    return certificate


def read_object(source: Mapping[str, object] | str) -> Mapping[str, object]:
    """A JSON object, parsed if it is text; no key may stand twice in it."""
    content = _parse(source) if isinstance(source, str) else source
    if not isinstance(content, Mapping):
        raise PactError(f"a JSON object is needed, got {type(content).__name__}", where=_WHERE)
    return content


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
    return [field.name for field in fields(record) if field.name not in (*_NESTED.values(), *_BASE.values())]


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
