"""Label noise: who changes, to what, how often, and that the test set goes along."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chisquare

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Batch, Data, add_label_noise, load_data, open_stream

COUNT, CLASSES = 20_000, 5


def plain(count: int = COUNT) -> Data:
    def part(which: str) -> ArraySamples:
        return ArraySamples(np.zeros((count, 1), dtype=np.float32), np.arange(count) % CLASSES, which, CLASSES)

    return Data("own", CLASSES, part("train"), part("test"))


def moved(data: Data, which: str) -> NDArray[np.int64]:
    """By how many classes each label moved."""
    samples = getattr(data, which)
    return (np.concatenate([y for _, y in samples.batches()]) - np.arange(samples.count)) % CLASSES


@pytest.mark.parametrize("kind", ["symmetric", "pair-flip"])
def test_rates_and_places(kind: str) -> None:
    data = add_label_noise(plain(), kind=kind, rate=0.3, seed=Seed(2))
    for which in ("train", "test"):
        away = moved(data, which)
        assert binomtest(int((away > 0).sum()), COUNT, 0.3).pvalue > 1e-3
        assert (away > 0).sum() != 6000, "coins, not an exact share"
        counts = np.bincount(away, minlength=CLASSES)[1:]
        if kind == "symmetric":
            assert chisquare(counts).pvalue > 1e-3
        else:
            assert counts[1:].sum() == 0
    assert not np.array_equal(moved(data, "train"), moved(data, "test"))


@pytest.mark.parametrize("kind", ["symmetric", "pair-flip"])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.45, 0.5, 1.0])
def test_the_labels_that_change_are_those_whose_coin_falls_below_the_rate(kind: str, rate: float) -> None:
    """Exactly so many, and a higher rate changes the same ones and more; the test labels stay true."""
    data = add_label_noise(plain(), kind=kind, rate=rate, seed=Seed(2), parts="train")
    coins = Seed(2).child("label noise", kind, "train").numpy().random(COUNT)
    away = moved(data, "train")
    assert np.array_equal(away > 0, coins < rate)
    assert abs((away > 0).sum() - rate * COUNT) < 4 * np.sqrt(COUNT * rate * (1 - rate)) + 1
    assert not moved(data, "test").any()


def test_seeds_and_clean_tests() -> None:
    noisy = [add_label_noise(plain(), kind="symmetric", rate=0.3, seed=Seed(seed)) for seed in (2, 2, 3)]
    prints = [data.train.fingerprint() for data in noisy]
    assert prints[0] == prints[1] != prints[2]
    half = add_label_noise(plain(), kind="symmetric", rate=0.3, seed=Seed(2), parts="train")
    assert half.name == "own:symmetric-0.3-clean-test"
    assert half.train.fingerprint() == prints[0]
    assert not moved(half, "test").any()


def test_loaders_are_brought_into_memory() -> None:
    class Loader:
        def __iter__(self) -> Iterator[Batch]:
            return plain(50).train.batches(8)

    data = Data("own", CLASSES, open_stream(Loader(), name="loader", classes=CLASSES))
    there = add_label_noise(data, kind="symmetric", rate=0.5, seed=Seed(1))
    here = add_label_noise(plain(50), kind="symmetric", rate=0.5, seed=Seed(1))
    assert there.train.fingerprint() == here.train.fingerprint()


def test_names_of_variants() -> None:
    clean, noisy = load_data("digits"), load_data("digits:pair-0.4")
    assert noisy.name == "digits:pair-0.4"
    before, after = (np.concatenate([y for _, y in data.train.batches()]) for data in (clean, noisy))
    assert 0.35 < np.mean((after - before) % 10 == 1) < 0.45
    half = load_data("digits:symmetric-0.2-clean-test", limit=100)
    assert half.test is not None
    assert clean.test is not None
    assert half.test.fingerprint() == clean.test.fingerprint()
    for bad in ("pair", "pair-1.5", "symmetric-0.2-x", "pair-flip-0.2"):
        with pytest.raises(PactError, match=r"symmetric-0\.2, pair-0\.4"):
            load_data(f"digits:{bad}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "pair"}, "kind: 'pair' is not known; allowed: symmetric, pair-flip"),
        ({"rate": 1.5}, "rate: must be a finite number >= 0 and <= 1"),
        ({"rate": float("nan")}, "rate: must be a finite number >= 0 and <= 1"),
        ({"seed": 3}, "seed: must be a Seed"),
        ({"parts": "test"}, "parts: 'test' is not known; allowed: both, train"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    with pytest.raises(PactError, match=message):
        add_label_noise(plain(10), **{"kind": "symmetric", "rate": 0.1, "seed": Seed(0), **change})  # type: ignore[arg-type]
