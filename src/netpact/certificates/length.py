"""How many bits a message counts for: its bytes, and the announcement of how many there are."""

from __future__ import annotations

from netpact.core.checks import check_integer, plain


def elias_delta_bits(n: int) -> int:
    """The length of the Elias-delta codeword of n >= 1 (Elias 1975).

        floor(log2 n) + 2*floor(log2(floor(log2 n) + 1)) + 1

    The code is complete: the sum of 2^-length over all n >= 1 is exactly 1.
    """
    exponent = check_integer(plain(n), where="n", least=1).bit_length() - 1
    return exponent + 2 * ((exponent + 1).bit_length() - 1) + 1


def code_bits(message_bytes: int) -> int:
    """The bits that a message of so many bytes costs in the bound.

        8*message_bytes + elias_delta_bits(message_bytes + 1)

    A byte string alone is not self-delimiting. Announcing its length first makes all byte strings together a prefix
    code (the + 1 lets the empty one be announced), so that the sum of 2^-code_bits over them is at most 1 (Kraft).
    """
    length = check_integer(plain(message_bytes), where="message_bytes", least=0)
    return 8 * length + elias_delta_bits(length + 1)
