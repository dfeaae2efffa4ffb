"""The order of the samples. With a data-dependent prior places decide which samples are certified. The adversary tried:

- writing the data file after looking: samples that the network gets right at the certified places, all others at the
  helper's. Hold-out bound and certificate were a few percent at a true error of 40 %, and verify agreed;
- calling the order published when it is not, by name or by word;
- calling the seed public while the samples stand in an order of the adversary's;
- with a public seed, trying many numbers of copies: they are not counted, but the split depends on how many there are;
- a certificate without a word about the order, as an old netpact wrote it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpact.certificates import Certificate
from netpact.cli.app import run
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data, Split, add_label_noise, key_samples, load_data, sort_samples
from netpact.methods import QuantizeDifference, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box, verify_box
from netpact.pacts.priors import Base, helper_module, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions

SPLIT = Split(percent=50, counter=4)
RECIPE = Recipe("linear", TrainOptions(epochs=8, learning_rate=0.05), SPLIT)
CHOSEN = "the order of the samples was not chosen by looking at them"
NOISE = 0.4


@dataclass(frozen=True, eq=False)
class Case:
    data: Data
    helper: Base
    pact: Pact

    @property
    def stated(self) -> Certificate:
        assert self.pact.certificate is not None
        return self.pact.certificate


def certified(data: Data, **options: Any) -> Case:
    helper = train_helper(data, RECIPE)
    compressed = compress(trace(helper_module(helper, RECIPE, data), data), QuantizeDifference(helper))
    return Case(data, helper, certify(compressed, data, base=helper, **options))


def draw(count: int = 1200) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Two classes told by one number; 40 % of the labels are wrong, and no network can do better than that."""
    random = np.random.default_rng(3)
    x = random.standard_normal((count, 4)).astype(np.float32)
    wrong = random.random(count) < NOISE
    return x, ((x[:, 0] > 0) ^ wrong).astype(np.int64), wrong


def chosen_order() -> Data:
    """The wrong labels at the helper's places as far as they reach, the right ones at the certified places."""
    x, y, wrong = draw()
    seen, judged = SPLIT.indices(len(y))
    order = np.empty(len(y), dtype=np.int64)
    easy_first = np.argsort(wrong, kind="stable")
    order[judged], order[seen] = easy_first[: len(judged)], easy_first[len(judged) :]
    return Data("mine", 2, ArraySamples(x[order], y[order], "mine train", 2))


@pytest.fixture(scope="module")
def chosen() -> Case:
    """The helper's part holds mostly wrong labels, so the adversary takes the weights from elsewhere."""
    data, x = chosen_order(), draw()[0]
    honest = train_helper(Data("clean", 2, ArraySamples(x, (x[:, 0] > 0).astype(np.int64), "clean", 2)), RECIPE)
    helper = Base("helper", honest.tensors, data.train.fingerprint(), RECIPE)
    compressed = compress(trace(helper_module(helper, RECIPE, data), data), QuantizeDifference(helper))
    return Case(data, helper, certify(compressed, data, base=helper))


def test_the_attack_works_and_the_sentence_names_what_it_broke(chosen: Case) -> None:
    assert chosen.stated.bound < NOISE / 2, "the bound is false, as the premise is"
    assert chosen.stated.order == "declared"
    assert chosen.stated.sentence().startswith(f"If {CHOSEN}")
    verdict = verify(chosen.pact, chosen.data, base=chosen.helper)
    assert verdict
    assert f"If {CHOSEN}" in str(verdict)


@pytest.mark.parametrize("order", ["published", "public-seed"])
def test_the_word_of_the_file_is_not_taken(chosen: Case, order: str) -> None:
    source = "a beacon" if order == "public-seed" else ""
    forged = chosen.pact.with_certificate(replace(chosen.stated, order=order, order_source=source))
    verdict = verify(forged, chosen.data, base=chosen.helper)
    assert not verdict
    assert "order" in str(verdict)
    named = replace(chosen.data, name="mnist")
    assert not verify(forged, named, base=chosen.helper)


def test_a_certificate_without_a_word_about_the_order(chosen: Case) -> None:
    content = chosen.stated.to_json()
    del content["order"]
    old = Certificate.from_json(content)
    assert old.sentence().startswith(f"If {CHOSEN}")
    assert f"If {CHOSEN}" in str(verify(chosen.pact.with_certificate(old), chosen.data, base=chosen.helper))


def test_published_data_need_no_premise(digits: Data) -> None:
    case = certified(digits)
    assert case.stated.order == "published"
    assert "published" in case.stated.sentence()
    assert CHOSEN not in case.stated.sentence()
    # The verifier says what it found, whatever the file says.
    modest = case.pact.with_certificate(replace(case.stated, order="declared"))
    verdict = verify(modest, digits, base=case.helper)
    assert verdict
    assert CHOSEN not in str(verdict)


