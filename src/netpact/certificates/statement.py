"""What all certificates have in common: words about them, and JSON there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from netpact.certificates.json_form import Layout, statement_from_json, statement_to_json
from netpact.core.display import Displayed
from netpact.core.percent import percent_up

if TYPE_CHECKING:
    from typing_extensions import Self

KIND, KIND_AS_RUN = "certificate", "certificate as run"
_FIRST = ("bound", "data_name", "original_name", "delta", "message_bytes", "samples")  # what one line should show


class Statement(Displayed):
    """A proven statement. A subclass is a frozen dataclass that names its layout in JSON and the module of its words.

    counted  the field that holds what was counted on the samples, and that a verifier counts again
    """

    layout: ClassVar[Layout]
    words: ClassVar[ModuleType]
    counted: ClassVar[str]
    bound: float
    delta: float

    @property
    def as_run(self) -> bool:
        """Whether it is about what one program computes, and not about every run in a precision."""
        return False

    @property
    def is_vacuous(self) -> bool:
        """Whether nothing is proven: a rate is never above 1. For an error rate, also where guessing does as well."""
        return self.bound >= 1

    @property
    def kind(self) -> str:
        return KIND_AS_RUN if self.as_run else KIND

    @property
    def theorem(self) -> str:
        said: str = self.words.theorem(self)
        return said

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The premises of the theorem."""
        said: tuple[str, ...] = self.words.assumptions(self)
        return said

    @property
    def declarations(self) -> tuple[str, ...]:
        """What rests on the word of whoever made the certificate: the program cannot check it."""
        said: tuple[str, ...] = self.words.declarations(self)
        return said

    def display_facts(self) -> dict[str, object]:
        """The bound first; bounds are rounded up."""
        row = self.display_rows()[0]
        after = " as run" if self.as_run else ""
        row |= {name: percent_up(value) + after for name, value in row.items() if name.endswith("bound")}  # type: ignore[arg-type]
        return {**{name: row[name] for name in (*_FIRST, self.counted) if name in row}, **row}

    def display_rows(self) -> list[dict[str, object]]:
        """One row: every field that is a number or a text."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        return [{name: value for name, value in values.items() if isinstance(value, (int, float, str))}]

    def sentence(self) -> str:
        """The whole statement in plain words."""
        said: str = self.words.sentence(self)
        return said

    def display_caption(self) -> str:
        return self.sentence()

    def display_text(self) -> str:
        return self.sentence()

    def to_json(self) -> dict[str, object]:
        """All fields and everything derived from them, ready for json.dumps."""
        return statement_to_json(self)

    @classmethod
    def from_json(cls, source: Mapping[str, object] | str) -> Self:
        """The certificate that to_json wrote; anything unknown, missing, ill-typed or contradictory is refused."""
        return statement_from_json(cls, source)
