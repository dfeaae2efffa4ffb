"""Theorems 4.5, E.6 and F.1: the numbers in the components that a margin asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS, Bound, Sampling
from netpact.bounds.estimate import Premise
from netpact.bounds.groups import CONSTANTS
from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import log
from netpact.core.checks import check_choice
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.measurements.tensors import TensorProperties
    from netpact.papers.li.effective import EffectiveLayer

FORMS = ("valid", "printed")
_ROUNDING = 1e-9  # Lipschitz constants are rounded outward


@dataclass(frozen=True, kw_only=True)
class TensorFormOptions:
    """tensor_form  "valid": ranks for which the lemmas hold; "printed": by the paper's own definitions, as Table 4."""

    tensor_form: str = field(
        default="valid",
        metadata={
            "metavar": "NAME",
            "help": "valid: ranks for which the lemmas of Li et al. 2020 hold; printed: by their own definitions.",
        },
    )

    def __post_init__(self) -> None:
        check_choice(self.tensor_form, FORMS, where="tensor_form")


def effective_layers(facts: Facts) -> tuple[EffectiveLayer, ...]:
    """Algorithms 3 and 4 (FBRC, FBR) at eps = gamma / (2 max |f|), and what is left then."""
    from netpact.methods.ranks_from_margin import find_ranks
    from netpact.papers.li.effective import count_effective

    tensors: TensorProperties = facts.tensors
    return count_effective(tensors, find_ranks(tensors, margin=facts.gamma, as_printed=_is_printed(facts)))


def count_parameters(facts: Facts) -> float:
    """ln of  sum_k R_k (s_k + o_k + kx ky + 1)."""
    return log(sum(layer.parameters for layer in effective_layers(facts)))


def layer_budgets(facts: Facts) -> tuple[LayerBudget, ...]:
    """Table 4."""
    return tuple(
        LayerBudget(layer.name, log(layer.parameters) / math.log(10.0), layer.weights)
        for layer in effective_layers(facts)
    )


def _premises(facts: Facts) -> tuple[Premise, ...]:
    """What the theorems ask for. The valid form has Lipschitz constants and any skips in it already."""
    tensors: TensorProperties = facts.tensors
    dead = [layer.name for layer in tensors.layers if not layer.cushion > 0]
    eps = facts.gamma / (2 * facts.output_norm) if facts.output_norm else math.inf
    found = (
        Premise("all layer cushions are above 0", not dead, ", ".join(dead[:3])),
        Premise("gamma <= 2 max|f|", eps <= 1, f"gamma / (2 max|f|) = {eps:.3g}"),
    )
    if not _is_printed(facts):
        return found
    steep = [layer.name for layer in tensors.layers if layer.lipschitz > 1 + _ROUNDING]
    return (
        *found,
        Premise("what lies between the layers has slope at most 1", not steep, ", ".join(steep[:3])),
        Premise("the error lemma as printed", False, "it does not hold: docs/papers/li.md"),
    )


def _is_printed(facts: Facts) -> bool:
    return facts.options.of(TensorFormOptions).tensor_form == "printed"


def _refuse(facts: Facts, *, why: Callable[[TensorProperties], str]) -> str:
    try:
        tensors: TensorProperties = facts.tensors
        return why(tensors) if tensors.output_norm else "all outputs are 0: no margin can be kept"
    except PactError as problem:  # a network with layers that have no such form
        return str(problem)


def _not_convolutional(tensors: TensorProperties) -> str:
    if any(layer.skip for layer in tensors.layers):
        return "it is about networks without skips: li-f.1 has them"
    if all(layer.kind == "linear" for layer in tensors.layers):
        return "it is about convolutional networks: li-e.6 is about fully connected ones"
    return ""


def _not_connected(tensors: TensorProperties) -> str:
    if any(layer.skip or layer.kind != "linear" for layer in tensors.layers):
        return "it is about fully connected networks without skips"
    return ""


def _not_skipping(tensors: TensorProperties) -> str:
    return "" if any(layer.skip for layer in tensors.layers) else "it is about networks with skips"


def _some_samples(facts: Facts) -> Sampling:
    tensors: TensorProperties = facts.tensors
    if tensors.samples == facts.samples:
        return Sampling()
    return Sampling(assumptions=(f"cushions of {tensors.samples:,} samples stand for those of all {facts.samples:,}",))


_TENSORS = partial(
    Bound,
    log_capacity=count_parameters,
    needs=("tensors", "gamma"),
    ignored=(*CONSTANTS, "the covering number's constants and its factor n (Lemma D.7)", "biases"),
    premises=_premises,
    sampling=_some_samples,
    layers=layer_budgets,
    options=(TensorFormOptions,),
)
_ROWS = {
    "li-4.5": ("Li et al. 2020, Theorem 4.5 (convolutional networks)", _not_convolutional),
    "li-e.6": ("Li et al. 2020, Theorem E.6 (fully connected networks)", _not_connected),
    "li-f.1": ("Li et al. 2020, Theorem F.1 (skips)", _not_skipping),
}
for _name, (_theorem, _why) in _ROWS.items():
    BOUNDS.add(_TENSORS(_name, _theorem, refuses=partial(_refuse, why=_why)))
