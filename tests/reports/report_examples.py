"""Rows as a real comparison has them, and names that attack the page."""

from __future__ import annotations

from netpact.reports import Provenance, Row

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b < c > d ' e",
    "]]> <!-- --> <![CDATA[",
    "[bold red]not markup[/bold red]",
    "bell\x07 escape\x1b[31m null\x00 line\nend",
    "override \u202e surrogate \ud800",
)


def compressed(name: str, **changes: object) -> Row:
    fields: dict[str, object] = {
        "name": name,
        "method": "grid",
        "classes": 10,
        "parameters": 6986,
        "message_bytes": 2300,
        "train_error": 0.02,
        "test_error": 0.05,
        "bound": 0.6,
        "code_bits": 18422,
        "file": f"{name}.pact",
        "agreed": True,
    }
    return Row(**{**fields, **changes})  # type: ignore[arg-type]


ORIGINAL = Row(
    name="mlp",
    method="original",
    classes=10,
    parameters=6986,
    message_bytes=27944,
    train_error=0.0,
    test_error=0.025,
)

ROWS = [
    ORIGINAL,
    compressed("8 bits", message_bytes=5900, train_error=0.0, test_error=0.025, bound=1.0),
    compressed("4 bits", message_bytes=2300, train_error=0.001, test_error=0.028, bound=1.0),
    compressed("3 bits", message_bytes=1700, train_error=0.004, test_error=0.031, bound=0.999),
    compressed("2 bits", message_bytes=1150, train_error=0.02, test_error=0.05, bound=0.99),
    compressed("ternary", message_bytes=850, train_error=0.03, test_error=0.06, bound=0.96),
    compressed("linear ternary search", message_bytes=68, parameters=650, train_error=0.08, test_error=0.1, bound=0.41),
]

PROVENANCE = Provenance(
    version="0.1.0",
    seed=7,
    data_name="digits",
    data_fingerprint="sha256:3f9a51",
    samples=1437,
    delta=0.05,
    command="netpact compare --data digits",
    created="2025-01-02 03:04 UTC",
)
