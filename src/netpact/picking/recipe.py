"""PickRecipe: all that a run depends on beside the samples (and a base), and its few bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from netpact.core.checks import check_choice, check_flag, check_instance, check_integer, plain
from netpact.core.errors import PactError
from netpact.layers import oriented, sobel_edges
from netpact.layers.sobel_edges import SobelOptions
from netpact.picking.recipe_bytes import (
    BASE,
    FEATURES,
    FIELDS,
    FONT_STEM,
    LOWEST,
    ORDERS,
    ORIENTED,
    PIXELS,
    SOBEL,
    allowed_most,
    read_recipe,
    write_recipe,
)

UNIT = 1 << 12  # the similarity of a sample to itself
MOST_START = 7  # of scores that start at a base's logits
_FLAGS = ("straighten", "mirror")


@dataclass(frozen=True, kw_only=True)
class PickRecipe:
    """A fixed, deterministic way from samples to a classifier, in integers: the same on every machine.

    features  pixels: each input between 0 and 1 as an integer of so many `bits`. oriented: the stem of oriented edges
              (netpact.layers.OrientedEdges) with its orientations, inhibition, cell, stride, straighten, mirror.
              sobel: the stem of Sobel edges (netpact.layers.SobelEdges) with the options of `stem`; the default one
              costs a bit, another one 22.
              base: what the `layer`-th last layer of an integer network from other data reads, as that layer rounds it
    start     for sobel and base, with a base of the same classes: scores start at its logits, times 2^(start + 3) and
              divided by the power of two above the largest possible one, in units of a sample's similarity to itself.
              0: scores start at 0, and sobel needs no base
    order     which wrong sample is picked next. lowest: the one with the lowest margin. hash: the first one by the hash
              of the sample, which serves where many samples stay wrong
    width     similarity halves at a squared distance of 2^(width / 2), rounded down
    margin    training goes on while a picked sample's margin is below 2^(margin - 2) times the similarity to itself
    steps     at most 2^steps training steps for each picked sample
    most      stop when so many are picked: below 64, or 64 to 127 times a power of two; 0: until all others are right
    """

    features: str = PIXELS
    bits: int = 4
    orientations: int = 8
    inhibition: int = 3
    cell: int = 6
    stride: int = 3
    straighten: bool = False
    mirror: bool = False
    stem: SobelOptions = FONT_STEM
    layer: int = 1
    start: int = 0
    order: str = LOWEST
    width: int = 20
    margin: int = 4
    steps: int = 4
    most: int = 0

    def __post_init__(self) -> None:
        check_choice(self.features, FEATURES, where="features")
        check_choice(self.order, ORDERS, where="order")
        for name in _FLAGS:
            check_flag(getattr(self, name), where=name)
        for name, bits, least in FIELDS[self.features]:
            if bits > 1:
                value = check_integer(plain(getattr(self, name)), where=name, least=least, most=least + (1 << bits) - 1)
                object.__setattr__(self, name, value)
        object.__setattr__(self, "most", check_integer(plain(self.most), where="most", least=0, most=1 << 36))
        allowed = allowed_most(self.most, self.features)
        if self.most != allowed:
            raise PactError(
                f"must be below 64, or 64 to 127 times a power of two, got {self.most}",
                where="most",
                hint=f"{allowed} is allowed",
            )
        if self.features == ORIENTED:  # beyond these its integers are not exact
            check_integer(self.cell, where="cell", least=1, most=oriented.MAX_CELL)
            check_integer(self.stride, where="stride", least=1, most=self.cell)
        if self.features == SOBEL:
            _check_stem(self.stem)
        # What the features do not use is not in the message: two recipes are equal if their bytes are.
        for entry in fields(self):
            if entry.name not in _used(self.features):
                object.__setattr__(self, entry.name, entry.default)

    @property
    def needs_base(self) -> bool:
        return self.features == BASE or self.start > 0

    @property
    def halving_distance(self) -> int:
        """floor(2^(width / 2))"""
        return math.isqrt(1 << self.width)

    @property
    def least_margin(self) -> int:
        return (UNIT << self.margin) >> 2

    def to_bytes(self) -> bytes:
        return write_recipe(self.features, self.order, self._numbers(), self.stem, self.most)

    @classmethod
    def from_bytes(cls, message: bytes) -> PickRecipe:
        """The recipe of a message; only what to_bytes writes is accepted."""
        features, order, numbers, stem, most = read_recipe(message)
        values = {name: bool(value) if name in _FLAGS else value for name, value in numbers.items()}
        found = cls(features=features, order=order, stem=stem, most=most, **values)  # type: ignore[arg-type]
        if found.to_bytes() != message:
            raise PactError("not the bytes of a recipe: something follows, or is padded", where="recipe")
        return found

    def at_most(self, count: int) -> PickRecipe:
        """The same recipe that stops when about so many are picked."""
        return replace(self, most=allowed_most(count, self.features))

    def __str__(self) -> str:
        stem = {one.name: int(getattr(self.stem, one.name)) for one in fields(self.stem)}
        told = {**(stem if self.features == SOBEL else {}), **self._numbers()}
        told |= {"most": self.most} if self.most else {}
        kind = self.features if self.order == LOWEST else f"{self.features}, order {self.order}"
        return f"{kind}, " + ", ".join(f"{name} {value}" for name, value in told.items())

    def _numbers(self) -> dict[str, int]:
        return {name: int(getattr(self, name)) for name, _, _ in FIELDS[self.features]}


def _check_stem(stem: SobelOptions) -> None:
    """Beyond these limits the stem's integers are not exact."""
    check_instance(stem, SobelOptions, where="stem", hint="SobelOptions(orientations=8, inhibition=5, ...)")
    most = sobel_edges.MAX_INHIBITION // check_integer(
        stem.orientations, where="stem.orientations", least=2, most=sobel_edges.MAX_ORIENTATIONS
    )
    check_integer(stem.inhibition, where="stem.inhibition", least=1, most=min(16, most))
    check_integer(stem.cell, where="stem.cell", least=1, most=sobel_edges.MAX_CELL)
    check_integer(stem.stride, where="stem.stride", least=1, most=stem.cell)
    check_integer(stem.roots, where="stem.roots", least=1, most=sobel_edges.MAX_ROOTS)
    for name in ("straighten", "resize", "mirror"):
        check_flag(getattr(stem, name), where=f"stem.{name}")


def _used(features: str) -> set[str]:
    return {
        "features",
        "order",
        "most",
        *(["stem"] if features == SOBEL else []),
        *(name for name, _, _ in FIELDS[features]),
    }
