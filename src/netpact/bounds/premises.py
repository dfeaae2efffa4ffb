"""What many theorems assume, checked on the facts of one network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.bounds.estimate import Premise

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts


def plain_chain(facts: Facts) -> tuple[Premise, ...]:
    """Norm-based bounds are about x -> A_d phi(A_(d-1) phi(... A_1 x)), phi of slope at most 1."""
    return (*known_layers(facts), Premise("no biases", not facts.has_biases))


def fixed_architecture(facts: Facts) -> tuple[Premise, ...]:
    return (Premise("the architecture was fixed before the data", None),)


def known_layers(facts: Facts) -> tuple[Premise, ...]:
    found = f"{len(facts.foreign)} others: {', '.join(facts.foreign[:3])}" if facts.foreign else ""
    return (
        Premise("every layer with weights is linear or a convolution", not facts.foreign, found),
        Premise("the layers form a chain without skips", facts.is_chain),
        Premise("what lies between the layers has slope at most 1", None),
    )


def refuse_convolutions(facts: Facts) -> str:
    return "" if facts.is_fully_connected else "it is about fully connected networks, and this one has convolutions"
