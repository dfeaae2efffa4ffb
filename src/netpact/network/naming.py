"""Names of layers where there is little room for them."""

from __future__ import annotations


def shorten_middle(text: str, *, room: int) -> str:
    """At most `room` characters: the beginning and the end, three dots between them."""
    if len(text) <= room:
        return text
    kept = max(room - 3, 0)
    return (text[: kept - kept // 2] + "..." + text[len(text) - kept // 2 :])[:room]
