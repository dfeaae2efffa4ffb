"""Inputs and outputs of every weight layer of VGG-19 over 1,000 images: time against plain forward passes, and memory.

Three things are timed in turn over the same batches, three times: the plain network; the stream of activations, whose
batches are let go; and the stream with the norm of every input and output, one number for each sample. Seconds are
those that the process was at work, on one thread, and ratios are taken inside one round: a machine that is busy with
other things disturbs both less.

Run: OMP_NUM_THREADS=1 python benchmarks/activations.py            (about five minutes)
     OMP_NUM_THREADS=1 python benchmarks/activations.py --quick    (a narrow network, ten seconds)
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from recording import Row, keep_rows
from torch import Tensor

from netpact import trace
from netpact.datasets import ArraySamples
from netpact.models import build, parse_model
from netpact.network import Network, stream_activations

ROUNDS = 3
BATCH = 64
SHAPE, CLASSES = (3, 32, 32), 10
AIM_RATIO, AIM_GIB = 1.5, 4.0


def random_images(count: int) -> ArraySamples:
    pixels = np.random.default_rng(0).integers(0, 256, (count, *SHAPE), dtype=np.uint8)
    return ArraySamples(pixels, np.arange(count) % CLASSES, "random images", CLASSES)


@torch.no_grad()
def run_plainly(network: Network, samples: ArraySamples) -> None:
    for inputs, _ in samples.batches(BATCH):
        network.module(torch.from_numpy(inputs))


def stream_only(network: Network, samples: ArraySamples) -> None:
    for _ in stream_activations(network, samples, batch=BATCH):
        pass


def take_norms(network: Network, samples: ArraySamples) -> float:
    """Seconds that the norms alone take."""
    spent = 0.0
    for batch in stream_activations(network, samples, batch=BATCH):
        start = time.process_time()
        for side in (batch.inputs, batch.outputs):
            for tensor in side.values():
                _norms(tensor)
        spent += time.process_time() - start
    return spent


def _norms(tensor: Tensor) -> Tensor:
    return torch.linalg.vector_norm(tensor.flatten(1), dim=1)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def one_round(network: Network, samples: ArraySamples) -> tuple[float, float, float]:
    """The stream, the stream with norms less the norms, and the norms alone: in plain forward passes."""
    plain = seconds(lambda: run_plainly(network, samples))
    stream = seconds(lambda: stream_only(network, samples))
    start = time.process_time()
    norms = take_norms(network, samples)
    rest = time.process_time() - start - norms
    return stream / plain, rest / plain, norms / plain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    model, count = ("vgg:19-8-1", 200) if quick else ("vgg:19-64-1", 1000)
    samples = random_images(count)
    network = trace(build(parse_model(model, input_shape=SHAPE, classes=CLASSES)), samples)
    run_plainly(network, random_images(BATCH))  # what the first call loads
    rounds = [one_round(network, samples) for _ in range(ROUNDS)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    names = ("the stream alone", "the stream with norms between its batches", "the norms alone")
    rows: list[Row] = [
        {
            "in plain forward passes": name,
            "median": statistics.median(column),
            "least": min(column),
            "most": max(column),
            "aim": AIM_RATIO if "stream" in name else None,
            "peak GiB": peak,
            "aim GiB": AIM_GIB,
        }
        for name, column in zip(names, zip(*rounds, strict=True), strict=True)
    ]
    print(f"{model}, {len(network.layers)} weight layers, {count:,} samples in batches of {BATCH}")
    keep_rows(__file__, rows, quick=quick)


if __name__ == "__main__":
    main()
