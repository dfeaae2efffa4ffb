"""The bytes of a recipe: a version, the kind of features, fields of fixed width, and where to stop.

What a version can say never changes. A recipe is written in the one version that has its features and its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from netpact.core.errors import PactError
from netpact.layers.sobel_edges import SobelOptions

LEARNER_VERSION = 3  # of kernel, training and picking; what they do is what a certificate assumes to be older than data
PIXELS, ORIENTED, BASE, SOBEL = "pixels", "oriented", "base", "sobel"
FEATURES = (PIXELS, ORIENTED, BASE, SOBEL)
LOWEST, HASH = "lowest", "hash"
ORDERS = (LOWEST, HASH)
# Chosen on digits drawn by fonts (docs/search.md). A recipe says in one bit that its stem is this one.
FONT_STEM = SobelOptions(
    orientations=8, inhibition=5, cell=8, stride=4, roots=1, straighten=True, resize=True, mirror=False
)

Fields = tuple[tuple[str, int, int], ...]  # name, bits, least value; in the order of the message
_COMMON: Fields = (("width", 6, 0), ("margin", 4, 0), ("steps", 3, 0))
_WITH_BASE: Fields = (("start", 3, 0), ("width", 6, 0), ("margin", 3, 0), ("steps", 3, 0))
FIELDS: dict[str, Fields] = {
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
    BASE: (("layer", 3, 1), *_WITH_BASE),
    SOBEL: _WITH_BASE,
}
STEM_FIELDS: Fields = (
    ("orientations", 5, 2),
    ("inhibition", 4, 1),
    ("cell", 4, 1),
    ("stride", 4, 1),
    ("roots", 1, 1),
    ("straighten", 1, 0),
    ("resize", 1, 0),
    ("mirror", 1, 0),
)
_FLAGS = {one.name for one in fields(FONT_STEM) if isinstance(getattr(FONT_STEM, one.name), bool)}
_VERSION_BITS = 3
# Of features, by the version that has them. The last one picks in the order of hashes, all others the lowest margin.
_KINDS = {0: (PIXELS, ORIENTED), 1: (BASE,), 2: (SOBEL,), 3: (SOBEL, PIXELS, ORIENTED, BASE)}
_HASH_VERSION = 3
_MANTISSA_BITS, _EXPONENT_BITS = 6, {PIXELS: 5, ORIENTED: 5, BASE: 4, SOBEL: 4}  # of most


def write_recipe(features: str, order: str, values: Mapping[str, int], stem: SobelOptions, most: int) -> bytes:
    """One integer of fixed fields, padded with zero bits to whole bytes."""
    version = next(version for version, kinds in _KINDS.items() if features in kinds and _order_of(version) == order)
    parts = [(version, _VERSION_BITS), (_KINDS[version].index(features), _kind_bits(version))]
    if features == SOBEL:
        parts += [(int(stem != FONT_STEM), 1)]
        if stem != FONT_STEM:
            parts += [(int(getattr(stem, name)) - least, bits) for name, bits, least in STEM_FIELDS]
    parts += [(values[name] - least, bits) for name, bits, least in FIELDS[features]]
    parts += [(int(bool(most)), 1)]
    if most:
        shift = max(0, most.bit_length() - _MANTISSA_BITS)
        mantissa = most if not shift else (most >> shift - 1) - (1 << _MANTISSA_BITS)
        parts += [(mantissa, _MANTISSA_BITS), (shift, _EXPONENT_BITS[features])]
    value = total = 0
    for part, bits in parts:
        value, total = value << bits | part, total + bits
    length = -(-total // 8)
    return (value << (8 * length - total)).to_bytes(length, "big")


def _order_of(version: int) -> str:
    return HASH if version == _HASH_VERSION else LOWEST


def _kind_bits(version: int) -> int:
    return (len(_KINDS[version]) - 1).bit_length()


def read_recipe(message: bytes) -> tuple[str, str, dict[str, int], SobelOptions, int]:
    """What write_recipe was given. Padding, and whether the values are possible, are left to the caller."""
    reader = _Reader(message)
    version = reader.take(_VERSION_BITS)
    if version > LEARNER_VERSION:
        raise PactError(
            f"recipe of learner version {version}; this netpact knows versions 0 to {LEARNER_VERSION}",
            where="recipe",
            hint="a newer netpact may know it",
        )
    features, stem = _KINDS[version][reader.take(_kind_bits(version))], FONT_STEM
    if features == SOBEL and reader.take(1):
        told = {name: reader.take(bits) + least for name, bits, least in STEM_FIELDS}
        stem = replace(stem, **{name: bool(value) if name in _FLAGS else value for name, value in told.items()})  # type: ignore[arg-type]
    values = {name: reader.take(bits) + least for name, bits, least in FIELDS[features]}
    most = 0
    if reader.take(1):
        mantissa, shift = reader.take(_MANTISSA_BITS), reader.take(_EXPONENT_BITS[features])
        most = mantissa if not shift else (1 << _MANTISSA_BITS) + mantissa << shift - 1
    return features, _order_of(version), values, stem, most


def allowed_most(count: int, features: str = PIXELS) -> int:
    """The largest allowed number that is not above the count."""
    shift = max(0, count.bit_length() - _MANTISSA_BITS - 1)
    largest = (2 << _MANTISSA_BITS) - 1 << (1 << _EXPONENT_BITS[features]) - 2
    return min(count >> shift << shift, largest)


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
