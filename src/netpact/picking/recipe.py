"""PickRecipe: all that a run depends on beside the samples, and its few bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from netpact.core.checks import check_choice, check_flag, check_integer, plain
from netpact.core.errors import PactError
from netpact.layers.oriented import MAX_CELL

LEARNER_VERSION = 1  # of kernel, training and picking; what they do is what a certificate assumes to be older than data
PIXELS, ORIENTED, BASE = "pixels", "oriented", "base"
FEATURES = (PIXELS, ORIENTED, BASE)
UNIT = 1 << 12  # the similarity of a sample to itself
MOST_START = 7  # of scores that start at a base's logits

# Name, bits, least value, in the order of the message.
_COMMON = (("width", 6, 0), ("margin", 4, 0), ("steps", 3, 0))
_FIELDS = {
    PIXELS: (("bits", 3, 1), *_COMMON),
    ORIENTED: (
        ("orientations", 5, 1),
        ("inhibition", 4, 0),
        ("cell", 4, 1),
        ("stride", 4, 1),
        ("straighten", 1, 0),
        ("mirror", 1, 0),
        *_COMMON,
    ),
    BASE: (("layer", 3, 1), ("start", 3, 0), ("width", 6, 0), ("margin", 3, 0), ("steps", 3, 0)),
}
_VERSION_BITS = 3
_KINDS = {0: (PIXELS, ORIENTED), 1: (BASE,)}  # of features, by the version that has them
_MANTISSA_BITS, _EXPONENT_BITS = 6, {PIXELS: 5, ORIENTED: 5, BASE: 4}  # of most


@dataclass(frozen=True, kw_only=True)
class PickRecipe:
    """A fixed, deterministic way from samples to a classifier, in integers: the same on every machine.

    features  pixels: each input between 0 and 1 as an integer of so many `bits`. oriented: the stem of oriented edges
              (netpact.layers.OrientedEdges) with its orientations, inhibition, cell, stride, straighten, mirror.
              base: what the `layer`-th last layer of an integer network from other data reads, as that layer rounds it
    start     with a base of the same classes: scores start at its logits, times 2^(start + 3) and divided by the power
              of two above the largest possible one, in units of a sample's similarity to itself. 0: scores start at 0
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
    layer: int = 1
    start: int = 0
    width: int = 20
    margin: int = 4
    steps: int = 4
    most: int = 0

    def __post_init__(self) -> None:
        check_choice(self.features, FEATURES, where="features")
        for name in ("straighten", "mirror"):
            check_flag(getattr(self, name), where=name)
        for name, bits, least in _FIELDS[self.features]:
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
            check_integer(self.cell, where="cell", least=1, most=MAX_CELL)
            check_integer(self.stride, where="stride", least=1, most=self.cell)
        # What the features do not use is not in the message: two recipes are equal if their bytes are.
        for entry in fields(self):
            if entry.name not in _used(self.features):
                object.__setattr__(self, entry.name, entry.default)

    @property
    def halving_distance(self) -> int:
        """floor(2^(width / 2))"""
        return math.isqrt(1 << self.width)

    @property
    def least_margin(self) -> int:
        return (UNIT << self.margin) >> 2

    def to_bytes(self) -> bytes:
        """One integer of fixed fields, padded with zero bits to whole bytes."""
        version, kinds = next((version, kinds) for version, kinds in _KINDS.items() if self.features in kinds)
        parts = [(version, _VERSION_BITS), (kinds.index(self.features), len(kinds) - 1)]
        parts += [(int(getattr(self, name)) - least, bits) for name, bits, least in _FIELDS[self.features]]
        parts += [(int(bool(self.most)), 1)]
        if self.most:
            shift = max(0, self.most.bit_length() - _MANTISSA_BITS)
            mantissa = self.most if not shift else (self.most >> shift - 1) - (1 << _MANTISSA_BITS)
            parts += [(mantissa, _MANTISSA_BITS), (shift, _EXPONENT_BITS[self.features])]
        value = total = 0
        for part, bits in parts:
            value, total = value << bits | part, total + bits
        length = -(-total // 8)
        return (value << (8 * length - total)).to_bytes(length, "big")

    @classmethod
    def from_bytes(cls, message: bytes) -> PickRecipe:
        """The recipe of a message; only what to_bytes writes is accepted."""
        reader = _Reader(message)
        version = reader.take(_VERSION_BITS)
        if version > LEARNER_VERSION:
            raise PactError(
                f"recipe of learner version {version}; this netpact knows versions 0 to {LEARNER_VERSION}",
                where="recipe",
                hint="a newer netpact may know it",
            )
        features = _KINDS[version][reader.take(len(_KINDS[version]) - 1)]
        values = {name: reader.take(bits) + least for name, bits, least in _FIELDS[features]}
        most = 0
        if reader.take(1):
            mantissa, shift = reader.take(_MANTISSA_BITS), reader.take(_EXPONENT_BITS[features])
            most = mantissa if not shift else (1 << _MANTISSA_BITS) + mantissa << shift - 1
        found = cls(
            features=features,
            **{name: bool(value) if name in ("straighten", "mirror") else value for name, value in values.items()},  # type: ignore[arg-type]
            most=most,
        )
        if found.to_bytes() != message:
            raise PactError("not the bytes of a recipe: something follows, or is padded", where="recipe")
        return found

    def at_most(self, count: int) -> PickRecipe:
        """The same recipe that stops when about so many are picked."""
        return replace(self, most=allowed_most(count, self.features))

    def __str__(self) -> str:
        own = {name: int(getattr(self, name)) for name, _, _ in _FIELDS[self.features]}
        told = {**own, **({"most": self.most} if self.most else {})}
        return f"{self.features}, " + ", ".join(f"{name} {value}" for name, value in told.items())


def allowed_most(count: int, features: str = PIXELS) -> int:
    """The largest allowed number that is not above the count."""
    shift = max(0, count.bit_length() - _MANTISSA_BITS - 1)
    largest = (2 << _MANTISSA_BITS) - 1 << (1 << _EXPONENT_BITS[features]) - 2
    return min(count >> shift << shift, largest)


def _used(features: str) -> set[str]:
    return {"features", "most", *(name for name, _, _ in _FIELDS[features])}


class _Reader:
    def __init__(self, message: bytes) -> None:
        if not isinstance(message, bytes) or not 1 <= len(message) <= 16:
            raise PactError("a recipe has 1 to 16 bytes", where="recipe")
        self._value, self._left = int.from_bytes(message, "big"), 8 * len(message)

    def take(self, bits: int) -> int:
        self._left -= bits
        if self._left < 0:
            raise PactError("the recipe ends in the middle of a number", where="recipe", hint="copy the file again")
        return self._value >> self._left & ((1 << bits) - 1)
