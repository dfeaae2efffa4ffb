"""A data set held in memory for many passes, checked once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from netpact.core.errors import PactError
from netpact.datasets import Batch, Fingerprinter, Samples

_GATHER_SIZE = 4096
# Pixel values as float32: what a byte image divided by 255 holds, exactly.
_PIXELS = np.arange(256, dtype=np.float32) / np.float32(255)


@dataclass(frozen=True, eq=False)
class Memory:
    """Samples as two tensors; inputs are bytes where every value is exactly a byte over 255 (a quarter of the room)."""

    inputs: torch.Tensor
    labels: torch.Tensor
    name: str
    classes: int

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.inputs.shape[1:])

    @property
    def count(self) -> int:
        return len(self.labels)

    def pick(self, indices: torch.Tensor | slice) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = self.inputs[indices]
        if inputs.dtype == torch.uint8:
            inputs = torch.from_numpy(_PIXELS[inputs.numpy()])
        return inputs, self.labels[indices]

    def batches(self, size: int = 1024) -> Iterator[Batch]:
        for start in range(0, self.count, size):
            inputs, labels = self.pick(slice(start, start + size))
            yield inputs.numpy(), labels.numpy()

    def fingerprint(self) -> str:
        running = Fingerprinter(self.input_shape)
        for inputs, labels in self.batches():
            running.update(inputs, labels)
        return running.digest()


def gather(samples: Samples) -> Memory:
    """Read all samples once."""
    if samples.count < 1:
        raise PactError("there are no samples", where=samples.name)
    inputs: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    inputs = np.empty((samples.count, *samples.input_shape), dtype=np.uint8)
    labels = np.empty(samples.count, dtype=np.int64)
    filled = 0
    for batch, batch_labels in checked_batches(samples, _GATHER_SIZE):
        here = slice(filled, filled + len(batch))
        pixels = _as_bytes(batch) if inputs.dtype == np.uint8 else None
        if inputs.dtype == np.uint8 and pixels is None:
            # Not byte images after all: what was read so far turns back into floats.
            wide = np.empty(inputs.shape, dtype=np.float32)
            wide[:filled] = _PIXELS[inputs[:filled]]
            inputs = wide
        inputs[here] = batch if pixels is None else pixels
        labels[here] = batch_labels
        filled += len(batch)
    return Memory(torch.from_numpy(inputs), torch.from_numpy(labels), samples.name, samples.classes)


def checked_batches(samples: Samples, size: int) -> Iterator[Batch]:
    """The batches of the samples; wrong shapes, counts, labels and values are refused with the sample's index."""
    seen = 0
    for raw, raw_labels in samples.batches(size):
        # Writable copies where needed: torch warns of tensors over read-only arrays.
        batch, labels = np.require(raw, np.float32, ["C", "W"]), np.require(raw_labels, np.int64, ["C", "W"])
        if batch.shape != (len(labels), *samples.input_shape) or seen + len(labels) > samples.count:
            raise PactError(
                f"a batch of inputs {batch.shape} and labels {labels.shape} does not fit "
                f"{samples.count} samples of shape {tuple(samples.input_shape)}",
                where=f"{samples.name}, sample {seen}",
            )
        wrong = np.flatnonzero((labels < 0) | (labels >= samples.classes))
        if wrong.size:
            label = labels[wrong[0]]
            raise PactError(
                f"label {label} is not in 0..{samples.classes - 1}", where=f"{samples.name}, sample {seen + wrong[0]}"
            )
        finite = np.isfinite(batch).reshape(len(batch), -1).all(axis=1)
        if not finite.all():
            raise PactError(
                "the input is NaN or infinite", where=f"{samples.name}, sample {seen + int(finite.argmin())}"
            )
        yield batch, labels
        seen += len(labels)
    if seen != samples.count:
        raise PactError(f"{samples.count} samples were announced, {seen} came", where=samples.name)


def _as_bytes(batch: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8] | None:
    if batch.size and not (batch.min() >= 0 and batch.max() <= 1):
        return None
    pixels = np.rint(batch * 255).astype(np.uint8)
    return pixels if np.array_equal(_PIXELS[pixels], batch) else None
