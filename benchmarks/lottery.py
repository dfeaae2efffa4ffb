"""Iterative magnitude pruning of LeNet-5 on MNIST: how many weights can go at no more than 0.3 points of test accuracy.

A row for each seed and each way to go back after pruning, and one with the medians. The share of weights is counted
over the layers' weights, without biases. "lost" is in points: the dense network of the same seed minus the pruned one.
"bytes" is the message with 8 bits a weight before entropy coding; "bound" is its certified bound, from the training
samples.

Run: OMP_NUM_THREADS=1 python benchmarks/lottery.py            (15 minutes of one core)
     OMP_NUM_THREADS=1 python benchmarks/lottery.py --quick    (one seed, 3,000 samples, two minutes; writes nothing)

`--ways rate weights` goes back to early weights too, and takes twice as long. A stopped run resumes from the files in
--work.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

from recording import Row, keep_rows

from netpact import (
    IterativePruning,
    Quantize,
    Seed,
    TrainOptions,
    build,
    certify,
    compress,
    iterative_pruning,
    load_data,
    parse_model,
    seal,
    trace,
)
from netpact.datasets import Data
from netpact.models import initialise

MODEL, KEEP, RATE, BITS = "lenet5", 0.049, 0.55, 8
EPOCHS, BATCH = 8, 128
WAYS = {"rate": 1, "weights": 1}  # what goes back, and to which epoch


def prune(data: Data, seed: int, way: str, work: Path) -> Row:
    start = build(parse_model(MODEL, input_shape=data.input_shape, classes=data.classes))
    initialise(start, Seed(seed).child("start"))
    ticket = iterative_pruning(
        start,
        data.train,
        IterativePruning(keep=KEEP, rate=RATE, rewind=way, rewind_to=WAYS[way]),
        TrainOptions(epochs=EPOCHS, batch_size=BATCH, learning_rate=2e-3, seed=Seed(seed).child("training")),
        test=data.test,
        checkpoint=work / f"{way}-{seed}-{data.train.count}.checkpoint",
        on_round=lambda one, _: print("  ", one, flush=True),
    )
    dense, last = ticket.rounds[0].last.test_error, ticket.rounds[-1].last.test_error
    assert dense is not None
    assert last is not None
    pact = certify(seal(compress(trace(ticket.module, data), Quantize(bits=BITS))), data)
    assert pact.certificate is not None
    return {
        "gone back to": f"{way} of epoch {WAYS[way]}",
        "samples": data.train.count,
        "seed": seed,
        "weights removed": 1 - ticket.share,
        "dense accuracy": 100 * (1 - dense),
        "pruned accuracy": 100 * (1 - last),
        "lost": 100 * (last - dense),
        "bytes": len(pact.message),
        "bound": pact.certificate.bound,
    }


def rows(data: Data, ways: list[str], seeds: int, work: Path) -> Iterator[Row]:
    for way in ways:
        found = []
        for seed in range(seeds):
            found.append(prune(data, seed, way, work))
            yield found[-1]
        numbers = list(found[0])[3:]
        medians = {name: statistics.median(float(row[name] or 0) for row in found) for name in numbers}
        yield {**found[0], "seed": "median", **medians}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=["rate"])
    parser.add_argument("--samples", type=int, help="the first so many training samples; default: all")
    parser.add_argument("--work", type=Path, default=Path("lottery-work"))
    given = parser.parse_args()
    data = load_data("mnist", limit=3000 if given.quick else given.samples)
    keep_rows(__file__, rows(data, given.ways, 1 if given.quick else 3, given.work), quick=given.quick)


if __name__ == "__main__":
    main()
