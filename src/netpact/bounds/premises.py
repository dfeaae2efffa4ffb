"""What the theorems ask for, checked on the numbers of one network; and which networks they say nothing about."""

from __future__ import annotations

from netpact.bounds.estimate import Premise
from netpact.bounds.facts import Facts


def of_a_plain_chain(facts: Facts) -> tuple[Premise, ...]:
    """All norm-based bounds are about x -> A_d phi(A_(d-1) phi(... A_1 x)), phi of slope at most 1."""
    return (*_of_the_layers(facts), Premise("no biases", not facts.has_biases))


def of_counting(facts: Facts) -> tuple[Premise, ...]:
    return (Premise("the architecture was fixed before the data", None),)


def of_stability(facts: Facts) -> tuple[Premise, ...]:
    """Lemma 3 of Arora et al. 2018, and what is built on it."""
    stability, needed = facts.measured, 3 * facts.depth
    rho = stability.smoothness
    found = f"rho = {rho:.3g}, 3d = {needed}" if rho is not None else f"rho was not measured, 3d = {needed}"
    dead = [layer.name for layer in stability.layers if not layer.cushion * layer.interlayer > 0]
    return (
        Premise("rho >= 3d", None if rho is None else rho >= needed, found),
        Premise("all cushions are above 0", not dead, ", ".join(dead[:3])),
        Premise("cushions of outputs with bias, where there are biases", not stability.biased),
        *_of_the_layers(facts),
    )


def of_shared_filters(facts: Facts) -> tuple[Premise, ...]:
    """Theorem 5.1 of the same paper: for convolutions it needs what Algorithm 4 does not give."""
    if facts.is_fully_connected:
        return of_stability(facts)
    why = "all places of Algorithm 4 share the error of one subspace"
    return (*of_stability(facts), Premise("p-wise independent errors (Lemma 12)", False, why))


def _of_the_layers(facts: Facts) -> tuple[Premise, ...]:
    found = f"{len(facts.foreign)} others: {', '.join(facts.foreign[:3])}" if facts.foreign else ""
    return (
        Premise("every layer with weights is linear or a convolution", not facts.foreign, found),
        Premise("the layers form a chain without skips", facts.is_chain),
        Premise("what lies between the layers has slope at most 1", None),
    )


def refuse_nothing(facts: Facts) -> str:
    return ""


def refuse_convolutions(facts: Facts) -> str:
    return "" if facts.is_fully_connected else "it is about fully connected networks, and this one has convolutions"


def refuse_depth(facts: Facts) -> str:
    fits = facts.depth == 1 and facts.is_fully_connected
    return "" if fits else f"it is about linear classifiers, and this network has {facts.depth} weight layers"
