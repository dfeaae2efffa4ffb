"""Theorem 5.2 in numbers: d and rho from a margin, by Lemma 4.4 as printed, and what they leave to be counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from netpact.bounds.logs import exp, log, log_product
from netpact.core.errors import PactError
from netpact.papers.guha.counting import log_choose, most_kept, sketch_size
from netpact.papers.guha.lemmas.stating import log_output_error, norm_of_pruned
from netpact.papers.guha.moments import normal_moments

_SCALES = (1e-300, 1e6)  # that d is looked for between
_HALVINGS = 100


@dataclass(frozen=True, kw_only=True)
class TheoryLayer:
    """One matrix: sizes, variance of its weights, |A|_2 from above, kurtosis, and the largest |w|."""

    name: str
    rows: int
    columns: int
    variance: float
    norm: float
    kurtosis: float
    largest: float
    lipschitz: float = 1.0

    @property
    def entries(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, kw_only=True)
class PrunedCount:
    """What is left of one layer. nonzeros: of a row or column at most; levels: values that a number can take."""

    layer: TheoryLayer
    kept: float
    nonzeros: float
    levels: float

    @property
    def numbers(self) -> float:
        """In the sketch: j p log^2 p."""
        return sketch_size(rows=self.layer.rows, columns=self.layer.columns, nonzeros=self.nonzeros)

    @property
    def sketched(self) -> float:
        """j p log^2 p log r (Theorem 5.2)."""
        return self.numbers * math.log(self.levels)

    @property
    def listed(self) -> float:
        """log C(d_1 d_2, alpha) + alpha log r (Lemma D.1)."""
        return log_choose(self.layer.entries, self.kept) + self.kept * math.log(self.levels)


@dataclass(frozen=True, kw_only=True)
class PrintedPruning:
    """d and rho_l for which Lemma 4.4 as printed (C = 1) uses up the margin, half for each.

    tail   eps_l = lambda_l: by Markov's inequality each event fails with probability 1 / tail
    room   how much of the output's l2 norm may change: gamma / sqrt(2), not gamma as Theorem 5.2 has it
    """

    layers: tuple[TheoryLayer, ...]
    input_size: float
    room: float
    scale: float
    tail: float
    steps: tuple[float, ...]

    @property
    def chi(self) -> float:
        return normal_moments(scale=self.scale, variance=1.0).kept

    def pruned_norm(self, layer: TheoryLayer) -> float:
        """eps_l Gamma_l of Lemma 4.2."""
        sizes = {"rows": layer.rows, "columns": layer.columns}
        return self.tail * norm_of_pruned(**sizes, variance=layer.variance, scale=self.scale)

    def count(self, *, failure: float) -> tuple[PrunedCount, ...]:
        """j = 3 lambda chi p (Lemma 5.1), and what Lemmas D.2 and D.3 leave, each wrong with this probability."""
        return tuple(
            PrunedCount(
                layer=layer,
                kept=float(most_kept(layer.entries, scale=self.scale, failure=failure)),
                nonzeros=3 * self.tail * self.chi * max(layer.rows, layer.columns),
                levels=2 * layer.largest / step + 1,
            )
            for layer, step in zip(self.layers, self.steps, strict=True)
        )


def choose_pruning(layers: Sequence[TheoryLayer], *, gamma: float, input_size: float, delta: float) -> PrintedPruning:
    """The largest d, and the largest rho_l, that the margin condition of Theorem 5.2 allows.

    Half of gamma / sqrt(2) is for pruning, half for rounding, of which every layer has the same share. The failure
    probability delta is shared by 2 L events, the lambda_l and the eps_l; Lemma 5.1 has more, whatever is chosen.
    """
    if not layers or any(not (layer.norm > 0 and layer.variance > 0) for layer in layers):
        raise PactError("a layer whose weights are all the same has no variance to prune by", where="layers")
    depth, room = len(layers), gamma / math.sqrt(2)
    tail = 2 * depth / delta
    norms, slopes = [layer.norm for layer in layers], [layer.lipschitz for layer in layers]

    def used(scale: float) -> float:
        changes = [
            tail * norm_of_pruned(rows=one.rows, columns=one.columns, variance=one.variance, scale=scale)
            for one in layers
        ]
        return log_output_error(norms=norms, changes=changes, lipschitz=slopes, input_size=input_size)

    low, high = map(math.log, _SCALES)
    goal = log(room / 2)
    if used(math.exp(low)) > goal:
        raise PactError("no d is small enough for this margin", where="gamma", hint="the norms of the layers are huge")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if used(math.exp(middle)) <= goal else (low, middle)
    scale = math.exp(low)
    chi = normal_moments(scale=scale, variance=1.0).kept
    # e d_1^0 (prod L |A|) rho_l J_l / |A_l| = (room / 2) / L, with J_l = lambda_l chi d_1 d_2 at most d_1 d_2
    grown = 1.0 + log(input_size) + log_product(norms) + log_product(slopes)
    steps = tuple(
        exp(goal - math.log(depth) - grown + log(one.norm) - log(min(tail * chi, 1.0) * one.entries)) for one in layers
    )
    return PrintedPruning(layers=tuple(layers), input_size=input_size, room=room, scale=scale, tail=tail, steps=steps)
