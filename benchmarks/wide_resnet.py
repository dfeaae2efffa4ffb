"""All convolutions of WRN-28-10 (36.5 million weights) as CP layers of equal parameter count, with ranks chosen.

The weights are initial ones: neither time nor memory depends on what they are, but the ranks say nothing about a
trained network. Each stage runs in a process of its own, whose peak memory is read from the operating system:

decompose  to_cp by alternating least squares, one start and few sweeps
margin     the network's tensor properties on a few random images, then ranks for a relative error of the outputs (FBRC)
advice     advise_ranks on the same images: two ranks in each layer, measured and encoded

Run: OMP_NUM_THREADS=2 python benchmarks/wide_resnet.py            (about ten minutes)
     OMP_NUM_THREADS=2 python benchmarks/wide_resnet.py --quick    (a smaller network, half a minute)
"""

from __future__ import annotations

import argparse
import json
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
from torch import nn

from netpact import RankOptions, advise_ranks
from netpact.algebra import ALSOptions
from netpact.datasets import Data, as_data
from netpact.layers import CPConv2d, to_cp
from netpact.measurements import tensor_properties
from netpact.methods import find_ranks
from netpact.models import build, parse_model

MODELS, QUICK = ("wrn:28-10-1",), ("wrn:10-1-1",)
SHAPE, CLASSES, SAMPLES, SWEEPS, EPS = (3, 32, 32), 10, 4, 20, 0.5
AIM_GIB = 24.0


def random_data() -> Data:
    images = np.random.default_rng(0).integers(0, 256, (CLASSES, *SHAPE), dtype=np.uint8)
    return as_data((images, np.arange(CLASSES)))


def dense_network(model: str) -> nn.Module:
    torch.manual_seed(0)
    return build(parse_model(model, input_shape=SHAPE, classes=CLASSES))


def cp_network(model: str, file: Path) -> nn.Module:
    """The shell without a decomposition, and the factors of the first stage."""
    module = to_cp(dense_network(model), start="random")
    module.load_state_dict(torch.load(file, weights_only=True))
    return module


def decompose(model: str, file: Path) -> Row:
    dense = dense_network(model)
    made = to_cp(dense, options=ALSOptions(sweeps=SWEEPS, starts=1))
    torch.save(made.state_dict(), file)
    errors = []
    for name, part in made.named_modules():
        if isinstance(part, CPConv2d):
            weight = dense.get_parameter(f"{name}.weight").detach()
            errors.append(float((part.exact_weight() - weight).norm() / weight.norm()))
    count = sum(tensor.numel() for tensor in made.parameters())
    return {"CP layers": len(errors), "parameters": count, "largest error": max(errors)}


def choose_by_margin(model: str, file: Path) -> Row:
    found = find_ranks(tensor_properties(cp_network(model, file), random_data()), eps=EPS)
    return {"margin parameters": found.parameters}


def choose_by_advice(model: str, file: Path) -> Row:
    options = RankOptions(points=2, samples=SAMPLES, bound_samples=0, tolerance=0.5)
    found = advise_ranks(cp_network(model, file), random_data(), options)
    return {"advice MB before": found.bytes_before / 1e6, "advice MB": found.bytes / 1e6}


STAGES: dict[str, Callable[[str, Path], Row]] = {
    "decompose": decompose,
    "margin": choose_by_margin,
    "advice": choose_by_advice,
}


def run_stage(stage: str, model: str, file: Path) -> None:
    """In a child: do one stage and tell its time and the process's peak memory."""
    wall = time.perf_counter()
    row = STAGES[stage](model, file)
    row[f"{stage} s"] = time.perf_counter() - wall
    row[f"GiB to {stage}"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(row))


def rows(models: tuple[str, ...]) -> Iterator[Row]:
    for model in models:
        row: Row = {"network": model, "sweeps": SWEEPS}
        with tempfile.TemporaryDirectory() as folder:
            for stage in STAGES:
                command = [sys.executable, __file__, "--child", stage, model, str(Path(folder) / "factors.pt")]
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                told: dict[str, Any] = json.loads(output)
                row |= told
        yield row
    yield {name: AIM_GIB if name.startswith("GiB") else None for name in row} | {"network": "aim"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=3, metavar=("STAGE", "MODEL", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        stage, model, file = given.child
        run_stage(stage, model, Path(file))
        return
    keep_rows(__file__, rows(QUICK if given.quick else MODELS), quick=given.quick)


if __name__ == "__main__":
    main()
