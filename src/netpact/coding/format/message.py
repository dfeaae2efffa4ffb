"""The message: everything that the decoder reads, described once for writing, reading and measuring."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from netpact.coding import Budget, Coder, Contexts, Decoder, Encoder, code_choice, code_flag, code_uint
from netpact.coding.format.compressed import ARITHMETICS, PRECISIONS, Compressed, is_relative
from netpact.coding.format.layout import Slot, find_slots, plan_slots
from netpact.coding.format.placing import MESSAGE, placed
from netpact.coding.format.versions import (
    ARITHMETICS_VERSION,
    COMMON_PROBLEMS,
    DECODER_VERSION,
    OUTPUTS_VERSION,
    REWRITES_VERSION,
    lowest_version,
    refuse_newer,
)
from netpact.coding.forms import (  # noqa: F401 - grids are in nearly every file
    CodedTensor,
    Form,
    Symbols,
    code_form,
    grids,
    is_one_to_one,
)
from netpact.coding.transcript import Transcript
from netpact.core.errors import PactError
from netpact.core.limits import MAX_PARAMETERS, Limits
from netpact.models import OWN_MODULE_ID, Architecture, OwnModule
from netpact.models.architecture import MAX_OUTPUT

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Split
    from netpact.layers.rewrites import Step

DEFAULT_MAX_PARAMETERS = MAX_PARAMETERS
_MOST_SIZES = 64
_PERCENT_BITS = 7
_LETTER_BITS = 7
# Of every tensor beside its entries; of every symbol that was read; of every weight in the module, where a change of
# the precision has both at once.
_TENSOR_STEPS = 100_000
_SYMBOL_BYTES = 8
_MODULE_BYTES = {"float32": 4, "float64": 12}


class Header(NamedTuple):
    """version  of the decoder: the lowest one that has all that the message uses"""

    version: int
    architecture: Architecture | OwnModule
    arithmetic: str
    rewrites: tuple[Step, ...] = ()


SlotsOf = Callable[[Header], tuple[Slot, ...]]
Note = Callable[[str], None]


def encode_message(compressed: Compressed) -> bytes:
    encoder = Encoder()
    _code(encoder, compressed, _own_slots(compressed), _silent)
    return encoder.to_bytes()


def decode_message(
    message: bytes, module: nn.Module | None = None, *, max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS
) -> Compressed:
    """Read an untrusted message. Only what `encode_message` writes is accepted, so trailing bytes are refused.

    max_parameters  of the network; or Limits, which also hold what the decoding and the weights may cost. What a tensor
                    asks for is added up and refused before it is decoded
    """
    limits = Limits.of(max_parameters)

    def slots(header: Header) -> tuple[Slot, ...]:
        return find_slots(header.architecture, header.rewrites, module, max_parameters=limits.max_parameters)

    decoder, again = Decoder(message, Budget(limits, message_bytes=len(message))), Transcript()
    compressed = _code(decoder, None, slots, _silent)
    # The network is described again: if that makes the decisions that were read, its message is what they give.
    _code(again, compressed, _own_slots(compressed), _silent)
    if again.digest() != decoder.transcript.digest() or not decoder.is_shortest():
        raise PactError(
            "these bytes are not the message of the network they decode to",
            where="message",
            hint="the file was changed, has trailing bytes, or is opened with another module than it was made from",
        )
    return compressed


def peek_header(message: bytes) -> Header:
    """The first few bytes, without decoding the tensors."""
    with placed(MESSAGE):
        return _code_header(Decoder(message), None, _silent)


def measure_message(compressed: Compressed) -> list[tuple[str, float]]:
    """What each field of the message costs, in bits (ideal length: the file adds at most a byte and 0.2 %)."""
    from netpact.coding import Meter

    meter = Meter()
    ledger: list[tuple[str, float]] = []
    seen = 0.0

    def note(field: str) -> None:
        nonlocal seen
        ledger.append((field, meter.total - seen))
        seen = meter.total

    _code(meter, compressed, _own_slots(compressed), note)
    return ledger


def _own_slots(compressed: Compressed) -> SlotsOf:
    slots = tuple(Slot(name, tensor.shape, tensor.shape) for name, tensor in compressed.tensors.items())
    architecture = compressed.architecture
    # The decoder knows order and shapes from the architecture alone: others would come back as another network.
    if isinstance(architecture, Architecture):
        planned = plan_slots(architecture, compressed.rewrites)
        if _names_and_shapes(slots) != _names_and_shapes(planned):
            raise PactError(
                f"the tensors of {architecture} are, in this order: {_names_and_shapes(planned)}; "
                f"got {_names_and_shapes(slots)}",
                where="tensors",
            )
        slots = planned
    return lambda _: slots


def _names_and_shapes(slots: tuple[Slot, ...]) -> str:
    return ", ".join(f"{slot.name} {slot.shape}" for slot in slots)


def _silent(field: str) -> None:
    pass


def _code(coder: Coder, known: Compressed | None, slots_of: SlotsOf, note: Note) -> Compressed:
    with placed(MESSAGE):
        header = _code_header(coder, known, note)
        slots = slots_of(header)
    tensors: dict[str, CodedTensor] = {}
    forms = _FormBook()
    module_bytes = _MODULE_BYTES[PRECISIONS[header.arithmetic]] * sum(math.prod(slot.shape) for slot in slots)
    largest = 0
    for slot in slots:
        tensor = None if known is None else known.tensors[slot.name]
        with placed(f"{MESSAGE}, tensor {slot.name}"):
            form, contexts = forms.code(coder, None if tensor is None else tensor.form)
            note(f"{slot.name}: form")
            effort = form.effort(slot.grid)
            largest = max(largest, effort.memory)
            coder.charge(work=_TENSOR_STEPS + effort.work, kept=_SYMBOL_BYTES * form.symbol_count(slot.grid))
            # The module is made when the message has been read: one tensor after the other, beside all symbols.
            coder.charge(memory=module_bytes + largest)
            symbols = _code_symbols(coder, form, None if tensor is None else tensor.symbols, slot.grid, contexts)
            note(f"{slot.name}: {len(symbols):,} symbols")
            tensors[slot.name] = CodedTensor(form, symbols, slot.shape)
    method = known.method if known else ""
    compressed = Compressed(header.architecture, tensors, header.arithmetic, method, rewrites=header.rewrites)
    refuse_newer(header.version, _version(compressed))
    if not is_relative(compressed):
        return compressed
    with placed(MESSAGE):
        split = _code_split(coder, known)
    note("part of the sample that the base has seen")
    return replace(compressed, split=split)


def _code_symbols(
    coder: Coder, form: Form, known: Symbols | None, grid: tuple[int, ...], contexts: Contexts
) -> Symbols:
    """Where symbols tell which decisions were read, the second walk over a message has nothing to compare."""
    if isinstance(coder, Transcript) and known is not None and is_one_to_one(form):
        return known
    with coder.unnoted() if isinstance(coder, Decoder) and is_one_to_one(form) else nullcontext():
        return form.code_symbols(coder, known, grid, contexts)


def _code_split(coder: Coder, known: Compressed | None) -> Split | None:
    """The kind of prior, and for a data-dependent one the split: both may have been chosen by looking at the data."""
    from netpact.datasets import Split

    split = None if known is None else known.split
    if not code_flag(coder, None if known is None else split is not None):
        return None
    percent = 1 + code_choice(coder, None if split is None else split.percent - 1, _PERCENT_BITS)
    return Split(percent, code_uint(coder, None if split is None else split.counter))


class _FormBook:
    """The forms met so far, latest first. A tensor may name one again, and goes on with what was learned of it."""

    def __init__(self) -> None:
        self._met: list[tuple[Form, Contexts]] = []
        self._choices = Contexts()

    def code(self, coder: Coder, form: Form | None) -> tuple[Form, Contexts]:
        """In unary, most recent first, "not this one?"; after the last of them comes a new form."""
        for place, (met, contexts) in enumerate(self._met):
            if not code_flag(coder, None if form is None else met != form, self._choices[place]):
                self._met.insert(0, self._met.pop(place))
                return met, contexts
        entry = code_form(coder, form), Contexts()
        self._met.insert(0, entry)
        return entry


def _version(compressed: Compressed) -> int:
    forms = (tensor.form for tensor in compressed.tensors.values())
    return lowest_version(compressed.architecture, forms, compressed.rewrites, compressed.arithmetic)


def _code_header(coder: Coder, known: Compressed | None, note: Note) -> Header:
    version = 1 + code_uint(coder, None if known is None else _version(known) - 1)
    if version > DECODER_VERSION:
        raise PactError(
            f"the message was written for decoder version {version}, this is version {DECODER_VERSION}",
            where="message",
            hint="install a netpact that knows this version",
        )
    note("decoder version")
    arithmetic = _code_arithmetic(coder, None if known is None else known.arithmetic, version)
    note("arithmetic")
    architecture = None if known is None else known.architecture
    input_shape, classes = _code_problem(coder, architecture)
    note("input shape and classes")
    identity = code_uint(coder, None if architecture is None else architecture.id)
    sizes = _code_sizes(coder, None if architecture is None else architecture.sizes, most=_MOST_SIZES)
    note("architecture")
    own = identity == OWN_MODULE_ID and not sizes
    found: Architecture | OwnModule
    if own:
        output = ""
        if version >= OUTPUTS_VERSION:
            output = _code_output(coder, architecture)
            note("output")
        found = OwnModule(input_shape, classes, output)
    else:
        found = Architecture(identity, sizes, input_shape, classes)
    if version < REWRITES_VERSION:
        return Header(version, found, arithmetic)
    from netpact.coding.format.rewriting import code_rewrites  # few messages have any: the others import less

    return Header(version, found, arithmetic, code_rewrites(coder, None if known is None else known.rewrites, note))


def _code_output(coder: Coder, architecture: Architecture | OwnModule | None) -> str:
    """Seven bits for each letter."""
    known = None if architecture is None else getattr(architecture, "output", "").encode("ascii")
    count = code_uint(coder, None if known is None else len(known))
    if count > MAX_OUTPUT:
        raise PactError(f"the message announces an output of {count} letters, at most {MAX_OUTPUT}", where="message")
    letters = [code_choice(coder, None if known is None else known[place], _LETTER_BITS) for place in range(count)]
    return bytes(letters).decode("ascii")


def _code_arithmetic(coder: Coder, known: str | None, version: int) -> str:
    """One decision between the two that were there first; since version 4 any number, the first at the same price."""
    place = None if known is None else ARITHMETICS.index(known)
    if version < ARITHMETICS_VERSION:
        return ARITHMETICS[code_flag(coder, None if place is None else place == 1)]
    place = code_uint(coder, place)
    if place >= len(ARITHMETICS):
        raise PactError(f"the message names arithmetic {place}, known are {', '.join(ARITHMETICS)}", where="message")
    return ARITHMETICS[place]


def _code_problem(coder: Coder, architecture: Architecture | OwnModule | None) -> tuple[tuple[int, ...], int]:
    index = None
    if architecture is not None:
        problem = (architecture.input_shape, architecture.classes)
        index = 1 + COMMON_PROBLEMS.index(problem) if problem in COMMON_PROBLEMS else 0
    index = code_uint(coder, index)
    if index > len(COMMON_PROBLEMS):
        raise PactError(f"the message names problem {index}, only {len(COMMON_PROBLEMS)} are known", where="message")
    if index > 0:
        return COMMON_PROBLEMS[index - 1]
    shape = _code_sizes(coder, None if architecture is None else architecture.input_shape, most=3)
    return shape, code_uint(coder, None if architecture is None else architecture.classes)


def _code_sizes(coder: Coder, sizes: tuple[int, ...] | None, *, most: int) -> tuple[int, ...]:
    count = code_uint(coder, None if sizes is None else len(sizes))
    if count > most:
        raise PactError(f"the message announces {count} sizes, at most {most} are allowed", where="message")
    return tuple(1 + code_uint(coder, None if sizes is None else sizes[index] - 1) for index in range(count))
