"""Names of layers and of their tensors, and how they are shown where there is little room."""

from __future__ import annotations


def weight_name(layer: str) -> str:
    """The parameter that holds a layer's weight; a network that is one layer has the empty name for it."""
    return f"{layer}.weight" if layer else "weight"


def shorten_middle(text: str, *, room: int) -> str:
    """At most `room` characters: the beginning and the end, three dots between them."""
    if len(text) <= room:
        return text
    kept = max(room - 3, 0)
    return (text[: kept - kept // 2] + "..." + text[len(text) - kept // 2 :])[:room]
