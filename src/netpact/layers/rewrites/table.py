"""All rewrites by code; each is imported when a message names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from netpact.layers import rewrites
from netpact.layers.rewrites.rewrite import Rewrite

# Append only: files depend on it. A code that is new needs a new decoder version.
_NAMES: Mapping[int, str] = MappingProxyType(
    {
        0: "LowRankLayer",
        1: "Fold",
        2: "RemoveChannels",
        3: "CPLayer",
        4: "TuckerLayer",
        5: "ToWhole",
        6: "ToWholePool",
        7: "ToWholeClip",
    }
)


class _Rewrites(Mapping[int, type[Rewrite]]):
    def __getitem__(self, code: int) -> type[Rewrite]:
        found: type[Rewrite] = getattr(rewrites, _NAMES[code])
        return found

    def __contains__(self, code: object) -> bool:
        return code in _NAMES

    def __iter__(self) -> Iterator[int]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


REWRITES: Mapping[int, type[Rewrite]] = _Rewrites()
