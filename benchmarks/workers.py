"""What two workers of one thread do in the time of one: li-fig3 quick, and counting the errors of ResNet-20.

Times are processor seconds. On a machine with a core for each worker, the busiest of them decides how long it takes:

    times as much = processor seconds of the one worker / those of the busier of the two

Start-up is left out: each worker has loaded its libraries before. What the process that hands out the work does
meanwhile, which for counting includes the first shard, stands beside it. Seconds on the wall are told too; on a machine
that others use they say little.

Run: OMP_NUM_THREADS=1 python benchmarks/workers.py WEIGHTS            (resnet-20 on CIFAR-10; some minutes)
     OMP_NUM_THREADS=1 python benchmarks/workers.py WEIGHTS --quick    (digits, and few images; no file is written)
     OMP_NUM_THREADS=1 python benchmarks/workers.py WEIGHTS --only li-fig3    (the other rows stay as they were)
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from recording import Row, keep_rows, kept_rows
from worker_start import load_libraries

from netpact import Quantize, compress, fold_batch_norm, load_data, seal, trace
from netpact.datasets import ArraySamples
from netpact.experiments import run_experiment
from netpact.models import build, load_weights, parse_model
from netpact.network import count_errors
from netpact.runs import Engine, NoStore, Processes, Task, kept_workers
from netpact.shards import Execution

_TICKS = os.sysconf("SC_CLK_TCK")
_SEEDS = 3  # as the command has by default
SHARD = 904  # of ResNet-20: eight batches of 113


def processor_seconds() -> dict[int, float]:
    """Of the workers that are there."""
    found = {}
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        found[child.pid or 0] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def timed(work: Callable[[Engine], object], workers: int) -> tuple[list[float], float, float]:
    """Processor seconds of each worker, of this process, and seconds on the wall."""
    with kept_workers():
        engine = Processes(workers, threads=1)
        engine.run([Task(f"load {n}", load_libraries, version="1") for n in range(workers)], NoStore())
        before, own, wall = processor_seconds(), time.process_time(), time.perf_counter()
        work(engine)
        after = processor_seconds()
        return [after[pid] - before[pid] for pid in after], time.process_time() - own, time.perf_counter() - wall


def rows(weights: Path, *, quick: bool, only: str = "") -> Iterator[Row]:
    if only:
        yield from (row for row in kept_rows(__file__) if not str(row["work"]).startswith(only))
    for name, work in works(weights, quick=quick):
        if not name.startswith(only):
            continue
        alone = 0.0
        for workers in (1, 2):
            busy, own, wall = timed(work, workers)
            alone = alone or max(busy)
            yield {
                "work": name,
                "workers": workers,
                "s of the busiest": max(busy),
                "s of all": sum(busy),
                "s of the driver": own,
                "times as much": alone / max(busy),
                "s on the wall": wall,
            }


def works(weights: Path, *, quick: bool) -> Iterator[tuple[str, Callable[[Engine], object]]]:
    data = load_data("cifar10")
    module = build(parse_model("resnet-20", input_shape=data.input_shape, classes=data.classes))
    load_weights(module, weights)
    network = seal(compress(trace(fold_batch_norm(module), data), Quantize(bits=4))).to_module()
    assert isinstance(data.test, ArraySamples)
    for name, arithmetic, shards in (("as run", "as-run", 9), ("float32", "float32", 5)):
        samples = data.test.take(slice(0, (2 if quick else shards) * SHARD), name="images")

        def count(engine: Engine, arithmetic: str = arithmetic, samples: ArraySamples = samples) -> object:
            return count_errors(network, samples, arithmetic=arithmetic, execution=Execution(engine))

        yield f"counting ResNet-20, 4 bits, {name}, {samples.count:,} images", count
    preset = "digits" if quick else "quick"

    def figure(engine: Engine) -> object:
        with tempfile.TemporaryDirectory() as folder:
            return run_experiment("li-fig3", preset=preset, seeds=_SEEDS, out=Path(folder), engine=engine)

    yield f"li-fig3, {preset}, {_SEEDS} seeds", figure


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("weights", type=Path)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", default="", help="how the names of the works begin")
    given = options.parse_args()
    torch.set_num_threads(1)
    keep_rows(__file__, rows(given.weights, quick=given.quick, only=given.only), quick=given.quick)


if __name__ == "__main__":
    main()
