"""A command from records: a parameter whose type is a frozen dataclass becomes one option for each of its fields.

A field is described by `option`; in a record of the library by metadata={"help": ..., "metavar": ...}, the keywords of
typer.Option; or, where several commands share it, by Annotated[type, typer.Option(...)]. tuple[T, ...] is an option
that may be repeated. A record's PANEL is the heading of its options in --help.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

Result = TypeVar("Result")


def option(
    default: Any,
    metavar: str | None,
    text: str,
    *,
    name: str = "",
    least: float | None = None,
    most: float | None = None,
    shown: bool | str = True,
    complete: Callable[[str], list[str]] | None = None,
) -> Any:
    """A field of a record: its default (MISSING if it is required), and how --help shows it.

    name   if it is not the field's
    shown  what to show as the default, where the value does not say it
    complete  names that begin with what was typed, for shell completion
    """
    keywords: dict[str, Any] = {
        "metavar": metavar,
        "help": text,
        "min": least,
        "max": most,
        "show_default": shown,
    }
    if complete is not None:
        keywords["autocompletion"] = complete
    return field(default=default, metadata={**keywords, **({"option": name} if name else {})})


def command(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function as typer calls it, with the fields of its records as parameters of their own."""
    hints = get_type_hints(function, include_extras=True)
    records = {name: hint for name, hint in hints.items() if name != "return" and is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in records:
            parameters += options_of(records[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(function)
    def run(**given: Any) -> Result:
        made = {name: _make(record, given) for name, record in records.items()}
        return function(**{name: given[name] for name in hints if name in given}, **made)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def options_of(record: Any) -> list[Parameter]:
    """One keyword parameter for each field, annotated as typer wants it."""
    hints = get_type_hints(record, include_extras=True)
    panel = getattr(record, "PANEL", None)
    return [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=_default(one),
            annotation=_annotate(hints[one.name], one, panel),
        )
        for one in fields(record)
    ]


def _annotate(hint: Any, one: Field[Any], panel: str | None) -> Any:
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    found = [copy(mark) for mark in marks if isinstance(mark, ParameterInfo)]
    keywords = {**one.metadata}
    name = keywords.pop("option", f"--{one.name.replace('_', '-')}")
    shown = found[0] if found else typer.Option(name, **keywords)
    shown.rich_help_panel = shown.rich_help_panel or panel
    return Annotated[list[get_args(kind)[0]] if _is_repeated(kind) else kind, shown]  # type: ignore[misc]


def _default(one: Field[Any]) -> Any:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return Parameter.empty if one.default is MISSING else one.default


def _is_repeated(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _make(record: Any, given: dict[str, Any]) -> Any:
    values = {one.name: given.pop(one.name) for one in fields(record)}
    return record(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