def test_variants_and_first_samples_keep_the_published_order(digits: Data) -> None:
    from netpact.datasets import published_name

    for name in ("digits:permuted-pixels", "digits:random-labels", "digits:symmetric-0.2", "digits:sorted"):
        assert published_name(load_data(name).train) == "digits"
    assert published_name(load_data("digits", limit=300).train) == "digits"
    assert published_name(add_label_noise(digits, kind="symmetric", rate=0.1, seed=Seed(9)).train) == ""
    x, y = next(iter(digits.train.batches(2000)))
    assert published_name(ArraySamples(x, y, "whatever", 10)) == "digits"
    assert published_name(ArraySamples(x[::-1], y[::-1], "digits train", 10)) == ""
    assert (
        published_name(replace(load_data("digits", limit=300), train=ArraySamples(x[5:], y[5:], "t", 10)).train) == ""
    )


def test_with_a_public_seed_the_order_in_the_file_has_no_influence(tmp_path: Path) -> None:
    x, y, _ = draw()
    files = []
    for name, order in (("one", np.arange(len(y))), ("two", np.random.default_rng(8).permutation(len(y)))):
        files.append(tmp_path / f"{name}.npz")
        np.savez(files[-1], x_train=x[order], y_train=y[order])
    one, two = (load_data(f"{path}:sorted") for path in files)
    assert one.train.fingerprint() == two.train.fingerprint()
    assert one.name == "one:sorted"
    keys = key_samples(one.train)
    assert keys == sorted(keys)
    case = certified(one, public_seed="block 840000 of a chain")
    assert (case.stated.order, case.stated.order_source) == ("public-seed", "block 840000 of a chain")
    said = 'If the seed 4 ("block 840000 of a chain") was fixed publicly before the samples were collected'
    assert case.stated.sentence().startswith(said)
    verdict = verify(case.pact, two, base=case.helper)
    assert verdict
    assert said in str(verdict)
    refused = verify(case.pact, load_data(files[1]), base=case.helper)
    assert not refused
    assert ":sorted" in str(refused)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x, y, _ = draw(300)
    np.savez("own.npz", x_train=x, y_train=y)
    data, base = ["--data", "own.npz:sorted"], ["--base", "h.safetensors"]
    split = ["--helper-percent", "50", "--split-counter", "4"]
    assert run(["train", "linear", *data, *split, "--epochs", "2", "--out", "h.safetensors"]) == 0
    assert run(["compress", "linear", *data, "--weights", "h.safetensors", *base, "--out", "n.pact"]) == 0
    assert run(["certify", "n.pact", *data, *base, "--public-seed", "a beacon", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == {"fixed_by": "public-seed", "source": "a beacon"}
    assert run(["verify", "n.pact", *data, *base]) == 0
    assert 'If the seed 4 ("a beacon") was fixed publicly' in capsys.readouterr().err
    assert run(["verify", "n.pact", "--data", "own.npz", *base]) == 1


def test_a_public_seed_needs_sorted_samples_and_a_split(chosen: Case, digits: Data) -> None:
    with pytest.raises(PactError, match="sorted"):
        certify(chosen.pact, chosen.data, base=chosen.helper, public_seed="a beacon")
    from netpact.methods import Quantize
    from netpact.models import build, parse_model

    module = build(parse_model("linear", input_shape=digits.input_shape, classes=10))
    with pytest.raises(PactError, match="no samples are set aside"):
        certify(compress(trace(module, digits), Quantize()), digits, public_seed="a beacon")


def test_copies_do_not_choose_the_split_of_a_public_seed() -> None:
    x, y, _ = draw(300)
    grown = sort_samples(Data("mine", 2, ArraySamples(np.concatenate([x, x[:7]]), np.concatenate([y, y[:7]]), "m", 2)))
    with pytest.raises(PactError, match="without copies"):
        certified(grown, public_seed="a beacon")
    case = certified(grown)
    forged = case.pact.with_certificate(replace(case.stated, order="public-seed", order_source="a beacon"))
    assert "without copies" in str(verify(forged, grown, base=case.helper))
    declared = certified(grown, public_seed="a beacon", repeats=True)
    assert verify(declared.pact, grown, base=declared.helper)


def test_sorting_keeps_the_samples() -> None:
    x, y, _ = draw(50)
    data = Data("mine", 2, ArraySamples(x, y, "mine train", 2))
    ordered = sort_samples(data)
    assert sorted(key_samples(ordered.train)) == sorted(key_samples(data.train))
    assert sort_samples(ordered).train.fingerprint() == ordered.train.fingerprint()


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"order": "mine"}, "order"),
        ({"order": "published", "order_source": "x"}, "order_source"),
        ({"order": "public-seed"}, "order_source"),
        ({"order": "public-seed", "order_source": "x" * 81}, "order_source"),
        ({"order": "public-seed", "order_source": "a\x1b[2Jb"}, "order_source"),
    ],
)
def test_bad_words_about_the_order(chosen: Case, changes: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as caught:
        replace(chosen.stated, **changes)
    assert caught.value.where == where


def test_the_statement_about_the_original_carries_the_premise(chosen: Case) -> None:
    original = helper_module(chosen.helper, RECIPE, chosen.data)
    box = certify_box(chosen.pact, original, chosen.data, base=chosen.helper)
    assert box.sentence().startswith(f"If {CHOSEN}")
    assert verify_box(chosen.pact.with_original(box), original, chosen.data, base=chosen.helper)
