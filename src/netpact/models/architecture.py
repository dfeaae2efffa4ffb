"""What a file says about a network's shape: a family's id, sizes, input shape, classes. Nothing here allocates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from netpact.core.checks import check_instance, check_integer
from netpact.core.errors import PactError, one_of
from netpact.models.families import FAMILIES, FAMILY_IDS, MAX_SIZES, OWN_MODULE_ID, Family
from netpact.models.plan import Linear, Plan, list_leaves

MAX_SIZE = 65_535
MAX_SIDE = 4_096
MAX_ROW = 1 << 26  # of a module of the user's own, whose several inputs are one row
MAX_OUTPUT = 64  # letters of the name of an output
MAX_CLASSES = 65_535
_FIELDS = ("id", "sizes", "input_shape", "classes")


@dataclass(frozen=True)
class Architecture:
    """Everything needed to rebuild the module; checked at construction, so that a file cannot ask for nonsense."""

    id: int
    sizes: tuple[int, ...]
    input_shape: tuple[int, ...]
    classes: int

    def __post_init__(self) -> None:
        family = _family(self.id)
        _check_numbers("sizes", self.sizes, fewest=0, most=MAX_SIZES, limit=MAX_SIZE)
        if not family.fewest_sizes <= len(self.sizes) <= family.most_sizes:
            raise PactError(
                f"{family.name} {family.meaning}, {_allowed_count(family)}; got {len(self.sizes)}", where="sizes"
            )
        _check_problem(self.input_shape, self.classes)
        self.plan()

    @property
    def family(self) -> Family:
        return FAMILIES[self.id]

    def plan(self) -> Plan:
        return self.family.plan(self.sizes, self.input_shape, self.classes)

    def __str__(self) -> str:
        """The name parse_model reads, such as mlp:64-32."""
        return self.family.name + (":" + "-".join(map(str, self.sizes)) if self.sizes else "")

    def to_json(self) -> dict[str, object]:
        sizes, input_shape = list(self.sizes), list(self.input_shape)
        return {"id": self.id, "sizes": sizes, "input_shape": input_shape, "classes": self.classes}


@dataclass(frozen=True)
class OwnModule:
    """A module that the user supplies: a file holds its tensors, never its code.

    output  which of its outputs holds the logits, where it returns several: a key, or a place as a decimal number
    """

    input_shape: tuple[int, ...]
    classes: int
    output: str = ""
    id: ClassVar[int] = OWN_MODULE_ID
    sizes: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        _check_problem(self.input_shape, self.classes, limit=MAX_ROW)
        if not isinstance(self.output, str) or not (self.output.isascii() and len(self.output) <= MAX_OUTPUT):
            raise PactError(f"must be a short text in ASCII, got {self.output!r}", where="output")

    def __str__(self) -> str:
        return "own module"


def parse_architecture(record: object) -> Architecture:
    """The inverse of Architecture.to_json, for a record from an untrusted file."""
    from netpact.core.json import check_fields  # a decoder never needs it

    told = check_fields(record, _FIELDS, where="architecture")
    sizes, input_shape = told["sizes"], told["input_shape"]
    if not isinstance(sizes, list) or not isinstance(input_shape, list):
        raise PactError("sizes and input_shape must be lists of integers", where="architecture")
    return Architecture(told["id"], tuple(sizes), tuple(input_shape), told["classes"])


def parse_model(text: str, *, input_shape: tuple[int, ...], classes: int) -> Architecture:
    """Parse "mlp", "mlp:128-64", "conv:8-16" or "linear"; default sizes are the family's.

    Names from the literature work too, such as "VGG-16" or "wrn-28-10": see netpact.models.aliases.
    """
    check_instance(text, str, where="model", needed="the name of an architecture, such as mlp:64-32")
    from netpact.models.aliases import ALIAS_HINT, expand_alias  # a decoder never needs them

    known = text if text in FAMILY_IDS else expand_alias(text) or text
    name, colon, listed = known.partition(":")
    if name not in FAMILY_IDS:
        unknown = one_of(name, FAMILY_IDS, option="model")
        hint = f"{unknown.hint} {ALIAS_HINT}" if unknown.hint else ALIAS_HINT
        raise PactError(unknown.what, where=unknown.where, hint=hint)
    family = FAMILIES[FAMILY_IDS[name]]
    if not colon:
        return Architecture(family.id, family.default_sizes, tuple(input_shape), classes)
    words = listed.split("-")
    # ASCII digits only, and few of them: int() also reads other scripts and very long numbers.
    if not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
        raise PactError(
            f"cannot read {text!r}: after the colon come integers joined by '-'; {name} {family.meaning}",
            where="model",
            hint="for example mlp:128-64",
        )
    return Architecture(family.id, tuple(int(word) for word in words), tuple(input_shape), classes)


def parameter_shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter, then of every buffer: the order in which a message holds them."""
    leaves = list(list_leaves(architecture.plan()))
    parameters = {f"{name}.{key}": shape for name, layer in leaves for key, shape in layer.shapes().items()}
    return parameters | {f"{name}.{key}": shape for name, layer in leaves for key, shape in layer.buffers().items()}


def parameter_grids(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """The same shapes, with the image spelled out where a linear layer follows a flattened one."""
    grids = {
        f"{name}.weight": layer.grid for name, layer in list_leaves(architecture.plan()) if isinstance(layer, Linear)
    }
    return parameter_shapes(architecture) | grids


def parameter_count(architecture: Architecture) -> int:
    """How many numbers there are to learn, in Python integers: safe to ask about a hostile file.

    Buffers are not counted; there are at most three for every two parameters of a batch norm.
    """
    leaves = list_leaves(architecture.plan())
    return sum(math.prod(shape) for _, layer in leaves for shape in layer.shapes().values())


def _family(number: object) -> Family:
    if isinstance(number, int) and not isinstance(number, bool) and number in FAMILIES:
        return FAMILIES[number]
    known = ", ".join(f"{family.id} ({family.name})" for family in FAMILIES.values())
    own = f"; {OWN_MODULE_ID} is reserved for your own module"
    raise PactError(f"architecture id {number!r} is not known; allowed: {known}{own}", where="architecture")


def _allowed_count(family: Family) -> str:
    if family.fewest_sizes == family.most_sizes:
        return f"so exactly {family.most_sizes} are allowed"
    return f"{family.fewest_sizes} to {family.most_sizes} of them"


def _check_problem(input_shape: object, classes: object, *, limit: int = MAX_SIDE) -> None:
    _check_numbers("input_shape", input_shape, fewest=1, most=3, limit=limit)
    check_integer(classes, where="classes", least=2, most=MAX_CLASSES)


def _check_numbers(field: str, numbers: object, *, fewest: int, most: int, limit: int) -> None:
    if not isinstance(numbers, tuple) or not fewest <= len(numbers) <= most:
        length = f", got {len(numbers)} of them" if isinstance(numbers, tuple) else f", got {numbers!r}"
        raise PactError(f"must be a tuple of {fewest} to {most} integers{length}", where=field)
    for position, number in enumerate(numbers):
        check_integer(number, where=f"{field}[{position}]", least=1, most=limit)
