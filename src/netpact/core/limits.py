"""What an untrusted file may ask for: every number has a default that bounds the harm of a small hostile file."""

from __future__ import annotations

from dataclasses import dataclass, fields

from netpact.core.checks import check_integer

MAX_PARAMETERS = 100_000_000
_MAX_WORK = 1 << 35
_MAX_MEMORY = 3 << 30
_MAX_TRAINING = 10**15  # some hours of one core

# A long message may cost more than a short one: an honest network of many weights has many bytes. About three times
# what a network of 4-bit weights takes.
WORK_PER_BYTE = 1 << 11
MEMORY_PER_BYTE = 1 << 7


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What opening a file may cost. Raise a limit for a file that you trust.

    max_parameters  of the network
    max_work        steps of decoding, each about a nanosecond of one core; 2,048 more for each byte of the message
    max_memory      bytes in use while the message is decoded; 128 more for each byte of the message
    max_training    multiply-adds of training a helper network again by the recipe in the file
    """

    max_parameters: int = MAX_PARAMETERS
    max_work: int = _MAX_WORK
    max_memory: int = _MAX_MEMORY
    max_training: int = _MAX_TRAINING

    def __post_init__(self) -> None:
        for entry in fields(self):
            check_integer(getattr(self, entry.name), where=entry.name, least=1)

    @classmethod
    def of(cls, limits: Limits | int) -> Limits:
        """A number is a limit on the parameters alone."""
        return limits if isinstance(limits, Limits) else cls(max_parameters=limits)
