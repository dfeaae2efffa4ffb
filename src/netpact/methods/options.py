"""Methods by name, with options given as text: what the command line hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypedDict

from netpact.core.errors import PactError, one_of
from netpact.methods.method import METHODS, Method
from netpact.pacts.priors import Base

_BASE = "base"  # the one option that is a network, and does not come as text
_WORDS = {"true": True, "false": False, "yes": True, "no": False}


def make_method(name: str, options: Mapping[str, str], *, base: Base | None = None) -> Method:
    """make_method("quantize", {"bits": "3"}) is Quantize(bits=3); unknown names and options are refused with a list.

    base  the base network, for the methods that encode a network against one
    """
    method: Any = METHODS.look_up(name)
    _check_base(name, base)
    allowed = [option for option in _options(name) if option != _BASE]
    for option in options:
        if option not in allowed:
            raise one_of(option, allowed, option=f"option of {name}")
    chosen: dict[str, object] = {option: _parse(text) for option, text in options.items()}
    made: Method = method(**chosen if base is None else {**chosen, _BASE: base})
    return made


class MethodRow(TypedDict):
    method: str
    does: str
    options: dict[str, object]
    needs_base: bool


def describe_methods() -> list[MethodRow]:
    """Every method with its options and their defaults, by name."""
    return [
        MethodRow(
            method=name,
            does=(METHODS[name].__doc__ or "").strip().split("\n")[0],
            options={
                one.name: None if one.default is MISSING else one.default for one in _fields(name) if one.name != _BASE
            },
            needs_base=_BASE in _options(name),
        )
        for name in sorted(METHODS)
    ]


def _check_base(name: str, base: Base | None) -> None:
    relative = [known for known in METHODS if _BASE in _options(known)]
    if base is None and name in relative:
        raise PactError(
            f"{name} encodes a network against a base network, and there is none",
            where=_BASE,
            hint="give it with --base FILE on the command line, base=open_base(path) in Python",
        )
    if base is not None and name not in relative:
        raise PactError(f"{name} has no base network; methods that have one: {', '.join(relative)}", where=_BASE)


def _options(name: str) -> list[str]:
    return [field.name for field in _fields(name)]


def _fields(name: str) -> tuple[Field[Any], ...]:
    """A method is a frozen dataclass, which its Protocol cannot say."""
    return fields(METHODS[name])  # type: ignore[arg-type]


def parse_settings(settings: list[str]) -> dict[str, str]:
    """["bits=3", "grid=ternary"] as a mapping."""
    parsed: dict[str, str] = {}
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals or not option or not value:
            raise PactError(f"{setting!r} is not of the form option=value", where="--set", hint="for example bits=3")
        if option in parsed:
            raise PactError(f"{option} is given twice", where="--set")
        parsed[option] = value
    return parsed


def _parse(text: str) -> bool | int | float | str:
    """Text as the plainest thing it can be; the method itself decides whether that is allowed."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
