"""Theorem 5.2 (sketches of pruned matrices) and Lemma D.1 (pruned matrices listed entry by entry)."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS, Bound
from netpact.bounds.estimate import Premise
from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import log
from netpact.bounds.premises import plain_chain, refuse_convolutions
from netpact.papers.guha.bounds.options import PruningFormOptions

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.papers.guha.compressed import MeasuredPruning
    from netpact.papers.guha.theory import PrintedPruning, PrunedCount, TheoryLayer

_CUBE = -1 / 3  # Lemma 5.1 fails with probability d_1^(-1/3) + d_2^(-1/3) beside 1/lambda


def printed_pruning(facts: Facts) -> PrintedPruning:
    """Found once for each margin."""
    from netpact.papers.guha.theory import choose_pruning

    key = f"printed pruning at {facts.gamma!r}"
    if key not in facts.known:
        facts.known[key] = choose_pruning(
            facts.pruned_layers, gamma=facts.gamma, input_size=float(facts.input_size), delta=facts.delta
        )
    found: PrintedPruning = facts.known[key]
    return found


def measured_pruning(facts: Facts) -> MeasuredPruning:
    """Found once for each margin."""
    from netpact.papers.guha.compressed import find_pruning

    key = f"measured pruning at {facts.gamma!r}"
    if key not in facts.known:
        layers: tuple[TheoryLayer, ...] = facts.pruned_layers
        facts.known[key] = find_pruning(facts.network.module, layers, facts.data.train, gamma=facts.gamma)
    found: MeasuredPruning = facts.known[key]
    return found


def _is_measured(facts: Facts) -> bool:
    return facts.options.of(PruningFormOptions).pruning_form == "measured"


def _counts(facts: Facts) -> tuple[PrunedCount, ...]:
    if _is_measured(facts):
        return measured_pruning(facts).counts
    # delta is shared by the layers; the theorem's own events have theirs in lambda_l and eps_l.
    return printed_pruning(facts).count(failure=facts.delta / len(facts.pruned_layers))


def count_sketched(facts: Facts) -> float:
    """ln of  sum_l 3 lambda_l chi p_l^2 log^2(p_l) log(r_l)  (Theorem 5.2), r_l = range / rho_l + 1.

    Measured: j_l p_l for 3 lambda_l chi p_l^2.
    """
    return log(math.fsum(count.sketched for count in _counts(facts)))


def count_listed(facts: Facts) -> float:
    """ln of  (sum_l log C(d_1 d_2, alpha_l) + alpha_l log(r_l) + log(1/delta)) / 2  (Lemma D.1 with Theorem D.1)."""
    return log((math.fsum(count.listed for count in _counts(facts)) + math.log(1 / facts.delta)) / 2)


def _sketched_layers(facts: Facts) -> tuple[LayerBudget, ...]:
    """Numbers in the sketches."""
    return tuple(_budget(count, count.numbers) for count in _counts(facts))


def _listed_layers(facts: Facts) -> tuple[LayerBudget, ...]:
    """Entries that are kept."""
    return tuple(_budget(count, count.kept) for count in _counts(facts))


def _budget(count: PrunedCount, number: float) -> LayerBudget:
    return LayerBudget(count.layer.name, log(number) / math.log(10.0), count.layer.entries)


def _premises(facts: Facts, *, sketched: bool) -> tuple[Premise, ...]:
    layers: tuple[TheoryLayer, ...] = facts.pruned_layers
    if _is_measured(facts):
        found = measured_pruning(facts)
        text = f"|f - g|_2 <= {found.error:.3g} of {facts.gamma / math.sqrt(2):.3g}, d = {found.scale}"
        checked = Premise("|f - g|_2 <= gamma / sqrt(2) on every sample", True, text)
        return (checked, Premise("the number of bits and d were fixed before the data", False, "chosen by looking"))
    chosen = printed_pruning(facts)
    tails = [layer.kurtosis for layer in layers]
    wide = [layer.name for layer in layers if chosen.pruned_norm(layer) > layer.norm / len(layers)]
    failure = 2 * len(layers) / chosen.tail
    if sketched:
        failure += math.fsum(layer.rows**_CUBE + layer.columns**_CUBE for layer in layers)
    return (
        *plain_chain(facts),
        Premise(
            "weights are independent and normal (Assumption 3.1)",
            None,
            f"kurtosis {min(tails):.3g} to {max(tails):.3g}, 3 for normal weights",
        ),
        Premise("eps_l Gamma_l <= |A^l|_2 / L (Lemma 4.3)", not wide, ", ".join(wide[:3])),
        Premise("|x|_2 <= d_1^0", facts.input_norm <= facts.input_size, f"{facts.input_norm:.3g}"),
        Premise("the probabilities of failure add up to less than 1", failure < 1, f"{failure:.3g}"),
    )


def _refuse(facts: Facts) -> str:
    reason = refuse_convolutions(facts)
    if not reason and not facts.is_chain:
        reason = "it is about chains of layers, and this network has skips"
    if not reason and any(not layer.variance > 0 for layer in facts.pruned_layers):
        reason = "a layer whose weights are all the same has no variance to prune by"
    return reason


_PRUNED = partial(
    Bound, needs=("pruned_layers", "input_size", "gamma", "delta"), refuses=_refuse, options=(PruningFormOptions,)
)
_NORMS = ("the constant C of Lemma 4.2 (1 is used)", "biases")
BOUNDS.add(
    _PRUNED(
        "guha-5.2",
        "Guha et al. 2023, Theorem 5.2",
        count_sketched,
        ignored=("constants", *_NORMS, "that a number of a sketch has more values than a weight"),
        premises=partial(_premises, sketched=True),
        layers=_sketched_layers,
    )
)
BOUNDS.add(
    _PRUNED(
        "guha-d.1",
        "Guha et al. 2023, Lemma D.1 with Theorem D.1",
        count_listed,
        ignored=_NORMS,
        premises=partial(_premises, sketched=False),
        layers=_listed_layers,
    )
)
