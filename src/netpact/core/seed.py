"""Randomness that is never global: one Seed in, generators derived from it by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpact.core.checks import check_integer

if TYPE_CHECKING:
    import numpy as np
    import torch


@dataclass(frozen=True)
class Seed:
    """A seed with a path of names: Seed(7).child("training", "shuffle") is always the same stream.

    These streams are for training and search by the sender. What a decoder regenerates never comes from here.
    """

    number: int
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_integer(self.number, where="seed", least=0)

    def child(self, *names: object) -> Seed:
        return Seed(self.number, (*self.path, *(str(name) for name in names)))

    def _word(self) -> int:
        # Length prefixes keep ("ab", "c") and ("a", "bc") apart.
        text = "".join(f"{len(name)}:{name}" for name in (str(self.number), *self.path))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def numpy(self) -> np.random.Generator:
        import numpy as np  # not above: --help waits for what commands import

        return np.random.default_rng(self._word())

    def torch(self) -> torch.Generator:
        import torch

        return torch.Generator().manual_seed(self._word() >> 1)
