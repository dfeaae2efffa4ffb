"""Trains until it is interrupted; started by test_checkpoints.py in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from netpact.datasets import ArraySamples
from netpact.models import build, parse_model
from netpact.training import TrainOptions, train

OPTIONS = TrainOptions(epochs=100_000, batch_size=32, schedule="constant")


def main() -> None:
    torch.set_num_threads(1)
    inputs = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    samples = ArraySamples(inputs, np.arange(500) % 3, "noise", 3)
    module = build(parse_model("mlp:16", input_shape=(8,), classes=3))
    train(module, samples, OPTIONS, checkpoint=Path(sys.argv[1]))


if __name__ == "__main__":
    main()
