"""What is seen of a network while it is trained, kept in a file that survives a kill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from torch import nn

from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import decode_json, encode_json


class Point(Protocol):
    """A dataclass of plain numbers, found after one epoch."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def epoch(self) -> int: ...


PointT = TypeVar("PointT", bound=Point)


class History(Generic[PointT]):
    """Called after each epoch: looks at the first and at every n-th.

    look  what is found in the network after an epoch
    read  makes a point of its JSON again
    """

    def __init__(
        self,
        file: Path,
        *,
        every: int,
        look: Callable[[int, nn.Module], PointT],
        read: Callable[[Mapping[str, Any]], PointT],
    ) -> None:
        self._file, self._every, self._look = file, every, look
        found: Any = decode_json(read_bytes(file).decode(), where=str(file)) if file.exists() else []
        self._points = {point["epoch"]: read(point) for point in found}

    @property
    def points(self) -> tuple[PointT, ...]:
        return tuple(self._points[epoch] for epoch in sorted(self._points))

    def __call__(self, epoch: int, module: nn.Module) -> None:
        if epoch > 1 and epoch % self._every:
            return
        self._points[epoch] = self._look(epoch, module)
        told = encode_json([asdict(point) for point in self.points], where=f"epoch {epoch}")
        write_atomically(self._file, told.encode())
