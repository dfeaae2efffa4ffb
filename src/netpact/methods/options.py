"""Methods by name, with options given as text: what the command line hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from netpact.core.errors import PactError, one_of
from netpact.methods.head_on_base import HeadOnBase
from netpact.methods.method import Method
from netpact.methods.quantize import Quantize
from netpact.methods.random_projection import RandomProjection
from netpact.methods.rate_aware import RateAware
from netpact.methods.relative import QuantizeDifference
from netpact.methods.ternary_search import TernarySearch
from netpact.methods.truncated_svd import TruncatedSVD
from netpact.methods.vector_compress import VectorCompress
from netpact.methods.vector_project import VectorProject
from netpact.pacts.priors import Base

METHODS: dict[str, type[Any]] = {
    method.name: method
    for method in (
        *(Quantize, TernarySearch, RateAware, QuantizeDifference, HeadOnBase, RandomProjection),
        *(TruncatedSVD, VectorCompress, VectorProject),
    )
}

_BASE = "base"  # the one option that is a network, and does not come as text
_WORDS = {"true": True, "false": False, "yes": True, "no": False}


def make_method(name: str, options: Mapping[str, str], *, base: Base | None = None) -> Method:
    """make_method("quantize", {"bits": "3"}) is Quantize(bits=3); unknown names and options are refused with a list.

    base  the base network, for the methods that tell a network relative to one
    """
    if name not in METHODS:
        raise one_of(name, METHODS, option="method")
    _check_base(name, base)
    allowed = [option for option in _options(name) if option != _BASE]
    for option in options:
        if option not in allowed:
            raise one_of(option, allowed, option=f"option of {name}")
    chosen: dict[str, object] = {option: _parse(text) for option, text in options.items()}
    method: Method = METHODS[name](**chosen if base is None else {**chosen, _BASE: base})
    return method


def _check_base(name: str, base: Base | None) -> None:
    relative = [known for known in METHODS if _BASE in _options(known)]
    if base is None and name in relative:
        raise PactError(
            f"{name} tells a network relative to a base network, and there is none",
            where=_BASE,
            hint="give it with --base FILE on the command line, base=open_base(path) in Python",
        )
    if base is not None and name not in relative:
        raise PactError(f"{name} has no base network; methods that have one: {', '.join(relative)}", where=_BASE)


def _options(name: str) -> list[str]:
    return [field.name for field in fields(METHODS[name])]


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
