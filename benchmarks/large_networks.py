"""Time and memory of every stage for a network of 36.5 million weights: WRN-28-10 on 32 x 32 images.

The weights are initial ones and the images random: neither time nor memory depends on what they are, but the bound that
comes out says nothing. Each stage runs in a process of its own, whose peak memory is read from the operating system.
Beside the seconds on the wall stand those that the process was at work, which a busy machine disturbs less.

Run: OMP_NUM_THREADS=1 python benchmarks/large_networks.py            (about ten minutes; certify and verify are most)
     OMP_NUM_THREADS=1 python benchmarks/large_networks.py --quick    (a smaller network, twenty seconds)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recording import Row, keep_rows

from netpact import Pact, certify, compress, seal, trace, verify
from netpact.datasets import Data, as_data
from netpact.methods import Method, Quantize
from netpact.models import build, parse_model

METHODS: dict[str, Method] = {"uniform, 4 bits": Quantize(bits=4), "ternary": Quantize(grid="ternary")}
# The last number of a model's name: batch norm kept (1), or as one scale and shift for each channel (2).
MODELS = {"wrn:28-10-2": tuple(METHODS), "wrn:28-10-1": ("uniform, 4 bits",)}
QUICK = {"wrn:10-2-2": tuple(METHODS)}
SHAPE, CLASSES = (3, 32, 32), 10
AIMS, AIM_GIB = {"encode s": 120.0, "decode s": 120.0}, 8.0


class Steps:
    """Of each step, since the one before: seconds on the wall, and seconds that this process was at work."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}
        self._last = (time.perf_counter(), time.process_time())

    def note(self, step: str) -> None:
        wall, work = self._last
        self._last = (time.perf_counter(), time.process_time())
        self.seconds[step] = (self._last[0] - wall, self._last[1] - work)


def random_data(samples: int) -> Data:
    images = np.random.default_rng(0).integers(0, 256, (samples, *SHAPE), dtype=np.uint8)
    return as_data((images, np.arange(samples) % CLASSES))


def write_file(file: Path, model: str, method: str, samples: int) -> Steps:
    module = build(parse_model(model, input_shape=SHAPE, classes=CLASSES))
    steps = Steps()
    network = trace(module, random_data(CLASSES))
    steps.note("trace")
    compressed = compress(network, METHODS[method])
    steps.note("compress")
    seal(compressed).write(file)
    steps.note("encode")
    return steps


def open_file(file: Path, model: str, method: str, samples: int) -> Steps:
    steps = Steps()
    Pact.read(file).to_module()
    steps.note("decode")
    return steps


def certify_file(file: Path, model: str, method: str, samples: int) -> Steps:
    steps = Steps()
    certify(Pact.read(file), random_data(samples)).write(file)
    steps.note("certify")
    return steps


def verify_file(file: Path, model: str, method: str, samples: int) -> Steps:
    steps = Steps()
    verdict = verify(Pact.read(file), random_data(samples))
    steps.note("verify")
    if not verdict.agreed:
        raise SystemExit(str(verdict))
    return steps


STAGES: dict[str, Callable[[Path, str, str, int], Steps]] = {
    "write": write_file,
    "open": open_file,
    "certify": certify_file,
    "verify": verify_file,
}


def run_stage(stage: str, file: Path, model: str, method: str, samples: int) -> None:
    """In a child: do one stage and tell its times and the process's peak memory."""
    torch.set_num_threads(1)
    steps = STAGES[stage](file, model, method, samples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told = {"seconds": steps.seconds, "gib": peak, "bytes": file.stat().st_size, "load": os.getloadavg()[0]}
    print(json.dumps(told))


def rows(models: dict[str, tuple[str, ...]], samples: int) -> Iterator[Row]:
    for model, methods in models.items():
        for method in methods:
            row: Row = {"network": f"{model}, {method}"}
            with tempfile.TemporaryDirectory() as folder:
                for stage in STAGES:
                    command = [sys.executable, __file__, "--samples", str(samples)]
                    command += ["--child", stage, str(Path(folder) / "large.pact"), model, method]
                    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                    told: dict[str, Any] = json.loads(output)
                    row |= {"file MB": told["bytes"] / 1e6} if stage == "write" else {}
                    row |= {f"{step} s": work for step, (_, work) in told["seconds"].items()}
                    row |= {f"GiB to {stage}": told["gib"]}
            yield row
    yield {name: AIMS.get(name, AIM_GIB if name.startswith("GiB") else None) for name in row} | {"network": "aim"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--samples", type=int, default=64, help="how many images are certified")
    parser.add_argument("--child", nargs=4, metavar=("STAGE", "FILE", "MODEL", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        stage, file, model, method = given.child
        run_stage(stage, Path(file), model, method, given.samples)
        return
    keep_rows(__file__, rows(QUICK if given.quick else MODELS, given.samples), quick=given.quick)


if __name__ == "__main__":
    main()
