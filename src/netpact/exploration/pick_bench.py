"""Bench: runs recipes of sample compression on some of the samples or on all, each once, and keeps what it saw."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from netpact.certificates import code_bits, selection_bound
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_samples
from netpact.exploration.clock import Clock
from netpact.exploration.trials import Trial
from netpact.picking import FeatureBase, PickRecipe
from netpact.picking.certifying import Drawn, draw_samples
from netpact.picking.recipe_bytes import LOWEST

_GROWTH = 1.6  # of the time of a run with the samples, as an exponent: for what is set aside
_LEAST_RUN = 60.0  # seconds that a run may take, whatever the budget: one that ends sooner has little to show
_PATIENCE = 200  # picks after which nothing better is expected, beside as many as the best stop took
_AGAIN = 2.0  # a run that ends here is made once more, and its classifier is tested
_KEPT = 4  # kinds of features of few samples; of all samples there is memory for one

History = tuple[tuple[int, int], ...]


class Bench:
    """few: how many samples; all if there are no more.

    ledger   of all trials; benches of one search share it
    working  picks of a run
    """

    def __init__(
        self,
        data: Data,
        base: FeatureBase | None,
        *,
        few: int,
        delta: float,
        clock: Clock,
        ledger: list[Trial],
        progress: Callable[[Trial], None] | None = None,
        working: Progress | None = None,
    ) -> None:
        self.data, self.base, self.delta, self.clock, self.ledger = data, base, delta, clock, ledger
        self._progress, self._working = progress, working
        self.is_whole = few >= data.train.count
        self._samples = data if self.is_whole else replace(data, train=_first(data, few), test=None)
        self._histories: dict[bytes, History] = {}
        self._scores: dict[bytes, float] = {}
        self._least = 0  # selected by the best run; 0 before the first
        self._drawn: dict[bytes, Drawn] = {}

    def score(self, recipe: PickRecipe) -> float:
        """The bound that the recipe would have if it stopped at its best place.

        From few samples: if the same share of all samples were selected. A longer recipe that pays there pays here.
        """
        self.history(recipe)
        return self._scores[recipe.to_bytes()]

    def history(self, recipe: PickRecipe) -> History:
        """(picked, wrong) before each round. A run ends when it cannot come below the best one any more."""
        key = recipe.to_bytes()
        if key not in self._histories:
            started = time.monotonic()
            # No run can come below what is known once it has picked as many: bad recipes end soon.
            drawn = self.draw(recipe.at_most(self._least * 65 // 64 + 1) if self._least else recipe)
            history = self._histories[key] = drawn.run(self._working, enough=self._enough(started)).history
            self._least = min([*([self._least] if self._least else []), *(picked + wrong for picked, wrong in history)])
            self._scores[key] = self._tell(recipe, history, len(drawn.labels), started)
            seconds = time.monotonic() - started
            self.clock.reserve(3 * seconds * (self.data.train.count / self._samples.train.count) ** _GROWTH)
        return self._histories[key]

    def _enough(self, started: float) -> Callable[[int, int, int], bool]:
        """No later stop can be better; none was for as many picks again; or there is no time for the same run again."""

        def ask(picked: int, least: int, best: int) -> bool:
            taken = time.monotonic() - started
            if taken > _LEAST_RUN:
                self.clock.reserve(_AGAIN * taken)
            out_of_time = picked > 0 and taken > _LEAST_RUN and self.clock.is_over()
            return picked >= least or picked > 2 * best + _PATIENCE or out_of_time

        return ask

    def draw(self, recipe: PickRecipe) -> Drawn:
        """Features are computed once for all recipes that differ in what comes after."""
        key = replace(recipe, width=0, margin=0, steps=0, start=0, order=LOWEST, most=0).to_bytes()
        if key not in self._drawn:
            while len(self._drawn) >= (1 if self.is_whole else _KEPT):
                self._drawn.pop(next(iter(self._drawn)))
            self._drawn[key] = draw_samples(self._samples, recipe, self.base, repeats=False)
        return replace(self._drawn[key], recipe=recipe)

    def _tell(self, recipe: PickRecipe, history: History, samples: int, started: float) -> float:
        selected = min(picked + wrong for picked, wrong in history)
        bits, every = code_bits(len(recipe.to_bytes())), samples * self.data.train.count // self._samples.train.count
        share = -(-selected * every // samples)
        score = selection_bound(selected=share, samples=every, code_bits=bits, delta=self.delta)
        trial = Trial(f"{recipe} ({samples:,} samples)", selected, bits, score, time.monotonic() - started)
        self.ledger.append(trial)
        if self._progress is not None:
            self._progress(trial)
        return score


def _first(data: Data, count: int) -> Samples:
    """The first samples, in memory."""
    x, y = next(iter(data.train.batches(count)))
    return as_samples((x, y), classes=data.classes)
