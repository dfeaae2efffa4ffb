"""Features of an integer network from other data: exact, the same by a slow way, identified, stated, verified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from network.whole_nets import samples, whole

import netpact
from netpact import Data, Pact, Picked, PickRecipe, pick, verify_picked
from netpact.certificates import PRIORS, SelectionCertificate, selection_bound
from netpact.cli.app import run
from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.layers.whole.account import in_integers
from netpact.layers.whole.layers import WholeLayer
from netpact.layers.whole.proving import run_counted
from netpact.picking.base import FeatureBase, as_feature_base
from netpact.picking.features import read_inputs, read_samples
from netpact.picking.learner import select

RECIPE = PickRecipe(features="base", layer=2, start=5, width=30, margin=4)


def stated(picked: Picked) -> SelectionCertificate:
    assert picked.certificate is not None
    return picked.certificate


def inputs(data: Data, count: int = 40) -> np.ndarray:
    return next(iter(data.train.batches(count)))[0]


@pytest.mark.parametrize("layer", [1, 2])
def test_features_are_what_the_layer_reads(rest: Data, ground: Pact, layer: int) -> None:
    """Against the network run by hand, in 64-bit integers, with its numbers looked at on the way."""
    base = as_feature_base(ground)
    assert base is not None
    features, levels = base.reading(layer)(inputs(rest))
    module = ground.to_module()
    parts = [part for part in module.modules() if isinstance(part, WholeLayer)]
    read: list[torch.Tensor] = []
    parts[-layer].register_forward_pre_hook(lambda _, given: read.append(given[0].clone()))
    with in_integers():
        logits = run_counted(module, torch.from_numpy(inputs(rest)).double())
    grid = parts[-layer].grid
    raw = read[0].as_subclass(torch.Tensor).numpy()
    for row in range(len(raw)):
        for column in range(raw.shape[1]):
            wanted = round(min(max(int(raw[row, column]), grid.low), grid.high) * grid.gain / 2**grid.divide)
            assert features[row, column] == wanted
    assert features.max() > 20, "not all are rounded away"
    largest = parts[-1].most
    assert largest is not None
    scaled = logits.numpy() * 2.0 ** (22 - largest.bit_length())
    assert np.array_equal(levels, np.floor(scaled).astype(np.int64))
    assert np.abs(levels).max() < 1 << 22


@pytest.mark.parametrize("seed", range(6))
def test_features_of_any_integer_network(seed: int) -> None:
    """Skips, pools, halves, groups: every layer, against what the layer itself makes of its input."""
    module, compressed = whole(seed)
    pact = netpact.seal(compressed)
    network = pact.to_module(module)
    base = FeatureBase("drawn", pact, network)
    x = torch.from_numpy(next(iter(samples().batches(12)))[0])
    parts = [part for part in network.modules() if isinstance(part, WholeLayer) and not part.grid.levels]
    assert len(parts) == base.layers
    for layer in range(1, base.layers + 1):
        grid, read = parts[-layer].grid, list[torch.Tensor]()
        tap = parts[-layer].register_forward_pre_hook(lambda _, given, read=read: read.append(given[0].clone()))
        with torch.no_grad():
            network(x)
        tap.remove()
        features, _ = base.reading(layer)(x.numpy())
        assert np.array_equal(features, grid.round_input(read[0].double()).flatten(1).numpy())
        assert features.any()


def test_features_stay_below_what_was_proven(rest: Data, ground: Pact) -> None:
    """For inputs that no data set has: far outside, all at once, drawn."""
    base = as_feature_base(ground)
    assert base is not None
    drawn = np.random.default_rng(0).normal(0, 1e6, (60, 1, 8, 8)).astype(np.float32)
    ends = np.sign(drawn).astype(np.float32) * np.float32(3e38)
    for x in (drawn, ends):
        for layer in (1, 2):
            reading = base.reading(layer)
            features, levels = reading(x)
            assert features.max() <= reading.most
            assert features.min() >= -reading.most
            assert np.abs(levels).max() < 1 << 22
    with pytest.raises(PactError, match="NaN"):
        base.reading(1)(drawn * np.float32("nan"))


def test_a_run_from_the_logits_equals_the_slow_way(rest: Data, ground: Pact) -> None:
    base = as_feature_base(ground)
    few = netpact.datasets.as_samples((next(iter(rest.train.batches(120)))), classes=10)
    given, labels = read_samples(RECIPE, few, base)
    start = given.start(RECIPE)
    assert start is not None
    keys = [bytes([place * 7 % 120]) for place in range(len(labels))]  # another order than that of the samples
    found = select(given.features, labels, RECIPE, classes=10, keys=keys, start=start)
    near = np.array([[_similar(a, given.features[p]) for p in found.picks] for a in given.features], dtype=np.int64)
    scores = start + near @ found.coefficients
    own = scores[np.arange(len(labels)), labels]
    scores[np.arange(len(labels)), labels] = np.iinfo(np.int64).min
    wrong = set(np.flatnonzero(own <= scores.max(axis=1)).tolist()) - set(found.picks.tolist())
    assert wrong == set(found.wrong.tolist())
    lowest = start[np.arange(len(labels)), labels] - _rivals(start, labels)
    assert found.picks[0] == int(lowest.argmin())
    assert found.history[0] == (0, int(np.count_nonzero(lowest <= 0)))
    assert 0 < found.history[0][1] < len(labels), "the base is right about some"


def _similar(a: np.ndarray, b: np.ndarray) -> int:
    steps = 64 * sum((int(p) - int(q)) ** 2 for p, q in zip(a, b, strict=True)) // RECIPE.halving_distance
    found = int(4096 * 2 ** (-steps / 64))
    return next(t for t in range(found + 1, -1, -1) if t**64 << min(steps, 4000) <= 4096**64)


def _rivals(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    others = scores.copy()
    others[np.arange(len(labels)), labels] = np.iinfo(np.int64).min // 2
    return np.asarray(others.max(axis=1))


def test_preference_and_coherence_with_a_base(rest: Data, ground: Pact) -> None:
    """Any set between the selected samples and all selects the same; a further wrong one would be selected."""
    base = as_feature_base(ground)
    few = netpact.datasets.as_samples((next(iter(rest.train.batches(150)))), classes=10)
    recipe = replace(RECIPE, most=6)
    given, labels = read_samples(recipe, few, base)
    start = given.start(recipe)
    assert start is not None
    keys = [bytes([place]) for place in range(150)]

    def run_on(places: np.ndarray) -> tuple[list[int], set[int]]:
        found = select(
            given.features[places],
            labels[places],
            recipe,
            classes=10,
            keys=[keys[place] for place in places],
            start=start[places],
        )
        return places[found.picks].tolist(), set(places[found.wrong].tolist())

    whole = np.arange(100)
    picks, wrong = run_on(whole)
    assert len(picks) == 6
    assert wrong
    draw = np.random.default_rng(1)
    for _ in range(20):
        kept = draw.choice(whole, 30, replace=False)
        part = np.array(sorted({*kept.tolist(), *picks, *wrong}))
        assert run_on(part) == (picks, wrong)
    for further in range(100, 150):
        more, left = run_on(np.append(whole, further))
        assert (more == picks and left in (wrong, wrong | {further})) or further in more


def test_what_is_stated_and_verified(on_base: Picked, rest: Data, ground: Pact, others: Samples) -> None:
    told = stated(on_base)
    assert told.prior == "transfer"
    assert told.prior in PRIORS
    assert told.base_sha256 == ground.message_sha256
    assert told.base_data_fingerprint == others.fingerprint()
    assert told.sentence().startswith('If the base network "base" was fixed before the data, with probability')
    assert "hold-out" in told.sentence()
    assert "as a message" in told.sentence()
    assert any("none of which are samples" in line for line in told.declarations)
    assert any(told.base_sha256 in line for line in told.assumptions)
    assert told.to_json()["base"] == {
        "name": "base",
        "sha256": ground.message_sha256,
        "data_fingerprint": others.fingerprint(),
    }
    again = Picked.from_bytes(on_base.to_bytes())
    assert again.certificate == told
    verdict = verify_picked(again, rest, base=ground, base_data=others)
    assert verdict.agreed
    assert "bit for bit" in str(verdict)


def test_the_classifier_alone(on_base: Picked, rest: Data, ground: Pact) -> None:
    classifier = on_base.to_module(rest, base=ground)
    assert rest.test is not None
    x, y = next(iter(rest.test.batches(rest.test.count)))
    scores = classifier(torch.from_numpy(x)).numpy()
    ordered = np.sort(scores, axis=1)
    right = (scores.argmax(axis=1) == y) & (ordered[:, -1] > ordered[:, -2])
    assert int(np.count_nonzero(~right)) == stated(on_base).test_errors
    with pytest.raises(PactError, match="there is none"):
        on_base.to_module(rest)


@pytest.mark.parametrize("change", ["sha256", "fingerprint", "no base"])
def test_lies_about_the_base_are_refused(
    on_base: Picked, rest: Data, ground: Pact, others: Samples, change: str
) -> None:
    changes: dict[str, dict[str, Any]] = {
        "sha256": {"base_sha256": "0" * 64},
        "fingerprint": {"base_data_fingerprint": "sha256:" + "0" * 64},
        "no base": {"base_sha256": "", "base_name": "", "base_data_fingerprint": ""},
    }
    lie = on_base.with_certificate(replace(stated(on_base), **changes[change]))
    assert not verify_picked(lie, rest, base=ground, base_data=others)
    assert not verify_picked(lie, rest, base=ground)


def test_one_without_a_base_takes_none(rest: Data, ground: Pact) -> None:
    plain = pick(rest, PickRecipe(width=20, margin=5))
    assert stated(plain).prior == "data-free"
    assert "base" not in stated(plain).to_json()
    with pytest.raises(PactError, match="needs no base"):
        verify_picked(plain, rest, base=ground)
    claimed = replace(stated(plain), base_name="base", base_sha256=ground.message_sha256)
    assert not verify_picked(plain.with_certificate(claimed), rest)


def test_every_bit_of_the_recipe_is_paid_for(on_base: Picked) -> None:
    told = stated(on_base)
    assert (len(on_base.message), told.code_bits) == (3, 29)
    assert len(replace(RECIPE, most=127 << 14).to_bytes()) == 4
    assert told.bound == pytest.approx(
        selection_bound(selected=told.selected, samples=told.samples, code_bits=29, delta=0.05)
    )


def test_on_the_command_line(tmp_path: Path, rest: Data, ground: Pact, others: Samples, capsys: Any) -> None:
    files = {}
    for name, each in (("rest", rest.train), ("others", others)):
        x, y = next(iter(each.batches(each.count)))
        files[name] = str(tmp_path / f"{name}.npz")
        np.savez(files[name], x_train=x, y_train=y)
    base, out = str(ground.write(tmp_path / "ground.pact")), tmp_path / "found"
    search = ["search", "--kind", "sample-compression", "--data", files["rest"], "--base", base, "--out", str(out)]
    assert run([*search, "--base-data", files["others"], "--rounds", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert "start 5" in record["recipe"], "from the base's logits"
    verify = ["verify", str(out / "best.pick"), "--data", files["rest"]]
    assert run([*verify, "--base", base, "--base-data", files["others"], "--retrain"]) == 0
    assert "picked again, bit for bit" in " ".join(capsys.readouterr().err.split())
    assert run(verify) == 2
    assert "supply it: --base" in capsys.readouterr().err
    assert run([*verify, "--base", base, "--base-data", files["rest"]]) == 1
    assert run([*search, "--base-data", files["rest"], "--rounds", "1"]) == 2
    assert "its file says" in " ".join(capsys.readouterr().err.split())
    plain = ["search", "--data", files["rest"], "--base", base, "--out", str(out)]
    assert run(plain) == 2
    assert "sample-compression" in capsys.readouterr().err


def test_scores_start_at_logits_of_the_same_classes_only(rest: Data, ground: Pact) -> None:
    x, y = next(iter(rest.train.batches(rest.train.count)))
    halves = netpact.as_data((x, (y > 4).astype(np.int64)))
    with pytest.raises(PactError, match="it has 10 classes"):
        pick(halves, RECIPE, base=ground)
    found = pick(halves, replace(RECIPE, start=0), base=ground)
    assert verify_picked(found, halves, base=ground)


def test_features_of_one_input_do_not_depend_on_the_others(rest: Data, ground: Pact) -> None:
    base = as_feature_base(ground)
    together = read_inputs(RECIPE, inputs(rest), base)
    for row in (0, 7, 39):
        alone = read_inputs(RECIPE, inputs(rest)[row : row + 1], base)
        assert np.array_equal(alone.features[0], together.features[row])
