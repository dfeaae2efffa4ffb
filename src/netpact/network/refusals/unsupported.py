"""The error that names everything about a network that is not supported."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.core.errors import PactError
from netpact.network.kinds.table import KINDS


class UnsupportedNetworkError(PactError):
    """Everything that is not supported, each by name: `problems` holds one line for each."""

    def __init__(self, problems: Sequence[str], *, where: str) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "the network is not supported:\n  " + "\n  ".join(problems),
            where=where,
            hint=f"layers with parameters may be {', '.join(KINDS.types())}; docs/networks.md says how to fix the rest",
        )
