"""Lemmas 4.1 and 5.1 (Guha et al. 2023): what random pruning does to each layer, beside what is said of normal weights.

All are measured only where they are named. d is `MeasureOptions.prune_scale`.
"""

from __future__ import annotations

from collections.abc import Callable

from netpact.algebra.sketching import DistributedSparsity, distributed_sparsity
from netpact.measurements.definition import QUANTITIES, OfLayer
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import MOST, Quantity, of_weights
from netpact.measurements.structure import WeightLayer
from netpact.papers.guha.masks import draw_mask
from netpact.papers.guha.moments import Moments, expected_moments, normal_moments, weight_variance

Compute = Callable[[WeightLayer, Context], Quantity | None]


def _sparsities(context: Context) -> dict[str, DistributedSparsity]:
    """One draw of Algorithm 1 for each layer."""
    scale, seed = context.options.prune_scale, context.options.seed.number
    return {
        layer.name: distributed_sparsity(layer.weight * draw_mask(layer.weight, scale=scale, seed=seed, layer=place))
        for place, layer in enumerate(context.structure.layers)
    }


DRAWN = Pass("pruning", _sparsities)


def _variance(layer: WeightLayer, context: Context) -> Quantity:
    return of_weights(weight_variance(layer.weight))


def _measured(number: Callable[[Moments], float]) -> Compute:
    """None for a layer whose weights are all the same."""

    def compute(layer: WeightLayer, context: Context) -> Quantity | None:
        if not weight_variance(layer.weight):
            return None
        return of_weights(number(expected_moments(layer.weight, scale=context.options.prune_scale)))

    return compute


def _normal(number: Callable[[Moments], float]) -> Compute:
    def compute(layer: WeightLayer, context: Context) -> Quantity:
        variance = weight_variance(layer.weight)
        return of_weights(number(normal_moments(scale=context.options.prune_scale, variance=variance)))

    return compute


def _nonzeros(number: Callable[[DistributedSparsity], int]) -> Compute:
    def compute(layer: WeightLayer, context: Context) -> Quantity:
        return Quantity(float(number(context[DRAWN][layer.name])), exact=False, side=MOST)

    return compute


def _by_lemma_5_1(layer: WeightLayer, context: Context) -> Quantity:
    """3 lambda max(d_1, d_2) chi, at lambda = 1."""
    chi = normal_moments(scale=context.options.prune_scale, variance=1.0).kept
    return of_weights(3 * max(layer.weight.flatten(1).shape) * chi)


_KEPT = "share of the entries that random pruning keeps"
_SECOND = "mean square of what it takes away"
_FOURTH = "mean fourth power of what it takes away"
_LIMITS = "Definition 5.1 and Lemma 5.1"
_ROWS: tuple[tuple[str, Compute, str, str, str], ...] = (
    ("weight_variance", _variance, "variance of the weights", "Psi", "Assumption 3.1"),
    ("kept_share", _measured(lambda found: found.kept), _KEPT, "kept", "Lemma 5.1"),
    ("kept_share_normal", _normal(lambda found: found.kept), f"{_KEPT}, normal", "chi", "Lemma 5.1"),
    ("pruned_square", _measured(lambda found: found.second), _SECOND, "E D^2", "Lemma 4.1"),
    ("pruned_square_normal", _normal(lambda found: found.second), f"{_SECOND}, normal", "normal", "Lemma 4.1"),
    ("pruned_fourth", _measured(lambda found: found.fourth), _FOURTH, "E D^4", "Lemma 4.1"),
    ("pruned_fourth_normal", _normal(lambda found: found.fourth), f"{_FOURTH}, normal", "normal", "Lemma 4.1"),
    ("column_nonzeros", _nonzeros(lambda found: found.columns), "most entries kept in a column", "j_r", _LIMITS),
    ("row_nonzeros", _nonzeros(lambda found: found.rows), "most entries kept in a row", "j_c", _LIMITS),
    ("nonzeros_normal", _by_lemma_5_1, "most entries kept in a row or column, normal", "3 chi p", _LIMITS),
)
for _name, _compute, _title, _symbol, _place in _ROWS:
    QUANTITIES.add(
        OfLayer(
            _name,
            _compute,
            title=_title,
            symbol=_symbol,
            side=MOST,
            asked=True,
            needs=(DRAWN,) if _symbol in ("j_r", "j_c") else (),
            reference=f"Guha et al. 2023, {_place}",
        )
    )
