"""select: pick samples and train on them in turn, until the others are right.

A kernel machine in integers. It starts with all scores 0, so that every sample is wrong, or with those of a base. In
each round a wrong sample that is not picked yet is picked, the one with the lowest margin or the first by its hash;
then a margin perceptron goes on with all that are picked so far. What was picked and trained depends on the picked
samples alone (and on a base that is older than all samples), and on nothing that differs between machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.picking.features import Features
from netpact.picking.kernel import Kernel, Similarities
from netpact.picking.recipe import PickRecipe
from netpact.picking.recipe_bytes import HASH

_LAST = np.iinfo(np.int64).max
_MOST_SIMILARITIES = 1 << 32  # 8 GB of them

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Selection:
    """What a run came to.

    picks         places of the picked samples, in the order of picking
    coefficients  (picks, classes): the score of class c at x is where it starts, and the sum over picks of coefficient
                  times similarity
    wrong         places of the samples that are not picked, and that the classifier does not get right
    history       (picked, wrong) before each round and at the end
    """

    picks: Integers
    coefficients: Integers
    wrong: Integers
    history: tuple[tuple[int, int], ...]

    @property
    def selected(self) -> int:
        """What the bound pays for: picked samples and those that stayed wrong."""
        return len(self.picks) + len(self.wrong)


def select(
    features: Features,
    labels: Integers,
    recipe: PickRecipe,
    *,
    classes: int,
    keys: list[bytes],
    start: Integers | None = None,
    enough: Callable[[int, int, int], bool] | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Run the recipe. keys: one for each sample; equal margins are decided by them, whatever the order of the samples.

    start   (samples, classes) the scores before the first round, each a function of its own input; None: all are 0
    enough  for a search, which looks for the best place to stop: whether a run may end here, with so many picked, and
            the fewest picked and wrong ones that any stop until now would have had, after how many picks

    Preference: let S be picked and W stay wrong, and let V hold both and be a part of all samples U. In each round the
    pick from U is in V, where it is wrong and the lowest, or the first by its hash, as well. So V has the same rounds,
    ends like U, and its wrong ones are W. Coherence: a further sample that is wrong at the end is picked before, or
    stays wrong. Both are what selection_bound needs.
    """
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    state = _Run(features[order], labels[order], recipe, classes, None if start is None else start[order])
    history = []
    least, best = len(labels), 0
    while True:
        margins = state.open_margins()
        wrong = np.flatnonzero(margins <= 0)
        history.append((len(state.picks), len(wrong)))
        if progress is not None:
            progress(len(state.picks), len(state.picks) + len(wrong))
        if not len(wrong) or len(state.picks) == recipe.most > 0:
            break
        least, best = min((least, best), (len(state.picks) + len(wrong), len(state.picks)))
        if enough is not None and enough(len(state.picks), least, best):
            break
        state.add(int(wrong[0] if recipe.order == HASH else margins.argmin()))
        state.train(1 << recipe.steps)
    return Selection(order[state.picks], state.coefficients(), order[wrong], tuple(history))


def retrain(
    features: Features,
    labels: Integers,
    recipe: PickRecipe,
    *,
    classes: int,
    start: Integers | None = None,
    progress: Progress | None = None,
) -> Integers:
    """The coefficients, from the picked samples alone in the order of picking."""
    state = _Run(features, labels, recipe, classes, start)
    for place in range(len(labels)):
        state.add(place)
        state.train(1 << recipe.steps)
        if progress is not None:
            progress(place + 1, len(labels))
    return state.coefficients()


class _Run:
    """Scores of all samples, and what is known of the picked ones."""

    def __init__(
        self, features: Features, labels: Integers, recipe: PickRecipe, classes: int, start: Integers | None
    ) -> None:
        self._kernel = Kernel(features, halving_distance=recipe.halving_distance)
        self._labels, self._margin, self._classes = labels, recipe.least_margin, classes
        begun = np.zeros((len(labels), classes), dtype=np.int64) if start is None else start
        self._scores = np.ascontiguousarray(begun.T, dtype=np.int64).copy()
        self._columns: list[Similarities] = []
        self._open = np.ones(len(labels), dtype=np.bool_)
        self._among: Similarities = np.zeros((0, 0), dtype=np.uint16)  # of picked samples to each other
        self._own: Integers = np.zeros((0, classes), dtype=np.int64)  # their scores
        self._weights: Integers = np.zeros((0, classes), dtype=np.int64)
        self.picks: Integers = np.zeros(0, dtype=np.int64)

    def coefficients(self) -> Integers:
        return self._weights.copy()

    def open_margins(self) -> Integers:
        """Of all samples; the picked ones are far from being wrong."""
        places = np.arange(len(self._labels))
        own = self._scores[self._labels, places]
        self._scores[self._labels, places] = -_LAST
        others = self._scores.max(axis=0)
        self._scores[self._labels, places] = own
        return np.where(self._open, own - others, _LAST)

    def add(self, place: int) -> None:
        had = len(self.picks)
        if (had + 1) * len(self._labels) > _MOST_SIMILARITIES:
            raise PactError(
                f"{had:,} of {len(self._labels):,} samples are picked, and memory for more is not taken",
                where="picking",
                hint="a recipe with most=... stops earlier, and counts what is wrong then",
            )
        column = self._kernel.column(self._kernel.features[place])
        self._columns.append(column)
        self._open[place] = False
        self.picks = np.append(self.picks, place)
        if had == len(self._among):  # room for twice as many
            grown = np.zeros((2 * had + 1, 2 * had + 1), dtype=np.uint16)
            grown[:had, :had] = self._among
            self._among = grown
        self._among[had, : had + 1] = self._among[: had + 1, had] = column[self.picks]
        self._own = np.concatenate([self._own, self._scores[:, [place]].T])
        self._weights = np.concatenate([self._weights, np.zeros((1, self._classes), dtype=np.int64)])

    def train(self, steps: int) -> None:
        """The picked sample of the lowest margin gets one more of its class and one less of the rival's, step by step.

        Scores of all samples follow once at the end, for what has changed.
        """
        count = len(self.picks)
        labels, rows, before = self._labels[self.picks], np.arange(count), self._weights.copy()
        own, among = self._own, self._among
        mine = own[rows, labels]
        rest = own.copy()
        rest[rows, labels] = -_LAST
        for _ in range(steps):
            rival = rest.max(axis=1)
            margins = mine - rival
            worst = int(margins.argmin())
            if margins[worst] >= self._margin:
                break
            loser, winner = int(rest[worst].argmax()), int(labels[worst])
            column = among[worst, :count].astype(np.int64)
            is_winner, is_loser = labels == winner, labels == loser
            mine += np.where(is_winner, column, 0) - np.where(is_loser, column, 0)
            rest[:, winner] += np.where(is_winner, 0, column)
            rest[:, loser] -= np.where(is_loser, 0, column)
            self._weights[worst, winner] += 1
            self._weights[worst, loser] -= 1
        own[:] = rest
        own[rows, labels] = mine
        for pick, changed in zip(*np.nonzero(self._weights != before), strict=True):
            amount = self._weights[pick, changed] - before[pick, changed]
            self._scores[changed] += amount * self._columns[pick].astype(np.int64)
