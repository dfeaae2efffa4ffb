from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Batch
from netpact.training.memory import checked_batches, gather


@dataclass(frozen=True)
class Raw:
    """Samples that promise whatever they like."""

    inputs: np.ndarray
    labels: np.ndarray
    count: int
    input_shape: tuple[int, ...] = (3,)
    classes: int = 2
    name: str = "raw"

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        for start in range(0, len(self.labels), 2):
            yield self.inputs[start : start + 2], self.labels[start : start + 2]

    def fingerprint(self) -> str:
        return "sha256:unused"


def test_byte_images_take_a_quarter_and_come_back_exactly() -> None:
    pixels = np.arange(256, dtype=np.uint8).reshape(64, 1, 2, 2)
    samples = ArraySamples(pixels, np.arange(64) % 2, "bytes", 2)
    memory = gather(samples)
    assert memory.inputs.dtype == torch.uint8
    ((expected, labels),) = samples.batches(64)
    inputs, found = memory.pick(torch.arange(64))
    assert np.array_equal(inputs.numpy(), expected)
    assert np.array_equal(found.numpy(), labels)
    assert memory.fingerprint() == samples.fingerprint()


@pytest.mark.parametrize("odd", [0.5, -1.0, 2.0, 1e-7, 1e30])
def test_floats_found_late_are_kept_exactly(odd: float) -> None:
    inputs = np.zeros((5, 3), dtype=np.float32)
    inputs[:, 0] = np.float32(77) / np.float32(255)
    inputs[4, 1] = odd
    memory = gather(Raw(inputs, np.array([0, 1, 0, 1, 1]), 5))
    assert memory.inputs.dtype == torch.float32
    assert np.array_equal(memory.inputs.numpy(), inputs)


def test_read_only_arrays_are_copied() -> None:
    inputs, labels = np.zeros((3, 3), dtype=np.float32), np.array([0, 1, 0])
    inputs.flags.writeable = labels.flags.writeable = False
    for batch, batch_labels in checked_batches(Raw(inputs, labels, 3), 2):
        assert batch.flags.writeable
        assert batch_labels.flags.writeable


def test_batches_are_the_samples_in_order() -> None:
    inputs = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    samples = ArraySamples(inputs, np.array([0, 1, 0, 1, 1, 0, 0]), "seven", 2)
    parts = list(gather(samples).batches(3))
    assert [len(labels) for _, labels in parts] == [3, 3, 1]
    assert np.array_equal(np.concatenate([x for x, _ in parts]), inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 6}, "raw: 6 samples were announced, 5 came"),
        ({"count": 3}, "does not fit 3 samples"),
        ({"count": 0}, "raw: there are no samples"),
        ({"input_shape": (4,)}, r"raw, sample 0: a batch of inputs \(2, 3\)"),
        ({"labels": np.array([0, 1, 0, 2, 1])}, r"raw, sample 3: label 2 is not in 0\.\.1"),
        ({"labels": np.array([0, 1, 0, 1, -1])}, r"raw, sample 4: label -1"),
        ({"inputs": np.full((5, 3), np.nan, dtype=np.float32)}, "raw, sample 0: the input is NaN"),
    ],
)
def test_samples_that_break_their_word(change: dict[str, object], message: str) -> None:
    fields = {"inputs": np.zeros((5, 3), dtype=np.float32), "labels": np.array([0, 1, 0, 1, 1]), "count": 5, **change}
    with pytest.raises(PactError, match=message):
        gather(Raw(**fields))  # type: ignore[arg-type]


def test_the_sample_of_a_bad_value_is_named() -> None:
    inputs = np.zeros((5, 3), dtype=np.float32)
    inputs[3, 1] = np.inf
    with pytest.raises(PactError, match="raw, sample 3: the input is NaN or infinite"):
        gather(Raw(inputs, np.array([0, 1, 0, 1, 1]), 5))
