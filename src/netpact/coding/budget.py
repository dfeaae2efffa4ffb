"""What one message may cost: work and memory are held against the limits before they are spent."""

from __future__ import annotations

from netpact.core.errors import PactError
from netpact.core.limits import MEMORY_PER_BYTE, WORK_PER_BYTE, Limits


class Budget:
    """The sum over a whole message, not of each tensor alone.

    work  steps asked for so far
    kept  bytes that stay in use until the network is there: symbols of all tensors, the module itself
    """

    def __init__(self, limits: Limits, *, message_bytes: int) -> None:
        self.work = 0
        self.kept = 0
        self._most_work = limits.max_work + WORK_PER_BYTE * message_bytes
        self._most_memory = limits.max_memory + MEMORY_PER_BYTE * message_bytes

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        """Ask before it is done. `memory` is in use for a while, beside all that is kept."""
        self.work += work
        self.kept += kept
        if self.work > self._most_work:
            raise _refusal(f"{self.work:,} steps of work", f"{self._most_work:,}", "max_work")
        if self.kept + memory > self._most_memory:
            raise _refusal(f"{self.kept + memory:,} bytes of memory", f"{self._most_memory:,}", "max_memory")


def _refusal(asked: str, allowed: str, limit: str) -> PactError:
    return PactError(
        f"decoding this message takes at least {asked}; allowed for a message of its length: {allowed}",
        hint=f"if you trust this file: a larger {limit} in Limits(...) in Python, --{limit.replace('_', '-')} on the "
        "command line",
    )
