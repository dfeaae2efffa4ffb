"""Features of Sobel edges, alone and where scores start at the logits of a base that nothing else is read of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from network.whole_nets import samples, whole

import netpact
from netpact import Data, Pact, PickRecipe, as_data, pick, verify_picked
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Samples, as_samples
from netpact.exploration import search_picks
from netpact.exploration.pick_changes import changes
from netpact.layers import SobelEdges
from netpact.picking import reading
from netpact.picking.base import FeatureBase, as_feature_base
from netpact.picking.features import read_inputs, read_samples
from netpact.picking.learner import select
from netpact.picking.reading import LOGITS
from netpact.picking.recipe_bytes import FONT_STEM

STEM = replace(FONT_STEM, cell=4, stride=2)
ALONE = PickRecipe(features="sobel", stem=STEM, width=34, margin=4)
FROM_BASE = replace(ALONE, start=5)


def inputs(data: Data, count: int = 40) -> np.ndarray:
    return next(iter(data.train.batches(count)))[0]


def test_features_are_those_of_the_stem(rest: Data) -> None:
    x = inputs(rest)
    given = read_inputs(ALONE, x)
    assert np.array_equal(given.features, SobelEdges(STEM)(torch.from_numpy(x)).flatten(1).numpy())
    assert given.features.max() > 20
    assert given.start(ALONE) is None


def test_logits_are_those_that_come_with_features(rest: Data, ground: Pact) -> None:
    base = as_feature_base(ground)
    assert base is not None
    nothing, levels = base.reading(LOGITS)(inputs(rest))
    assert nothing.shape == (40, 0)
    for layer in (1, 2):
        assert np.array_equal(base.reading(layer)(inputs(rest))[1], levels)
    given = read_inputs(FROM_BASE, inputs(rest), base)
    start = given.start(FROM_BASE)
    assert start is not None
    assert np.array_equal(start, levels >> 2)
    assert np.array_equal(given.features, read_inputs(ALONE, inputs(rest)).features)


def test_logits_of_any_integer_network() -> None:
    for seed in range(6):
        module, compressed = whole(seed)
        pact = netpact.seal(compressed)
        base = FeatureBase("drawn", pact, pact.to_module(module))
        x = next(iter(samples().batches(8)))[0]
        alone, beside = base.reading(LOGITS), base.reading(1)
        assert np.array_equal(alone(x)[1], beside(x)[1])
        assert alone._fractions[1] == beside._fractions[1]


def test_stated_and_verified(rest: Data, ground: Pact, others: Samples) -> None:
    alone, begun = pick(rest, ALONE), pick(rest, FROM_BASE, base=ground, base_data=others)
    assert alone.certificate is not None
    assert begun.certificate is not None
    assert (alone.certificate.prior, begun.certificate.prior) == ("data-free", "transfer")
    assert begun.certificate.base_sha256 == ground.message_sha256
    assert "makes from them and from the base (sha256" in begun.certificate.sentence()
    assert begun.certificate.selected < alone.certificate.selected, "the base knows something"
    assert verify_picked(alone, rest)
    assert verify_picked(begun, rest, base=ground, base_data=others)
    with pytest.raises(PactError, match="needs no base"):
        verify_picked(alone, rest, base=ground)
    with pytest.raises(PactError, match="there is none"):
        verify_picked(begun, rest)


def test_the_classifier_counts_as_was_stated(rest: Data, ground: Pact) -> None:
    begun = pick(rest, FROM_BASE, base=ground)
    assert begun.certificate is not None
    assert rest.test is not None
    classifier = begun.to_module(rest, base=ground)
    x, y = next(iter(rest.test.batches(rest.test.count)))
    scores = classifier(torch.from_numpy(x)).numpy()
    ordered = np.sort(scores, axis=1)
    right = (scores.argmax(axis=1) == y) & (ordered[:, -1] > ordered[:, -2])
    assert int(np.count_nonzero(~right)) == begun.certificate.test_errors


def test_preference_and_coherence(rest: Data, ground: Pact) -> None:
    """Any set between the selected samples and all selects the same; a further wrong one would be selected."""
    recipe = replace(FROM_BASE, most=5)
    few = as_samples(next(iter(rest.train.batches(140))), classes=10)
    given, labels = read_samples(recipe, few, as_feature_base(ground))
    start = given.start(recipe)
    assert start is not None
    keys = [bytes([place]) for place in range(140)]

    def run_on(places: np.ndarray) -> tuple[list[int], set[int]]:
        told = [keys[place] for place in places]
        found = select(given.features[places], labels[places], recipe, classes=10, keys=told, start=start[places])
        return places[found.picks].tolist(), set(places[found.wrong].tolist())

    picks, wrong = run_on(np.arange(100))
    assert len(picks) == 5
    assert wrong
    draw = np.random.default_rng(1)
    for _ in range(15):
        part = np.array(sorted({*draw.choice(100, 30, replace=False).tolist(), *picks, *wrong}))
        assert run_on(part) == (picks, wrong)
    for further in range(100, 140):
        more, left = run_on(np.append(np.arange(100), further))
        assert (more == picks and left in (wrong, wrong | {further})) or further in more


def test_features_that_are_too_large_matter_only_where_they_are_read(
    rest: Data, ground: Pact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a base whose activations are too large for exact distances, logits can be used all the same."""
    monkeypatch.setattr(reading, "EXACT", 1 << 10)
    with pytest.raises(PactError, match="squared distances may reach"):
        pick(rest, PickRecipe(features="base", start=5, width=30), base=ground)
    assert pick(rest, FROM_BASE, base=ground).certificate is not None
    found = search_picks(rest, out=tmp_path, rounds=0, base=ground)
    assert found.picked.recipe.features == "sobel"
    halves = as_data((inputs(rest, 300), np.arange(300) % 2))
    with pytest.raises(PactError, match="squared distances may reach"):
        search_picks(halves, out=tmp_path / "halves", rounds=0, base=ground)


@pytest.mark.parametrize(
    ("shape", "told"), [((64,), "images"), ((2, 8, 8), "1 or 3 channels"), ((1, 3, 8), "4 to 64 pixels")]
)
def test_what_has_no_edges(shape: tuple[int, ...], told: str) -> None:
    x = np.random.default_rng(0).random((20, *shape), dtype=np.float32)
    samples = ArraySamples(x, np.arange(20) % 10, "sample", 10)
    with pytest.raises(PactError, match=told):
        pick(Data("other", 10, samples), ALONE)


def test_a_search_changes_what_the_data_allow(rest: Data) -> None:
    """Cells no larger than the image; a start that is 0 stays 0, and no other one becomes 0."""
    for recipe, needs in ((ALONE, False), (replace(FROM_BASE, start=1), True)):
        found = list(changes(recipe, rest, features=True))
        assert {one.needs_base for one in found} == {needs}
        assert max(one.stem.cell for one in found) == 8
        assert {one.stem.resize for one in found} == {True, False}
        assert len({one.to_bytes() for one in found}) == len(found)
    assert {one.start for one in found} == {1, 2}
    assert all(one.stem == STEM for one in changes(FROM_BASE, rest, features=False))
