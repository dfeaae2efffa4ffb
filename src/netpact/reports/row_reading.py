"""Rows out of JSON that somebody gave us: every field is checked, and nothing in them counts as verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from netpact.certificates import risk_bound
from netpact.core.checks import check_flag, check_instance
from netpact.core.errors import PactError
from netpact.core.json import check_fields, check_object
from netpact.reports.rows import Row

_TEXTS = ("name", "method", "setting", "file", "message_sha256", "sentence", "data_name", "data_fingerprint")
_NEEDED = tuple(one.name for one in fields(Row) if one.default is MISSING and one.default_factory is MISSING)
_LONGEST = 1000


def read_row(record: object, *, where: str) -> Row:
    """One row. What it says of its own verification is forgotten, unless that was refused.

    A bound below what its own errors, samples, bits and delta give is refused. Where the row does not say what the
    bound was computed from, it is no bound that could be checked, and is left out.
    """
    content = check_fields(
        record, _NEEDED, where=where, optional=[one.name for one in fields(Row) if one.name not in _NEEDED]
    )
    for name in _TEXTS:
        value = content.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > _LONGEST):
            raise PactError(f"{name} must be a text of at most {_LONGEST} characters", where=where)
    if not content["name"]:
        raise PactError("a row needs a name", where=where)
    estimates = check_object(content.get("estimates", {}), where=f"{where}, estimates")
    refused = content.get("agreed") is False
    plain: dict[str, Any] = {
        **content,
        "estimates": dict(estimates),
        "as_run": check_flag(content.get("as_run", False), where=f"{where}, as_run"),
        "agreed": False if refused and content.get("bound") is not None else None,
        "sentence": "",
    }
    for name in _TEXTS:
        if plain.get(name) is None and name != "file":
            plain[name] = ""
    return _with_checked_bound(Row(**plain), where)


def _with_checked_bound(row: Row, where: str) -> Row:
    if row.bound is None:
        return row
    errors = row.errors
    if errors is None or row.samples is None or row.delta is None or row.code_bits is None:
        return replace(row, bound=None, agreed=None)
    if errors / row.samples != row.train_error:
        raise PactError(f"the train error is no share of {row.samples:,} samples", where=where)
    least = risk_bound(errors=errors, samples=row.samples, code_bits=row.code_bits, delta=row.delta)
    # The last digits of the tail inversion may differ between versions of the libraries.
    if row.bound < least - 1e-9:
        raise PactError(f"states a bound of {row.bound:.6g}; its own numbers give {least:.6g}", where=where)
    return row


def read_rows(records: object, *, where: str) -> list[Row]:
    listed: list[Any] = check_instance(records, list, where=where)
    return [read_row(record, where=f"{where}, row {place}") for place, record in enumerate(listed, 1)]


def looks_like_rows(content: object) -> bool:
    """Whether a JSON value can only be meant as rows: the list itself, or a record with one."""
    records = content.get("rows") if isinstance(content, Mapping) else content
    return (
        isinstance(records, list)
        and bool(records)
        and all(isinstance(one, Mapping) and "message_bytes" in one and "method" in one for one in records)
    )
