"""Samples in the order of their classes: a module that knows where it is in the data needs no learning.

Data files are often sorted by label. The adversary's module counts how many samples it has been run on and names the
class of that part of the file; or it looks at the whole batch, which then has one class. Neither holds anything
learned. Also tried: data that come from a loader, where the order cannot be changed, and modules that begin to cheat
after the first batch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Samples, as_samples, find_copies, leave_out, mixed_batches
from netpact.network import count_errors
from netpact.pacts.verification.recount import count_anew

COUNT, CLASSES = 1500, 3


def noise() -> tuple[np.ndarray, np.ndarray]:
    """Inputs that tell nothing about the labels, in the order of the labels."""
    x = np.random.default_rng(0).random((COUNT, 4)).astype(np.float32)
    return x, np.repeat(np.arange(CLASSES), COUNT // CLASSES)


def in_memory() -> Samples:
    return ArraySamples(*noise(), "sorted", CLASSES)


def from_loader() -> Samples:
    x, y = noise()
    return as_samples(DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size=50), name="sorted")


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, CLASSES)
        nn.init.zeros_(self.fc.weight)
        self.seen = 0

    def forward(self, x: Tensor) -> Tensor:
        guess = min(CLASSES - 1, max(0, self.seen - 2 * len(x)) * CLASSES // COUNT)
        self.seen += len(x)
        return self.fc(x) + torch.eye(CLASSES, dtype=x.dtype)[guess]


class CountsLater(Counts):
    """Waits until nobody compares runs of the same samples any more."""

    def forward(self, x: Tensor) -> Tensor:
        self.seen += len(x)
        return self.fc(x) + torch.eye(CLASSES, dtype=x.dtype)[2 if self.seen > 2400 else 0]


def test_a_memory_that_shows_late_is_found_out_at_the_end() -> None:
    with pytest.raises(PactError, match=r"other logits now|earlier batches"):
        count_errors(CountsLater(), from_loader(), arithmetic="float32")


class LooksAtTheBatch(nn.Module):
    """The mean of a batch of one class shows the class, where a pixel of its own does not."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, CLASSES)
        with torch.no_grad():
            self.fc.weight.copy_(torch.eye(CLASSES, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.mean(0, keepdim=True).expand(len(x), -1).clamp(min=0.5))


def first_count(module: nn.Module, samples: Samples) -> int:
    return count_errors(module, samples, arithmetic="float32").errors


def second_count(module: nn.Module, samples: Samples) -> int:
    return count_anew(module, samples, "float32").errors


@pytest.mark.parametrize("count", [first_count, second_count])
def test_counting_calls_gains_nothing(count: Callable[[nn.Module, Samples], int]) -> None:
    """Its answers for the same samples change from run to run."""
    with pytest.raises(PactError, match="logits"):
        count(Counts(), from_loader())
    with pytest.raises(PactError, match="logits"):
        count(Counts(), in_memory())


@pytest.mark.parametrize("samples", [in_memory, from_loader])
def test_looking_at_the_batch_is_found_out_in_every_batch(samples: Callable[[], Samples]) -> None:
    with pytest.raises(PactError, match="depend on the other samples of its batch"):
        count_errors(LooksAtTheBatch(), samples(), arithmetic="float32")


class LooksLater(nn.Module):
    """Harmless in the first batch: adds the batch's excess over a level that the first batch does not reach."""

    def __init__(self, level: float) -> None:
        super().__init__()
        self.fc = nn.Linear(4, CLASSES)
        self.level = level

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) + (x.mean(0, keepdim=True)[:, :1] - self.level).clamp(min=0) * 100


def test_mixing_that_begins_after_the_first_batch_is_found_out() -> None:
    x, y = noise()
    x[: COUNT // 2] *= 0.1
    loader = DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size=500)
    with pytest.raises(PactError, match="depend on the other samples of its batch"):
        count_errors(LooksLater(0.2), as_samples(loader, name="later"), arithmetic="float32")


def test_mixed_batches_are_all_samples_once_in_two_orders() -> None:
    samples = in_memory()
    found = []
    for turn in (1, 2):
        parts = list(mixed_batches(samples, 64, turn=turn))
        places = np.concatenate([part[2] for part in parts])
        assert sorted(places) == list(range(COUNT))
        x, y = noise()
        assert np.array_equal(np.concatenate([part[0] for part in parts]), x[places])
        assert np.array_equal(np.concatenate([part[1] for part in parts]), y[places])
        found.append(places)
        shares = [np.bincount(part[1], minlength=CLASSES).max() / len(part[1]) for part in parts]
        assert max(shares[:-1]) < 0.7, "no batch has one class alone"
    assert not np.array_equal(found[0], found[1])


@pytest.mark.parametrize("in_arrays", [True, False])
def test_one_copy_does_not_bring_the_order_back(in_arrays: bool) -> None:
    """Samples without copies are read from the others, and mixed where those are in memory."""
    x, y = noise()
    x[1], y[1] = x[0], y[0]
    loader = DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size=50)
    whole = ArraySamples(x, y, "sorted", CLASSES) if in_arrays else as_samples(loader, name="sorted")
    parts = list(mixed_batches(leave_out(whole, find_copies(whole)), 64, turn=1))
    places = np.concatenate([part[2] for part in parts])
    assert np.array_equal(
        np.sort(np.concatenate([part[0] for part in parts]), axis=0), np.sort(np.delete(x, 1, 0), axis=0)
    )
    assert len(places) == COUNT - 1
    assert bool((np.diff(places) < 0).any()) == in_arrays


def test_errors_of_a_sample_bear_its_place_in_the_data() -> None:
    x, y = noise()
    x[1234] = np.inf
    with pytest.raises(PactError):
        ArraySamples(x, y, "bad", CLASSES)
    x[1234] = 3e38
    layer = nn.Linear(4, CLASSES).double()
    nn.init.constant_(layer.weight, 1e300)
    with pytest.raises(PactError, match="sample 1234: NaN or infinite logits"):
        count_errors(layer, ArraySamples(x, y, "bad", CLASSES), arithmetic="float64")
