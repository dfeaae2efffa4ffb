"""The search for signs: its fast costs against the obvious slow ones, its count against the certified count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.certificates import risk_bound
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.methods import TernarySearch, compress
from netpact.methods.annealing import _draw, anneal, move_gains
from netpact.methods.flips import Flips, _add_up
from netpact.network import Network, count_errors, trace
from netpact.pacts.certification import certify


def slow_errors(features: NDArray[np.int64], labels: NDArray[np.int64], signs: NDArray[Any]) -> int:
    """Whole numbers only, one sample after the other; a tie is an error."""
    wrong = 0
    for row, label in zip(features.tolist(), labels.tolist(), strict=True):
        logits = [sum(x * w for x, w in zip(row, unit, strict=True)) for unit in signs.tolist()]
        wrong += any(logits[j] >= logits[label] for j in range(len(logits)) if j != label)
    return wrong


@pytest.mark.parametrize("whole", [True, False], ids=["integers", "floats"])
@pytest.mark.parametrize("seed", range(6))
def test_the_gain_of_every_move_is_that_of_making_it(seed: int, whole: bool) -> None:
    random = np.random.default_rng(seed)
    classes, inputs, samples = int(random.integers(2, 5)), 7, 600  # more than a sum of octets holds
    features = random.integers(-3, 4, (samples, inputs))
    labels = random.integers(0, classes, samples)
    signs = random.choice([-1, 0, 1], (classes, inputs), p=[0.2, 0.6, 0.2]).astype(np.int8)
    known = Flips((features if whole else features / 4).astype(np.float32), labels, classes=classes)
    assert known.features.dtype == (np.int16 if whole else np.float32)
    logits = known.logits(signs)
    before = slow_errors(features, labels, signs)
    assert known.errors(logits) == before
    for row in range(classes):
        for columns in (None, np.sort(random.choice(inputs, 5, replace=False))):
            picked = np.arange(inputs) if columns is None else columns
            moves = known.row(logits, row, columns)
            assert samples - moves.right() == before
            bits = random.standard_normal((3, len(picked)))
            gains = move_gains(moves, signs[row, picked], bits)
            for state in (-1, 0, 1):
                for place, column in enumerate(picked):
                    moved = signs.copy()
                    moved[row, column] = state
                    gain = before - slow_errors(features, labels, moved) - bits[state + 1, place]
                    if state == signs[row, column]:
                        gain = -np.inf
                    assert gains[state + 1, place] == pytest.approx(gain)


def test_a_change_that_was_made_is_seen_by_the_next_one() -> None:
    random = np.random.default_rng(3)
    features, labels = random.integers(0, 3, (500, 6)), random.integers(0, 3, 500)
    signs = random.choice([-1, 0, 1], (3, 6)).astype(np.int8)
    known = Flips(features.astype(np.float32), labels, classes=3)
    moves = known.row(known.logits(signs), 1)
    for column, state in ((2, 1), (4, -1)):
        change = state - int(signs[1, column])
        if change:
            moves.make(column, change)
        signs[1, column] = state
    # Six features of at most 2: every sample is within reach of one change, so none is left out.
    assert 500 - moves.right() == slow_errors(features, labels, signs)


def test_more_decisions_than_an_octet_counts_are_added_up() -> None:
    decisions = np.ones((700, 3), dtype=np.bool_)
    decisions[:, 1] = False
    np.testing.assert_array_equal(_add_up(decisions), [700, 0, 700])


def test_signs_are_added_to_logits_that_are_there_already() -> None:
    """An offset is a further feature of its own for each class, which no move touches."""
    random = np.random.default_rng(1)
    features, labels = random.integers(-3, 4, (50, 6)), random.integers(0, 3, 50)
    own, signs = random.integers(-4, 5, (3, 6)), random.integers(-1, 2, (3, 6)).astype(np.int8)
    known = Flips(features.astype(np.float32), labels, classes=3, offset=(own @ features.T / 4).astype(np.float32))
    logits = known.logits(signs)
    before = slow_errors(features, labels, own + 4 * signs)
    assert known.errors(logits) == before
    assert before != slow_errors(features, labels, signs)
    gains = move_gains(known.row(logits, 1), signs[1], np.zeros((3, 6)))
    for state in (-1, 0, 1):
        for column in np.flatnonzero(signs[1] != state):
            moved = signs.astype(np.int64)
            moved[1, column] = state
            assert gains[state + 1, column] == before - slow_errors(features, labels, own + 4 * moved)


@pytest.mark.parametrize("fill", [-1, 0, 1])
def test_gains_at_the_ends(fill: int) -> None:
    """Nothing marked, all marked, all negative: no gain but that of no change is infinite."""
    random = np.random.default_rng(0)
    features, labels = random.integers(0, 4, (20, 5)), random.integers(0, 3, 20)
    signs = np.full((3, 5), fill, dtype=np.int8)
    known = Flips(features.astype(np.float32), labels, classes=3)
    gains = move_gains(known.row(known.logits(signs), 1), signs[1], known.code.change_bits(signs, 1))
    assert np.isfinite(np.delete(gains, fill + 1, axis=0)).all()
    assert (gains[fill + 1] == -np.inf).all()


def test_moves_are_drawn_with_their_odds_and_none_of_them_with_odds_1() -> None:
    random = np.random.default_rng(0)
    exponents = np.log(np.array([[1.0, 3.0], [4.0, 1e-9], [1.0, 1e-9]]))
    drawn = [_draw(exponents, random) for _ in range(4000)]
    for found, odds in ((None, 1), ((0, 1), 3), ((1, 0), 4), ((2, 0), 1)):
        assert drawn.count(found) / 4000 == pytest.approx(odds / 10, abs=0.03)
    certain = np.array([[-np.inf, 2000.0]])
    assert _draw(certain, random) == (0, 1)
    assert _draw(np.full((3, 2), -np.inf), random) is None


def test_annealing_lowers_the_bound_against_its_start(digits: Data, linear: Network) -> None:
    x = np.concatenate([inputs.reshape(len(inputs), -1) for inputs, _ in digits.train.batches()])
    y = np.concatenate([labels for _, labels in digits.train.batches()])
    known = Flips(x, y, classes=10)
    weight = linear.module.get_submodule(linear.layers[-1].name).get_parameter("weight")
    start = np.where(weight.detach().numpy() > 0.15, 1, 0).astype(np.int8)

    def bound(signs: NDArray[np.int8]) -> float:
        return risk_bound(
            errors=known.errors(known.logits(signs)),
            samples=known.samples,
            code_bits=math.ceil(known.code.total_bits(signs)),
            delta=0.05,
        )

    calls: list[tuple[int, int]] = []
    found = anneal(
        known,
        start,
        steps=300,
        bit_price=1.0,
        random=np.random.default_rng(0),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert found.score == bound(found.signs)
    assert found.score < bound(start) - 0.03, f"{bound(start)} -> {found.score}"
    assert calls[-1] == (300, 300)
    assert not np.shares_memory(found.signs, start)


def test_the_search_counts_what_is_certified(digits: Data, linear: Network) -> None:
    """Digits are multiples of 1/16, so float32 sums of signed pixels are exact and no tie is near."""
    compressed = compress(linear, TernarySearch(steps=200, restarts=1), samples=digits.train)
    pact = Pact.from_bytes(seal(compressed).to_bytes())
    weights = next(tensor for name, tensor in compressed.tensors.items() if name.endswith("weight"))
    signs = weights.symbols.reshape(weights.shape).astype(np.int8)
    x = np.concatenate([inputs.reshape(len(inputs), -1) for inputs, _ in digits.train.batches()])
    y = np.concatenate([labels for _, labels in digits.train.batches()])
    known = Flips(x, y, classes=10)
    counted = count_errors(pact.to_module(), digits.train, arithmetic="float32")
    assert counted.errors == known.errors(known.logits(signs))
    certificate = certify(pact, digits).certificate
    assert certificate is not None
    assert certificate.errors == counted.errors


def test_more_restarts_are_never_worse(digits: Data, linear: Network) -> None:
    few = digits.train.take(slice(300), name="few")  # type: ignore[attr-defined]
    bounds = []
    for restarts in (1, 3):
        pact = seal(compress(linear, TernarySearch(steps=60, restarts=restarts), samples=few))
        errors = count_errors(pact.to_module(), few, arithmetic="float32").errors
        bounds.append(risk_bound(errors=errors, samples=300, code_bits=pact.code_bits, delta=0.05))
    assert bounds[1] <= bounds[0] + 0.03  # judged on ideal bits, which the file exceeds by a little


def test_the_last_layer_must_be_the_linear_head(digits: Data) -> None:
    class Ends(nn.Module):
        def __init__(self, end: nn.Module, more: float = 0.0) -> None:
            super().__init__()
            self.first = nn.Linear(64, 10)
            self.end = end
            self.more = more

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.end(self.first(x.flatten(1)))
            return out + self.more if self.more else out

    search = TernarySearch(steps=1)
    with pytest.raises(PactError, match="the last layer must be linear, end is batch_norm"):
        compress(trace(Ends(nn.BatchNorm1d(10)), digits), search, samples=digits.train)
    with pytest.raises(PactError, match="end: the last linear layer's output is not what the network returns"):
        compress(trace(Ends(nn.Linear(10, 10), 1.0), digits), search, samples=digits.train)
    with pytest.raises(PactError, match="searches on the training samples and was given none"):
        compress(trace(Ends(nn.Linear(10, 10)), digits), search)
    other = ArraySamples(np.zeros((4, 9), dtype=np.float32), np.array([0, 1, 0, 1]), "other", 2)
    with pytest.raises(PactError, match=r"inputs of shape"):
        compress(trace(Ends(nn.Linear(10, 10)), digits), search, samples=other)


def test_a_head_whose_weights_serve_elsewhere_is_refused() -> None:
    """Two linear layers with one weight: changing the head's signs would change the layer before it."""
    first, head = nn.Linear(3, 3), nn.Linear(3, 3)
    head.weight = first.weight
    network = trace(nn.Sequential(first, nn.ReLU(), head), (np.eye(3, dtype=np.float32), np.arange(3)))
    samples = ArraySamples(np.eye(3, dtype=np.float32), np.arange(3), "unit vectors", 3)
    with pytest.raises(PactError, match="the weights of the last layer, 2, also serve elsewhere"):
        TernarySearch().compress(network, samples)
