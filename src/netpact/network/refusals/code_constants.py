"""Numbers in the code of a user's module: no message counts them, so there must be next to none.

A certificate for a user's own module declares that its code holds nothing learned. What can be seen is looked at:
arrays, lists, texts and numbers that `forward` can reach. Many are refused, some give a warning, and so do
names in the code that read files or hide what they do.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.layers.whole.layers import WholeLayer
from netpact.network.refusals.code_walk import CodeWalk

# 64 numbers are 256 bytes, as much as a whole message: no honest forward holds as many fractions.
MOST_NUMBERS, MOST_BYTES = 64, 256
MOST_WHOLE = 256  # tables of sizes are honest, and longer
_FEW = 8  # entries of a container that need no mention: shapes, sizes, means of three channels
_WORD_BITS = 64
_WORD_BYTES = 2  # which of at most 65,536 words it is
_MOST_WORDS = 1 << 8 * _WORD_BYTES
_NAMES = re.compile(r"\w+|\W")
_SYLLABLES = re.compile(r"[^\W\d_]+|[\d_]")  # label_7: label, _, 7
_OPAQUE_BYTES = 512  # of an object that shows nothing of what is in it
_NUMBERS = (bool, int, float, complex, np.number)
_TELLING = {
    *(
        "open",
        "load",
        "load_file",
        "safe_open",
        "from_file",
        "fromfile",
        "memmap",
        "loadtxt",
        "genfromtxt",
        "read_bytes",
    ),
    *("read_text", "urlopen", "environ", "getenv", "frombuffer", "fromhex", "b64decode", "b85decode", "a85decode"),
    *("decompress", "unhexlify", "loads", "eval", "exec", "globals", "__import__", "import_module", "getsource"),
    *("__code__", "co_consts", "get_objects", "get_referents", "_getframe", "find_class", "getdoc", "CDLL", "h5py"),
}
_HINT = "register what was learned with register_buffer, so that it is written into the file and paid for"


class ConstantsWarning(UserWarning):
    """Something in a module's code that may hold what was learned."""


@dataclass(frozen=True)
class Constant:
    """One place that holds numbers.

    numbers  entries of arrays and fractions
    whole    integers in longer containers
    content  bytes of text, of byte strings, of very large integers
    """

    place: str
    numbers: int = 0
    whole: int = 0
    content: int = 0

    def __str__(self) -> str:
        parts = ((self.numbers, "numbers"), (self.whole, "integers"), (self.content, "bytes"))
        return f"{self.place} ({', '.join(f'{count:,} {what}' for count, what in parts if count)})"


def check_constants(module: nn.Module, *, opened: bool = False) -> None:
    """Refuse a module whose code reaches many numbers; warn of few, and of what cannot be looked into.

    opened  from a message, after it was looked at as it was made: the grids of integer layers are the message's
    """
    problem, doubts = look_for_constants(module, opened=opened)
    where = type(module).__name__
    if problem:
        raise PactError(problem, where=where, hint=_HINT)
    if doubts:
        said = f"{where}: {'; '.join(doubts)}. If anything was learned there, it is not counted and the bound is false."
        warnings.warn(said, ConstantsWarning, stacklevel=3)


def look_for_constants(module: nn.Module, *, opened: bool = False) -> tuple[str, tuple[str, ...]]:
    """What has to be refused, or "", and what is doubtful."""
    grids = {id(vars(part.grid)) for part in module.modules() if opened and isinstance(part, WholeLayer)}
    tensors = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    walk = CodeWalk(module)
    found = sorted(
        _measure(walk, tensors, grids, _known_words(walk.sources())),
        key=lambda one: -(one.numbers + one.whole + one.content),
    )
    numbers, whole, content = (sum(getattr(one, name) for one in found) for name in ("numbers", "whole", "content"))
    listed = ", ".join(map(str, found[:5])) + (f" and {len(found) - 5} more places" if len(found) > 5 else "")
    if numbers > MOST_NUMBERS or whole > MOST_WHOLE or content > MOST_BYTES:
        return f"numbers in its code would not be counted: {listed}", ()
    doubts = [f"its code holds {listed}"] if numbers + whole + content > _FEW else []
    if telling := sorted(walk.names & _TELLING):
        doubts.append(f"its code mentions {', '.join(telling)}")
    if not walk.complete:
        doubts.append("it reaches more than can be looked through")
    return "", tuple(doubts)


