"""What the certificate functions accept: counts, a failure probability, a hash. Anything else is refused by name."""

from __future__ import annotations

import re
from dataclasses import fields

from netpact.core.checks import check_integer, check_number, plain, told
from netpact.core.errors import PactError

# The summation and its rounding allowance are worked out, and tested, for counts far below 2^53.
MAX_SAMPLES = 10**9
# A message of a hundred terabytes: no bound on MAX_SAMPLES samples says anything long before that.
MAX_CODE_BITS = 10**15


def make_plain(record: object) -> None:
    """A frozen record with Python's numbers in place of numpy's, so that records compare and serialise alike."""
    for entry in fields(record):  # type: ignore[arg-type]
        object.__setattr__(record, entry.name, plain(getattr(record, entry.name)))


def check_share(value: object, *, where: str, counted: int, samples: int) -> float:
    """A bound on a rate: from the counted share of the samples to 1."""
    share = check_number(value, where=where)
    if not counted / samples <= share <= 1.0:
        raise PactError(f"must be from {counted} / {samples} = {counted / samples!r} to 1, got {share!r}", where=where)
    return share


def error_counts(*, errors: object, samples: object) -> tuple[int, int]:
    """(errors, samples) with 0 <= errors <= samples and samples >= 1."""
    m = check_integer(plain(samples), where="samples", least=1, most=MAX_SAMPLES)
    k = check_integer(plain(errors), where="errors", least=0)
    if k > m:
        raise PactError(f"there cannot be more errors than samples: {told(k)} > {m}", where="errors")
    return k, m


def failure_probability(value: object) -> float:
    """delta with 0 < delta < 1."""
    delta = check_number(plain(value), where="delta")
    if not 0 < delta < 1:
        hint = "delta is the probability that the statement fails; 0.05 is the usual choice"
        raise PactError(f"must be a number > 0 and < 1, got {delta!r}", where="delta", hint=hint)
    return delta


def hex_digest(value: object, *, name: str) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise PactError(f"must be 64 hexadecimal digits, got {told(value)}", where=name)
    return value
