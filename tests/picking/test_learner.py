"""The learner: equal to an obvious slow one, the same for every order, with preference and coherence."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from netpact import PickRecipe, load_data
from netpact.core.errors import PactError
from netpact.datasets.copies import key_batch
from netpact.picking.features import compute_features
from netpact.picking.kernel import Kernel, staircase
from netpact.picking.learner import Selection, retrain, select
from netpact.picking.recipe import UNIT
from netpact.picking.recipe_bytes import FONT_STEM, HASH, LOWEST, ORDERS, ORIENTED, SOBEL

RECIPE = PickRecipe(width=8, margin=3, steps=3)


def make(count: int, *, seed: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """Points of a plane in classes that overlap; some equal inputs, some with other labels."""
    random_numbers = np.random.default_rng(seed)
    y = random_numbers.integers(0, classes, count)
    x = np.clip(random_numbers.normal(0.2 + 0.25 * y[:, None], 0.15, (count, 2)), 0, 1).astype(np.float32)
    x = np.round(x * 15).astype(np.float32) / np.float32(15)
    return compute_features(RECIPE, x), y.astype(np.int64), key_batch(x, y.astype(np.int64))


def run(made: tuple[np.ndarray, np.ndarray, list[bytes]], recipe: PickRecipe = RECIPE) -> Selection:
    features, labels, keys = made
    return select(features, labels, recipe, classes=3, keys=keys)


def similarity(a: Any, b: Any, halving: int) -> int:
    """In whole numbers, by the definition."""
    steps = 64 * sum((int(p) - int(q)) ** 2 for p, q in zip(a, b, strict=True)) // halving
    t = int(UNIT * 2 ** (-steps / 64)) + 1 if steps < 5000 else 1
    while t and t**64 << steps > UNIT**64:
        t -= 1
    return t


def slow_select(
    features: Any, labels: Any, keys: list[bytes], recipe: PickRecipe, classes: int
) -> tuple[list[int], int]:
    """No arrays, nothing kept: every score is added up anew."""
    order = sorted(range(len(labels)), key=keys.__getitem__)
    picks: list[int] = []
    weights: list[list[int]] = []

    def scores(i: int) -> list[int]:
        near = [similarity(features[i], features[j], recipe.halving_distance) for j in picks]
        return [sum(w[c] * k for w, k in zip(weights, near, strict=True)) for c in range(classes)]

    def margin(i: int) -> int:
        found = scores(i)
        return found[labels[i]] - max(s for c, s in enumerate(found) if c != labels[i])

    while True:
        wrong = [(margin(i), rank, i) for rank, i in enumerate(order) if i not in picks]
        wrong = [one for one in wrong if one[0] <= 0]
        if not wrong or len(picks) == recipe.most > 0:
            return picks, len(wrong)
        picks.append((min(wrong) if recipe.order == LOWEST else min(wrong, key=lambda one: one[1]))[2])
        weights.append([0] * classes)
        for _ in range(2**recipe.steps):
            margins = [margin(i) for i in picks]
            worst = margins.index(min(margins))
            if margins[worst] >= recipe.least_margin:
                break
            found, label = scores(picks[worst]), labels[picks[worst]]
            rivals = [s if c != label else -math.inf for c, s in enumerate(found)]
            weights[worst][label] += 1
            weights[worst][rivals.index(max(rivals))] -= 1


BY_HASH = PickRecipe(width=8, margin=3, steps=3, order=HASH)
BOTH = pytest.mark.parametrize("order", ORDERS)


@pytest.mark.parametrize(
    "recipe", [RECIPE, PickRecipe(width=10, margin=5, steps=2), PickRecipe(width=6, most=4), BY_HASH]
)
def test_it_is_the_obvious_learner(recipe: PickRecipe) -> None:
    features, labels, keys = made = make(26, seed=1)
    found = run(made, recipe)
    picks, wrong = slow_select(features, labels, keys, recipe, 3)
    assert found.picks.tolist() == picks
    assert len(found.wrong) == wrong
    assert found.history[-1] == (len(picks), wrong)


def test_the_staircase_is_a_power_of_two_rounded_down() -> None:
    stairs = staircase()
    with mp.workdps(30):
        expected = [int(mp.floor(UNIT * mpf(2) ** (-mpf(i) / 64))) for i in range(len(stairs))]
    assert stairs.tolist() == expected
    assert stairs[0] == UNIT
    assert stairs[-1] == 0


def test_similarities_are_those_of_the_definition() -> None:
    features = np.random.default_rng(0).integers(0, 900, (12, 5)).astype(np.float32)
    kernel = Kernel(features, halving_distance=70_000)
    block = kernel.block(features.astype(np.float64))
    for i in range(12):
        assert kernel.column(features[i].astype(np.float64)).tolist() == block[:, i].tolist()
        assert block[i].tolist() == [similarity(features[i], other, 70_000) for other in features]


@BOTH
def test_the_order_of_the_samples_decides_nothing(order: str) -> None:
    features, labels, keys = made = make(80, seed=2)
    recipe = replace(RECIPE, order=order)
    first = run(made, recipe)
    for seed in range(3):
        turned = np.random.default_rng(seed).permutation(80)
        again = run((features[turned], labels[turned], [keys[i] for i in turned]), recipe)
        assert [keys[i] for i in first.picks] == [keys[i] for i in turned[again.picks]]
        assert sorted(keys[i] for i in first.wrong) == sorted(keys[i] for i in turned[again.wrong])


def test_the_first_wrong_one_by_its_hash_is_picked() -> None:
    made = make(60, seed=3)
    keys = made[2]
    picks = run(made, BY_HASH).picks
    assert keys[picks[0]] == min(keys), "at first all are wrong"
    assert picks.tolist() != run(made).picks.tolist()


@BOTH
@pytest.mark.parametrize("most", [0, 5, 20])
@pytest.mark.parametrize("seed", range(6))
def test_preference(seed: int, most: int, order: str) -> None:
    """Any set between what is selected and all samples selects the same: what the theorem rests on."""
    recipe = PickRecipe(width=8, margin=3, steps=3, most=most, order=order)
    features, labels, keys = made = make(70, seed=seed)
    whole = run(made, recipe)
    selected = {*whole.picks.tolist(), *whole.wrong.tolist()}
    draw = random.Random(seed)
    for share in (0.0, 0.3, 0.8):
        part = np.array(sorted(selected | {i for i in range(70) if draw.random() < share}))
        again = run((features[part], labels[part], [keys[i] for i in part]), recipe)
        assert part[again.picks].tolist() == whole.picks.tolist()
        assert sorted(part[again.wrong].tolist()) == sorted(whole.wrong.tolist())
        assert (again.coefficients == whole.coefficients).all()


@BOTH
@pytest.mark.parametrize("most", [0, 6])
def test_coherence(most: int, order: str) -> None:
    """A further sample that is wrong in the end is selected when it is there."""
    recipe = PickRecipe(width=8, margin=3, steps=3, most=most, order=order)
    features, labels, keys = make(90, seed=9)
    seen = 0
    for i in range(50, 90):
        before = run((features[:50], labels[:50], keys[:50]), recipe)
        near = Kernel(features[i : i + 1], halving_distance=recipe.halving_distance)
        scores = near.block(features[before.picks].astype(np.float64)).astype(np.int64)[0] @ before.coefficients
        is_wrong = max(s for c, s in enumerate(scores) if c != labels[i]) >= scores[labels[i]]
        if is_wrong:
            seen += 1
            core = [*before.picks.tolist(), *before.wrong.tolist(), i]
            after = run((features[core], labels[core], [keys[j] for j in core]), recipe)
            assert after.selected == before.selected + 1 or i in np.array(core)[[*after.picks, *after.wrong]]
            assert i in np.array(core)[[*after.picks, *after.wrong]]
    assert seen > 3


def test_stopping_earlier_is_a_beginning_of_the_same_run() -> None:
    made = make(70, seed=4)
    whole, short = run(made), run(made, PickRecipe(width=8, margin=3, steps=3, most=9))
    assert short.picks.tolist() == whole.picks[:9].tolist()
    assert short.history == whole.history[:10]


@pytest.mark.parametrize("seed", range(6))
def test_nothing_better_follows_where_a_search_stops(seed: int) -> None:
    """Classes that overlap: after its best stop a run picks most of the samples."""
    made = make(120, seed=seed)
    features, labels, keys = made
    whole, short = (
        run(made),
        select(features, labels, RECIPE, classes=3, keys=keys, enough=lambda picked, least, _: picked >= least),
    )
    stopped = len(short.history)
    assert short.history == whole.history[:stopped]
    best = min(picked + wrong for picked, wrong in whole.history)
    assert min(picked + wrong for picked, wrong in short.history) == best
    assert stopped <= best + 1
    assert whole.history[-1][1] == 0


def test_the_picked_samples_alone_give_the_classifier() -> None:
    features, labels, _ = made = make(70, seed=5)
    found = run(made)
    again = retrain(features[found.picks], labels[found.picks], RECIPE, classes=3)
    assert (again == found.coefficients).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_features_do_not_depend_on_batches_and_threads(threads: int) -> None:
    import torch

    data = load_data("digits", limit=30)
    x, _ = next(iter(data.train.batches(30)))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for recipe in (
            PickRecipe(bits=3),
            PickRecipe(features=ORIENTED, cell=4, stride=2, orientations=12),
            PickRecipe(features=SOBEL, stem=replace(FONT_STEM, cell=4, stride=2)),
        ):
            whole = compute_features(recipe, x)
            assert (whole == np.rint(whole)).all()
            assert (np.concatenate([compute_features(recipe, x[i : i + 1]) for i in range(30)]) == whole).all()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("value", [1.01, -0.1, np.nan, np.inf])
def test_inputs_outside_of_0_to_1_are_named(value: float) -> None:
    x = np.full((5, 4), 0.5, dtype=np.float32)
    x[3, 2] = value
    with pytest.raises(PactError, match=r"sample 10.*|outside of 0 to 1"):
        compute_features(PickRecipe(), x, first=7)
