"""What ResNet-50 at 224 x 224 costs on one core: decoding, measuring and counting a sample, sending it to a worker.

Weights and images are random; a pass costs the same for any others. Milliseconds are those that the process was at
work, which a busy machine disturbs less than those on the wall. Batches are those of measure, certify and verify; the
first one, which is checked in other ways too, is left out.

Run: OMP_NUM_THREADS=1 python benchmarks/shard_costs.py            (five minutes)
     OMP_NUM_THREADS=1 python benchmarks/shard_costs.py --quick    (images of 64 x 64; no file is written)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from recording import Row, keep_rows
from resnet50 import CLASSES, SHAPE, resnet50
from torch import nn

from netpact import Quantize, compress, fold_batch_norm, seal, trace
from netpact.coding.format.loading import open_network
from netpact.datasets import ArraySamples, Data
from netpact.measurements import MeasureOptions
from netpact.measurements.passes import Context
from netpact.measurements.streaming import norms_in_shard
from netpact.measurements.structure import find_structure
from netpact.network import open_run
from netpact.runs.parcels import Parcel, at_hand
from netpact.shards import Shard, Shards
from netpact.shards.shard import open_shard

_AS_RUN_IMAGES = 222  # that are run together
_START = (
    "import time, netpact, torch, netpact.pacts.verification, netpact.measurements, netpact.network.error_counting\n"
    "print(time.process_time())"
)


def images(count: int, shape: tuple[int, ...]) -> Data:
    inputs = np.random.default_rng(0).integers(0, 256, (count, *shape), dtype=np.uint8)
    return Data("images", CLASSES, ArraySamples(inputs, np.arange(count) % CLASSES, "images", CLASSES))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(shape: tuple[int, ...]) -> Iterator[Row]:
    """Processor milliseconds: once for each worker, or for each sample."""
    yield row("start of a worker: Python, torch, netpact", None, 1000 * start_up())
    data = images(_AS_RUN_IMAGES, shape)  # 33 MB
    network = trace(fold_batch_norm(resnet50(), data), data)
    pact = seal(compress(network, Quantize(bits=4)))
    shell = fold_batch_norm(resnet50(), data)
    decoded: list[nn.Module] = []
    spent = seconds(lambda: decoded.append(open_network(pact.decode(shell), shell)))
    yield row(f"decoding the network, {len(pact.message) / 1e6:.1f} MB of message", None, 1000 * spent)
    yield from sending(data.train)
    x = torch.from_numpy(next(iter(data.train.batches(8)))[0])
    with torch.no_grad():
        network.module(x)
        yield row("a plain float32 pass", 1000 * seconds(lambda: network.module(x)) / len(x))
    yield from measuring(network, data)
    for name, arithmetic, most, trials in (
        ("counting, float32 with rounding bounds in both norms", "float32", 512, None),
        ("counting, float32 with rounding bounds, samples out of reach given up", "float32", 512, 0),
        ("counting, as run", "as-run", _AS_RUN_IMAGES, None),
    ):
        run: Any = open_run(decoded[0], arithmetic, patient=False)
        size = min(most, run.batch(shape, most=most))
        batch = next(iter(data.train.batches(size)))[0]
        run.decide(batch[:2])
        run.trials = trials
        yield row(name, 1000 * seconds(lambda run=run, batch=batch: run.decide(batch)) / size)


def start_up() -> float:
    told = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True)
    return float(told.stdout)


def sending(samples: Any) -> Iterator[Row]:
    shards = Shards(samples, 8, turn=1)
    packed = shards.read(0).to_bytes()
    count = len(open_shard(packed).places)
    spent = seconds(lambda: shards.read(0).to_bytes())
    yield row(f"reading and packing a sample, {len(packed) / count / 1000:.0f} kB", 1000 * spent / count)
    yield row("opening it in the worker", 1000 * seconds(lambda: open_shard(packed)) / count)


def measuring(network: Any, data: Data) -> Iterator[Row]:
    inputs = torch.from_numpy(next(iter(data.train.batches(4)))[0])
    structure = find_structure(network, inputs[:2])
    context = Context(network, structure, data.train, inputs, MeasureOptions(samples=4))
    context_parcel = Parcel("context", lambda: context, lambda _: b"", open_shard, stays=True)
    few = Shard(data.train.take(slice(0, 8), name="few"), np.arange(8))  # type: ignore[attr-defined]
    with at_hand([context_parcel, Parcel("shard", lambda: few, Shard.to_bytes, open_shard)]):
        norms_in_shard("context", "shard", context.batch)
        spent = seconds(lambda: norms_in_shard("context", "shard", context.batch))
    yield row("measuring: norms at every layer, margins", 1000 * spent / 8)


def row(what: str, sample: float | None, once: float | None = None) -> Row:
    return {"what": what, "ms for each sample": sample, "ms once for each worker": once}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    torch.set_num_threads(1)
    keep_rows(__file__, costs((3, 64, 64) if quick else SHAPE), quick=quick)


if __name__ == "__main__":
    main()
