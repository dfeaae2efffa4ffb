"""The statements that may stand in a file, in their order, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from types import MappingProxyType

from netpact.certificates.box import BoxCertificate
from netpact.certificates.fidelity import FidelityCertificate
from netpact.certificates.hold_out import HoldOutCertificate
from netpact.certificates.original import OriginalCertificate
from netpact.certificates.statement import Statement
from netpact.core.errors import PactError
from netpact.core.percent import confidence

_DIGITS = 400  # as in core/percent.py: a float is read as its shortest decimal


def joint_delta(statements: Iterable[Statement]) -> float:
    """What the probability that any of them fails does not exceed: their deltas add up. Rounded up, at most 1."""
    with localcontext(Context(prec=_DIGITS)):
        total = sum((Decimal(repr(float(statement.delta))) for statement in statements), Decimal(0))
        return float(min(Decimal(1), total.quantize(Decimal("1e-12"), ROUND_CEILING)))


def joint_sentence(statements: Iterable[Statement]) -> str:
    """What holds of all of them at once; "" for fewer than two."""
    all_of_them = list(statements)
    if len(all_of_them) < 2:
        return ""
    total = joint_delta(all_of_them)
    at_once = "nothing is stated about all at once" if total >= 1 else f"all at once with at least {confidence(total)}"
    return (
        f"Each of these {len(all_of_them)} statements holds separately with the probability that it says; {at_once} "
        "(their failure probabilities add up)."
    )


def _read_original(source: Mapping[str, object]) -> Statement:
    """Two ways to a statement about the original: by unlabelled samples, or by a box around the network in the file."""
    return (BoxCertificate if "box" in source else OriginalCertificate).from_json(source)


def _read_hold_out(about: str) -> Callable[[Mapping[str, object]], Statement]:
    def read(source: Mapping[str, object]) -> Statement:
        found = HoldOutCertificate.from_json(source)
        if found.about != about:
            raise PactError(f"a hold-out statement about {about!r} belongs here, got {found.about!r}", where="about")
        return found

    return read


# What may stand beside the certificate: its key in the file, and how it is read.
BESIDE: Mapping[str, Callable[[Mapping[str, object]], Statement]] = MappingProxyType(
    {
        "original": _read_original,
        "fidelity": FidelityCertificate.from_json,
        "hold_out": _read_hold_out("file"),
        "original_hold_out": _read_hold_out("original"),
    }
)
