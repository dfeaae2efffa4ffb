"""What tasks need beside their arguments: networks and samples, too large for JSON.

A parcel is named in the arguments of the tasks that need it. In the process that made it, it is the thing itself; to a
worker it travels as bytes, which are opened there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from netpact.core.errors import PactError

Content: TypeAlias = "bytes | memoryview"


@dataclass(frozen=True, eq=False)
class Parcel:
    """One thing that tasks need.

    name   says what it is, by hashes for example: two parcels of one name hold the same
    make   gives the thing in this process; asked when a task needs it and not before, so that samples of which each
           task has a part can be more than fit into memory
    pack   its bytes, from the thing
    open   the thing again, from its bytes: a function at the top level of a module, so that a worker can import it
    stays  a worker keeps it for its later tasks: it travels to each worker once, on a cluster to each node once
    lasting  the name means the same in other processes, later: results may be kept under it
    """

    name: str
    make: Callable[[], Any]
    pack: Callable[[Any], bytes]
    open: Callable[[Content], Any]
    stays: bool = False
    lasting: bool = True

    def content(self) -> bytes:
        return self.pack(self.make())


@dataclass
class _Held:
    """A thing that is at hand, and what was made of it."""

    get: Callable[[], Any]
    made: dict[str, Any] = field(default_factory=dict)


# Of the call that runs: by name. Each thread has its own.
_AT_HAND: ContextVar[Mapping[str, _Held]] = ContextVar("_AT_HAND")
# In a worker: those that stay.
_STAYING: dict[str, _Held] = {}
_MOST_STAYING = 4  # networks in memory at a time; of a sweep over many each is used for a while


def staying_after(names: Iterable[str], used: Iterable[str]) -> list[str]:
    """Which parcels a worker has after a call that used these: the last few. Its parent reckons in the same way."""
    recent = list(used)
    return [*(name for name in names if name not in recent), *recent][-max(_MOST_STAYING, len(recent)) :]


def parcel(name: str) -> Any:
    """The thing of this name, within a task that it was given to."""
    return _held(name).get()


def made_of(name: str, what: str, make: Callable[[Any], Any]) -> Any:
    """What `make` gives for the thing of this name; made once where the thing stays: a network prepared to be run."""
    held = _held(name)
    if what not in held.made:
        held.made[what] = make(held.get())
    return held.made[what]


def _held(name: str) -> _Held:
    found = _AT_HAND.get({}).get(name)
    if found is None:
        raise PactError(
            f"no parcel {name!r} came with this task", where="task", hint="name it in `parcels` of the Task"
        )
    return found


@contextmanager
def at_hand(parcels: Iterable[Parcel]) -> Iterator[None]:
    """Within this block tasks in this process find these. What is at hand already stays as it is."""
    before = _AT_HAND.get({})
    more = {one.name: _Held(one.make) for one in parcels if one.name not in before}
    token = _AT_HAND.set({**before, **more})
    try:
        yield
    finally:
        _AT_HAND.reset(token)


@dataclass(frozen=True)
class Label:
    """What a worker has to know of a parcel."""

    name: str
    open: Callable[[Content], Any]
    stays: bool


def label(one: Parcel) -> Label:
    return Label(one.name, one.open, one.stays)


@contextmanager
def unpacked(labels: Iterable[Label], contents: Mapping[str, Content]) -> Iterator[None]:
    """In a worker: the parcels of one call. contents: of those that came with it; the others have stayed."""
    table: dict[str, _Held] = {}
    labels = list(labels)
    for one in labels:
        if one.name in _STAYING:
            table[one.name] = _STAYING[one.name]
            continue
        thing = one.open(contents[one.name])
        table[one.name] = _Held(lambda thing=thing: thing)  # type: ignore[misc]
        if one.stays:
            _STAYING[one.name] = table[one.name]
    kept = {name: _STAYING[name] for name in staying_after(_STAYING, [one.name for one in labels if one.stays])}
    _STAYING.clear()
    _STAYING.update(kept)
    token = _AT_HAND.set(table)
    try:
        yield
    finally:
        _AT_HAND.reset(token)
