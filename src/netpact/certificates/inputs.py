"""What the certificate functions accept: whole numbers, real numbers, counts. Anything else is refused by name."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real

from netpact.core.errors import PactError

# The summation and its rounding allowance are worked out, and tested, for counts far below 2^53.
MAX_SAMPLES = 10**9
# A message of a hundred terabytes: no bound on MAX_SAMPLES samples says anything long before that.
MAX_CODE_BITS = 10**15


def whole_number(value: object, *, name: str, lowest: int, highest: int | None = None) -> int:
    """A Python or numpy integer in range, as int. bool, float and NaN are refused, not rounded."""
    allowed = f"a whole number from {lowest} up" if highest is None else f"a whole number from {lowest} to {highest}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise PactError(f"{allowed} is needed, got {value!r} ({type(value).__name__})", where=name)
    number = int(value)
    if number < lowest or (highest is not None and number > highest):
        raise PactError(f"{allowed} is needed, got {shorten(number)}", where=name)
    return number


def real_number(value: object, *, name: str) -> float:
    """A Python or numpy number that is finite, as float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise PactError(f"a finite number is needed, got {value!r} ({type(value).__name__})", where=name)
    if isinstance(value, Integral) and abs(int(value)) > 2**53:
        raise PactError(f"a finite number is needed, got the integer {shorten(int(value))}", where=name)
    number = float(value)
    if not math.isfinite(number):
        raise PactError(f"a finite number is needed, got {number!r}", where=name)
    return number


def error_counts(*, errors: object, samples: object) -> tuple[int, int]:
    """(errors, samples) with 0 <= errors <= samples and samples >= 1."""
    m = whole_number(samples, name="samples", lowest=1, highest=MAX_SAMPLES)
    k = whole_number(errors, name="errors", lowest=0)
    if k > m:
        raise PactError(f"there cannot be more errors than samples: {shorten(k)} > {m}", where="errors")
    return k, m


def failure_probability(value: object) -> float:
    """delta with 0 < delta < 1."""
    delta = real_number(value, name="delta")
    if not 0.0 < delta < 1.0:
        raise PactError(
            f"a number strictly between 0 and 1 is needed, got {delta!r}",
            where="delta",
            hint="delta is the probability that the statement fails; 0.05 is the usual choice",
        )
    return delta


def text(value: object, *, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise PactError(f"a text that is not empty is needed, got {value!r}", where=name)
    return value


def hex_digest(value: object, *, name: str) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise PactError(f"64 hexadecimal digits are needed, got {value!r}", where=name)
    return value


def shorten(number: int) -> str:
    """A number from an untrusted file may have thousands of digits; Python refuses to print those above 4300."""
    return str(number) if abs(number) < 10**30 else f"a number of {number.bit_length()} bits"
