"""How each kind of shape looks, in literal colours; a page adds those for dark screens.

Colours of Okabe and Ito: told apart by colour-blind readers, and lighter variants of them on dark ground. Blue is what
is proven of new samples, green what is proven of given ones, amber what is estimated, orange what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

FONT_SIZE = 12
FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Colour:
    light: str
    dark: str


GROUND = Colour("#ffffff", "#0f1419")
_INK = Colour("#1b1f24", "#e6edf3")
_MUTED = Colour("#57606a", "#9da7b3")
_FAINT = Colour("#9aa0a6", "#646c75")
_RULE = Colour("#d8dee4", "#30363d")
_BAND = Colour("#eef1f4", "#1c232b")
_BOUND = Colour("#0072b2", "#56b4e9")
_SPREAD = Colour("#4095c5", "#448cb5")
_STEM = Colour("#73b1d4", "#366c8b")
_TEST = Colour("#b84f00", "#f0904a")
_ESTIMATE = Colour("#7d5a00", "#e3c04f")
_DEVIATION = Colour("#00694d", "#3ecfa3")
# From the band to the blue of bounds, in even steps.
_SHADES = (
    Colour("#eef1f4", "#1c232b"),
    Colour("#bed8e7", "#284051"),
    Colour("#8fbeda", "#335d77"),
    Colour("#5fa5cc", "#3f7a9d"),
    Colour("#308bbf", "#4a97c3"),
    Colour("#0072b2", "#56b4e9"),
)


@dataclass(frozen=True, kw_only=True)
class Look:
    """Text is filled; a shape is filled, outlined or both. dash: lengths of stroke and gap, in turn."""

    fill: Colour | None = None
    stroke: Colour | None = None
    width: float = 1.0
    dash: tuple[int, ...] = ()
    bold: bool = False


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "ground": Look(fill=GROUND),
        "name": Look(fill=_INK),
        "name best": Look(fill=_INK, bold=True),
        "tick": Look(fill=_MUTED),
        "axis": Look(fill=_MUTED),
        "key": Look(fill=_MUTED),
        "grid": Look(stroke=_RULE),
        "base": Look(stroke=_MUTED),
        "band": Look(fill=_BAND),
        "band key": Look(fill=_BAND, stroke=_RULE),
        "pole": Look(stroke=_FAINT, width=0.75),
        "pole original": Look(stroke=_MUTED, width=0.75, dash=(3, 3)),
        "stem": Look(stroke=_STEM, width=1.25),
        "stem expected": Look(stroke=_RULE, width=1.25),
        "bound": Look(fill=_BOUND),
        "expected": Look(fill=GROUND, stroke=_ESTIMATE, width=1.5),
        "test": Look(fill=GROUND, stroke=_TEST, width=2),
        "test original": Look(fill=GROUND, stroke=_MUTED, width=2),
        "train": Look(stroke=_INK, width=2),
        "front": Look(stroke=_BOUND, width=1.5, dash=(6, 3)),
        "estimate": Look(fill=GROUND, stroke=_ESTIMATE, width=1.5, dash=(4, 2)),
        "tried": Look(fill=_STEM),
        "part errors": Look(fill=_INK),
        "part delta": Look(fill=_DEVIATION),
        "part bits": Look(fill=_BOUND),
        "box": Look(fill=_STEM, stroke=_BOUND),
        "box other": Look(stroke=_TEST, width=1.5),
        "paper": Look(fill=GROUND, stroke=_ESTIMATE, width=2),
        "spread": Look(fill=_SPREAD),
        "spread other": Look(stroke=_TEST, width=1.5),
        "worst": Look(stroke=_BOUND, width=2),
        "worst other": Look(stroke=_TEST, width=2, dash=(3, 2)),
        **{f"shade {letter}": Look(fill=colour) for letter, colour in zip("abcdef", _SHADES, strict=True)},
    }
)


def page_rules() -> str:
    """Rules for figures on a page. A rule of a style sheet goes before the literal colour of an element."""
    return "\n".join(
        f".pact-figure .{kind.replace(' ', '.')} {{ fill: {_variable(look.fill)}; stroke: {_variable(look.stroke)}; }}"
        for kind, look in LOOKS.items()
    )


def page_colours() -> dict[str, Colour]:
    """The colours of all kinds by the names of variables, which a page sets for light and for dark screens."""
    used = [colour for look in LOOKS.values() for colour in (look.fill, look.stroke) if colour is not None]
    return {_name(colour): colour for colour in used}


def _variable(colour: Colour | None) -> str:
    return "none" if colour is None else f"var({_name(colour)})"


def _name(colour: Colour) -> str:
    return f"--{colour.light[1:]}-{colour.dark[1:]}"
