"""Parts of statements that are written as JSON objects of their own: one key for each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, ClassVar

from netpact.core.json import check_fields

if TYPE_CHECKING:
    from typing_extensions import Self


class Part:
    """A subclass is a frozen dataclass that checks its fields; `where` is what errors call it."""

    where: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        return asdict(self)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, source: Mapping[str, object]) -> Self:
        return cls(**check_fields(source, [entry.name for entry in fields(cls)], where=cls.where))  # type: ignore[arg-type]