def _known_words(files: Iterable[str]) -> frozenset[str]:
    """Words in the source of installed packages: whoever has the package has them, and one says only which it is.

    Objects that configure a library's modules hold its names for what they set, some hundred bytes that say next to
    nothing. The source was there before the data; the objects in memory need not have been.
    """
    words: set[str] = set()
    for file in files:
        try:
            words.update(_NAMES.findall(Path(file).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError):  # compiled, or in an archive
            continue
    words.update([part for word in words for part in _SYLLABLES.findall(word)])
    return frozenset(words) if len(words) <= _MOST_WORDS else frozenset()


def _measure(walk: CodeWalk, own: set[int], counted: set[int], words: frozenset[str]) -> Iterable[Constant]:
    """The constants. Fractions met one by one count once each: a hundred layers with one eps hold one number.

    own, counted  tensors and containers that a message holds
    """
    fractions: dict[float | complex, str] = {}
    inside = set(counted)  # containers that were counted with the one around them
    for place, value in walk.objects:
        if isinstance(value, (float, complex)):
            fractions.setdefault(value, place)
        elif isinstance(value, int):
            if value.bit_length() > _WORD_BITS:
                yield Constant(place, content=(value.bit_length() + 7) // 8)
        elif isinstance(value, str):
            if len(value) > MOST_BYTES:
                yield Constant(place, content=len(value))
        elif isinstance(value, torch.Tensor):
            if id(value) not in own:
                yield Constant(place, numbers=value.numel())
        elif isinstance(value, (dict, list, tuple, set, frozenset)):
            if id(value) not in inside and (constant := _measure_container(place, value, inside, words)) is not None:
                yield constant
        elif (size := _buffer_bytes(value)) is not None:
            count = value.size if isinstance(value, (np.ndarray, np.generic)) else 0
            yield Constant(place, numbers=count) if count else Constant(place, content=size)
        elif type(value).__module__ != "builtins" and sys.getsizeof(value) > _OPAQUE_BYTES:
            yield Constant(place, content=sys.getsizeof(value))
    if fractions:
        yield Constant(next(iter(fractions.values())), numbers=len(fractions))


def _content(text: str | bytes, words: frozenset[str]) -> int:
    """Bytes of a text, in which a known word counts as the number of its place among them."""
    if isinstance(text, bytes) or not words:
        return len(text)
    names = _NAMES.findall(text)
    parts = [part for name in names for part in ((name,) if name in words else _SYLLABLES.findall(name) or (name,))]
    return sum(min(len(part), _WORD_BYTES) if part in words else len(part) for part in parts)


def _measure_container(place: str, value: object, inside: set[int], words: frozenset[str]) -> Constant | None:
    """A container of many numbers or texts, with all containers in it; None for a small one."""
    leaves = list(_leaves(value, inside))
    if len(leaves) <= _FEW:
        return None
    whole = sum(1 for leaf in leaves if isinstance(leaf, (int, np.integer)))
    numbers = sum(1 for leaf in leaves if isinstance(leaf, _NUMBERS)) - whole
    texts = [leaf for leaf in leaves if isinstance(leaf, (str, bytes))]
    content = sum(_content(text, words) for text in texts)
    return Constant(place, numbers, whole, content) if numbers or whole or content else None


def _leaves(value: object, inside: set[int]) -> Iterable[object]:
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        if id(value) in inside:
            return
        inside.add(id(value))
        for inner in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            yield from _leaves(inner, inside)
    elif isinstance(value, (*_NUMBERS, str, bytes)):
        yield value


def _buffer_bytes(value: object) -> int | None:
    """The size of anything that is a block of memory: arrays, bytes, maps of files, storages."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.nbytes
    if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
        return value.nbytes()
    try:
        return memoryview(value).nbytes  # type: ignore[arg-type]
    except TypeError:
        return None
